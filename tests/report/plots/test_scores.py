"""Figures on how good predictions are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers.report_models import Case
from vmtl.evaluation import Gain, Interval
from vmtl.report import (
    plot_confusion,
    plot_gains,
    plot_predictions,
    plot_reliability,
    plot_scores,
    plot_uncertainty,
)
from vmtl.report.plots.scores import confusion, coverage, reliability_bins


def test_scores_show_every_task_and_the_others(class_case: Case) -> None:
    ax = plot_scores(class_case.evidence, {"stl": class_case.evidence, "qian": class_case.evidence})
    assert [text.get_text() for text in ax.get_yticklabels()] == ["north", "south", "west"]
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"this model", "alone", "other methods"}


def test_plain_linear_models_have_names_and_the_legend_is_inside_the_figure(class_case: Case) -> None:
    long = replace(class_case.evidence, tasks=("Hospital of the far North", "Saint Mary Infirmary", "w"))
    names = ("stl", "pooled", "qian", "per_task_linear", "pooled_linear")
    ax = plot_scores(long, dict.fromkeys(names, long))
    assert {"per-task linear", "pooled linear"} <= {text.get_text() for text in ax.get_legend().get_texts()}
    ax.figure.draw_without_rendering()
    box, frame = ax.get_legend().get_window_extent(), ax.figure.bbox
    assert frame.x0 <= box.x0
    assert box.x1 <= frame.x1
    assert [text.get_text() for text in ax.get_yticklabels()][1] == "Saint Mary Infirmary"


def test_gains_are_sorted_and_of_many_the_surest_are_shown() -> None:
    gains = [Gain(f"t{k}", Interval(k / 100, -1, 1), "no clear difference") for k in range(60)]
    labels = [text.get_text() for text in plot_gains(gains).get_yticklabels()]
    assert labels[0] == "t59"
    assert labels[-1] == "t35"
    assert len(labels) == 25


def test_reliability_bins_are_those_of_the_calibration_error(class_case: Case) -> None:
    from vmtl.estimators.metrics.class_metrics import ece

    y, p = class_case.evidence.y, class_case.evidence.p
    assert p is not None
    promised, observed, share = reliability_bins(y, p)
    assert float((share * np.abs(promised - observed)).sum()) == pytest.approx(ece(y, p))
    ax = plot_reliability(class_case.evidence, 1)
    assert "south" in ax.get_title()
    assert f"ECE {ece(y[class_case.evidence.rows(1)], p[class_case.evidence.rows(1)]):.3f}" in ax.get_title()


def test_coverage_of_a_true_gaussian_is_what_it_promises(real_case: Case) -> None:
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=4000), rng.uniform(1, 2, 4000)
    honest = replace(real_case.evidence, y=rng.normal(mean, std), mean=mean, std=std)
    levels, inside = coverage(honest, np.arange(4000))
    np.testing.assert_allclose(inside, levels, atol=0.03)
    assert "all rows" in plot_reliability(real_case.evidence).get_title()


def test_confusion_counts_every_row(class_case: Case) -> None:
    counts = confusion(class_case.evidence)
    assert counts.sum() == 150
    assert np.trace(counts) == (class_case.evidence.loss == 0).sum()
    ax = plot_confusion(class_case.evidence, 0)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["low", "mid", "top"]


def test_regression_figures(real_case: Case) -> None:
    assert plot_predictions(real_case.evidence).get_xlabel() == "true"
    legend = plot_uncertainty(real_case.evidence).get_legend().get_texts()
    assert [text.get_text().split(" (")[0] for text in legend] == ["smaller half of errors", "larger half of errors"]
