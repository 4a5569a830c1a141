"""Figures on training."""

from __future__ import annotations

import pytest

from helpers.report_models import Case
from vmtl import VMTLClassifier
from vmtl.report import plot_learning


@pytest.mark.parametrize("term", ["nll", "kl_w", "kl_z"])
def test_learning_curves_end_where_training_ended(class_case: Case, term: str) -> None:
    rows = class_case.train
    history = VMTLClassifier(max_steps=3, random_state=0).fit(rows.X, rows.y, tasks=rows.tasks).history_
    line = plot_learning(history, term).lines[-1]
    last = history[history["step"] == history["step"].max()]
    assert line.get_ydata()[-1] == pytest.approx(last[term].mean())
