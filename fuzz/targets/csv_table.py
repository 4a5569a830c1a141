"""A CSV table as `vmtl fit` reads it: columns, task and target, then numbers for the model."""

from __future__ import annotations

import random

import numpy as np

from mutation import other_cells
from oracle import as_file, refused_in_a_sentence
from vmtl.data.preprocessing import TablePreprocessor
from vmtl.data.problem import Problem
from vmtl.datasets.table_files import read_table

SEEDS = (
    b"t,y,age,place\nnorth,yes,61,a\nnorth,no,,b\nsouth,yes,40.5,a\nsouth,no,33,\n",
    b"t;y;dose;day\n1;2,5;0,1;2020-01-31\n2;3,5;0,2;2021-02-28\n2;1,5;1,0;\n",
    b"t\ty\tx\na\t1\t1\nb\t2\t2\n",
    'y,t,"a, b"\n0,ä,"x\ny"\n1,ö,True\n'.encode(),
)


def one_input(data: bytes) -> None:
    file = as_file(data, "table.csv")
    for kind in ("auto", "classification", "regression"):
        with refused_in_a_sentence(ValueError):
            check_problem(read_table(file, task="t", target="y", kind=kind))


def check_problem(problem: Problem) -> None:
    """Indices have their names, targets are finite, and the columns become numbers."""
    assert problem.task.max(initial=0) < problem.n_tasks
    assert np.isfinite(problem.y).all()
    if problem.class_names is not None:
        assert problem.y.max(initial=0) < len(problem.class_names)
    encoder = TablePreprocessor().fit(problem.X)
    assert encoder.transform(problem.X).shape == (problem.n_rows, len(encoder.feature_names_out_))


def mutate(data: bytes, seed: int) -> bytes:
    return other_cells(data, ",;\t", random.Random(seed))
