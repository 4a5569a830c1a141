"""Curves over all thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import auc as area

from helpers.report_models import Case, event_evidence
from vmtl.evaluation import Costs, decide
from vmtl.report import plot_precision_recall, plot_roc
from vmtl.report.plots.decisions import thick_roc


def test_the_thick_line_has_the_area_that_is_scored(class_case: Case) -> None:
    for evidence in (event_evidence(), class_case.evidence):
        by_figure = area(*thick_roc(evidence))
        assert by_figure == pytest.approx(
            evidence.scores(np.arange(len(evidence.y)))["auc"], abs=0.01
        )  # averaged on a grid


def test_every_task_and_the_threshold_are_drawn(class_case: Case) -> None:
    evidence, costs = event_evidence(), Costs(missed=5)
    roc, recall = plot_roc(evidence, costs), plot_precision_recall(evidence, costs)
    assert len(roc.lines) == 1 + 2 + 1 + 1  # guessing, tasks, all rows, the threshold
    chosen = decide(evidence, costs)
    assert roc.lines[-1].get_ydata()[0] == chosen.sensitivity
    assert recall.lines[-1].get_ydata()[0] == chosen.precision
    assert len(plot_roc(class_case.evidence, costs).lines) == 1 + 3 + 1
