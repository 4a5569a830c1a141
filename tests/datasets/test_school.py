"""School: 139 named schools, one group per pupil."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vmtl.data.splits import random_split
from vmtl.datasets import load_school


def test_school_as_published(real_data: Path) -> None:
    problem = load_school(real_data / "data")
    assert problem.X.shape == (15362, 28)
    assert problem.n_tasks == 139
    assert problem.task_names[0] == "school_001"
    assert not problem.is_classification
    split = random_split(problem, 0.05, 0)
    assert len(np.unique(problem.task[split.train])) == 139
    assert abs(len(split.train) / 15362 - 0.05) < 0.003


def test_pupils_with_equal_columns_are_not_tied(tmp_path: Path) -> None:
    np.savez(tmp_path / "school.npz", X=np.zeros((40, 2)), y=np.arange(40.0), domain=np.repeat([0, 1], 20))
    split = random_split(load_school(tmp_path), 0.5)
    assert len(split.train) == 20


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"school\.npz"):
        load_school(tmp_path)
