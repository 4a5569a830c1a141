"""Documents of `path label` lines, and the rows of a problem that they name."""

from __future__ import annotations

import random

import numpy as np

from mutation import other_cells
from oracle import FOLDER, as_file, refused_in_a_sentence
from vmtl.data.problem import Problem
from vmtl.data.splits import document_split, read_split_document

PROBLEM = Problem(
    name="toy",
    X=np.arange(8.0).reshape(4, 2),
    y=np.array([0, 1, 0, 1]),
    task=np.array([0, 0, 0, 0]),
    task_names=("art",),
    class_names=("cat", "dog"),
    paths=np.array(["art/cat/1.jpg", "art/dog/2 b.jpg", "art/cat/3.jpg", "art/dog/4.jpg"]),
)
SEEDS = (
    b"art/cat/1.jpg 0\nart/dog/2_b.jpg 1\n",
    b"./art/cat/1.jpg 0\n\nart\\dog\\4.jpg 1\nart/cat/1.jpg 0\n",
    b"art/dog/2 b.jpg -1\nnowhere 7\n",
)


def one_input(data: bytes) -> None:
    with refused_in_a_sentence(ValueError):
        document = read_split_document(as_file(data, "document.txt"))
        assert len(document.paths) == len(document.labels) <= document.n_lines
    folder = FOLDER / "documents" / "art"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train_5.txt").write_bytes(data)
    (folder / "test_5.txt").write_bytes(b"art/cat/3.jpg 0\n")
    for unmatched in ("error", "report"):
        with refused_in_a_sentence(ValueError):
            split = document_split(PROBLEM, folder.parent, 5, unmatched=unmatched)
            assert set(split.train) <= {0, 1, 3}


def mutate(data: bytes, seed: int) -> bytes:
    return other_cells(data, " /", random.Random(seed))
