"""Figures: each returns axes that hold what it claims to show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import matplotlib
import numpy as np
import pandas as pd
import pytest

from helpers.report_models import Case

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from vmtl.report import (
    Control,
    Gain,
    Interval,
    arrows,
    plot_arrows,
    plot_confusion,
    plot_control,
    plot_gains,
    plot_learning,
    plot_predictions,
    plot_relatedness,
    plot_reliability,
    plot_scores,
    plot_uncertainty,
)
from vmtl.report.plots.scores import confusion, coverage, reliability_bins


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    plt.close("all")


def test_given_axes_are_used_and_new_ones_are_made(class_case: Case) -> None:
    _, mine = plt.subplots()
    assert plot_uncertainty(class_case.evidence, mine) is mine
    assert plot_uncertainty(class_case.evidence) is not mine


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


def test_names_on_the_circle_are_wrapped_and_inside_the_figure() -> None:
    names = ["North General Hospital", "Saint Mary Infirmary", "Children's Hospital South"]
    ax = plot_arrows(pd.DataFrame((1 - np.eye(3)) / 2, index=names, columns=names))
    assert "Saint Mary\nInfirmary" in {text.get_text() for text in ax.texts}
    ax.figure.draw_without_rendering()
    for text in ax.texts:
        box = text.get_window_extent()
        assert ax.figure.bbox.x0 <= box.x0
        assert box.x1 <= ax.figure.bbox.x1


def test_gains_are_sorted_and_many_are_cut() -> None:
    found = [Gain(f"t{k}", Interval(k / 100, -1, 1), "no clear difference") for k in range(60)]
    labels = [text.get_text() for text in plot_gains(found).get_yticklabels()]
    assert labels[0] == "t59"
    assert labels[-1] == "t0"
    assert len(labels) == 25


def test_reliability_bins_are_those_of_the_calibration_error(class_case: Case) -> None:
    from vmtl.evaluation.metrics import ece

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


def test_the_map_shows_the_learner_as_a_row() -> None:
    weights = pd.DataFrame([[0, 1.0, 0], [0.2, 0, 0.8], [0.5, 0.5, 0]], index=list("abc"), columns=list("abc"))
    ax = plot_relatedness(weights)
    shown = {tuple(map(round, text.get_position())): text.get_text() for text in ax.texts}
    assert shown[(2, 1)] == ".80"  # column c, row b
    assert (0, 0) not in shown


@pytest.mark.parametrize("n_tasks", [2, 5, 40])
def test_arrows_fit_on_the_circle(n_tasks: int) -> None:
    rng = np.random.default_rng(0)
    names = [f"task {k}" for k in range(n_tasks)]
    values = rng.random((n_tasks, n_tasks)) * (1 - np.eye(n_tasks))
    weights = pd.DataFrame(values / values.sum(1, keepdims=True), index=names, columns=names)
    ax = plot_arrows(weights)
    strongest = arrows(weights)[0]
    shown = {text.get_text() for text in ax.texts}
    assert {strongest.learner, strongest.teacher} <= shown
    assert len(shown) <= 15
    assert 0 < len(ax.patches) <= 18
    assert plot_relatedness(weights).images


def test_the_control_is_drawn_beside_the_model() -> None:
    weights = pd.DataFrame([[0, 0.9, 0.1], [0.5, 0, 0.5], [0.5, 0.5, 0]], index=list("abc"), columns=list("abc"))
    even = np.broadcast_to((1 - np.eye(3)) / 2, (2, 3, 3))
    labels = [text.get_text() for text in plot_control(weights, Control(even, even)).get_yticklabels()]
    assert labels == ["this model", "tasks shuffled", "targets shuffled"]
    assert len(plot_control(weights).get_yticklabels()) == 1


@pytest.mark.parametrize("term", ["nll", "kl_w", "kl_z"])
def test_learning_curves_end_where_training_ended(class_case: Case, term: str) -> None:
    history = class_case.model.history_
    line = plot_learning(history, term).lines[-1]
    last = history[history["step"] == history["step"].max()]
    assert line.get_ydata()[-1] == pytest.approx(last[term].mean())
