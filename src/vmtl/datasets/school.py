"""School: exam scores of 15,362 pupils in 139 London schools, the usual many-task regression."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from vmtl.data.problem import Problem
from vmtl.datasets.npz import load_npz


def load_school(path: str | Path) -> Problem:
    """Read ``school.npz`` or the folder it lies in: ``X`` (n, 28), ``y`` the score, ``domain`` the school.

    Pupils with equal columns are different pupils, not copies, so every row is a group of its own in splits.

    Parameters
    ----------
    path : path
        The file, or its folder.
    """
    file = Path(path)
    problem = load_npz(file / "school.npz" if file.is_dir() else file, kind="regression")
    names = tuple(f"school_{int(name) + 1:03d}" for name in problem.task_names)
    return replace(problem, name="school", task_names=names, groups=np.arange(problem.n_rows))
