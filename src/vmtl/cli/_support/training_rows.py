"""Rows to score that the model has already seen in training."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vmtl.data.problem import Problem
    from vmtl.estimators import MultiTaskEstimator


def seen_before(model: MultiTaskEstimator, problem: Problem) -> list[str]:
    """What to say where a table is the training table, of which a model file keeps a digest."""
    from vmtl.cli._support.loading import digest

    if model.metadata_.get("digest") != digest(problem, model):
        return []
    return [
        "These are the rows the model was trained on: the numbers are too good. Score rows that were not in training."
    ]


def repeated(n: int, of: int) -> list[str]:
    """What to say where ``n`` rows to score are also training rows."""
    if not n:
        return []
    these = "This row is" if n == of == 1 else f"{n} of the {of} labelled rows {'is' if n == 1 else 'are'}"
    return [f"{these} also among the training rows: the numbers are too good. Score rows that were not in training."]
