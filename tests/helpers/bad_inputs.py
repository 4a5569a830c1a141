"""Awkward inputs: what they change of the toy problem, and that they work or raise their documented error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers.reliable import Toy
from vmtl import MultiTaskClassifier

OPTIONS: dict[str, Any] = {"random_state": 0}


@dataclass(frozen=True)
class Case:
    """An input: what it changes of the toy problem, and the error it must raise (None: it works)."""

    change: Callable[[Toy], dict[str, Any]]
    error: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    kind: type[Exception] = ValueError


def with_value(value: float) -> Callable[[Toy], dict[str, Any]]:
    def change(toy: Toy) -> dict[str, Any]:
        X = toy.X.copy()
        X[4, 2] = value
        return {"X": X}

    return change


def dates(toy: Toy) -> Any:
    return pd.Timestamp("2024-02-28") + pd.to_timedelta(np.arange(len(toy.X)), unit="D")


def run(kind: Any, case: Case, toy: Toy) -> None:
    """Fit, and if that works predict the same rows: finite numbers, probabilities that sum to 1."""
    inputs: dict[str, Any] = {"X": toy.X, "tasks": toy.tasks, **case.change(toy)}
    is_classifier = issubclass(kind, MultiTaskClassifier)
    y = inputs.pop("y", toy.labels if is_classifier else toy.values)
    X, tasks = inputs.pop("X"), inputs.pop("tasks")
    model = kind(**OPTIONS, **case.options)
    if case.error is not None:
        with pytest.raises(case.kind, match=case.error) as caught:
            model.fit(X, y, tasks=tasks, **inputs)
        assert len(str(caught.value)) < 2000
        assert not hasattr(model, "tasks_")
        return
    model.fit(X, y, tasks=tasks, **inputs)
    assert np.isfinite(model.uncertainty(X, tasks=tasks).to_numpy()).all()
    prediction = model.predict(X, tasks=tasks)
    assert len(prediction) == len(toy.X)
    if is_classifier:
        p = model.predict_proba(X, tasks=tasks)
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(1), 1, rtol=0, atol=1e-9)
    else:
        assert np.isfinite(prediction).all()
