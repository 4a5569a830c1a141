"""Rows to score that were in training."""

from __future__ import annotations

from pathlib import Path

import pytest

from vmtl.cli._support.loading import load_model, read_labelled
from vmtl.cli._support.training_rows import repeated, seen_before


def test_only_the_very_training_table_is_known(tables: Path, class_model: Path) -> None:
    model = load_model(class_model)
    problem, *_ = read_labelled(tables / "class_train.csv", model, None, None)
    assert "the numbers are too good" in " ".join(seen_before(model, problem))
    for fewer in (problem.subset(range(1, problem.n_rows)), problem.subset([0])):
        assert seen_before(model, fewer) == []


@pytest.mark.parametrize(
    ("n", "of", "words"),
    [
        (1, 1, "This row is also among the training rows"),
        (1, 9, "1 of the 9 labelled rows is also"),
        (3, 9, "3 of the 9 labelled rows are also"),
    ],
)
def test_repeated_rows_are_counted(n: int, of: int, words: str) -> None:
    assert repeated(n, of)[0].startswith(words)
    assert repeated(0, of) == []
