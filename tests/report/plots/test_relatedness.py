"""Figures on who learns from whom."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from vmtl.report import (
    Control,
    arrows,
    plot_arrows,
    plot_control,
    plot_positions,
    plot_relatedness,
    plot_sharing,
)


def test_names_on_the_circle_are_wrapped_and_inside_the_figure() -> None:
    names = ["North General Hospital", "Saint Mary Infirmary", "Children's Hospital South"]
    ax = plot_arrows(pd.DataFrame((1 - np.eye(3)) / 2, index=names, columns=names))
    assert "Saint Mary\nInfirmary" in {text.get_text() for text in ax.texts}
    ax.figure.draw_without_rendering()
    for text in ax.texts:
        box = text.get_window_extent()
        assert ax.figure.bbox.x0 <= box.x0
        assert box.x1 <= ax.figure.bbox.x1


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


def test_arrows_to_a_task_that_ignores_all_are_thin() -> None:
    weights = pd.DataFrame([[0, 0.9, 0.1], [0.9, 0, 0.1], [0.5, 0.5, 0]], index=list("abc"), columns=list("abc"))
    alike, ignored = (
        max(patch.get_linewidth() for patch in plot_arrows(weights, sharing=np.array(r)).patches)
        for r in ([1.0, 1.0, 1.0], [0.1, 0.1, 1.0])
    )
    assert ignored < alike


def test_the_control_is_drawn_beside_the_model() -> None:
    weights = pd.DataFrame([[0, 0.9, 0.1], [0.5, 0, 0.5], [0.5, 0.5, 0]], index=list("abc"), columns=list("abc"))
    even = np.broadcast_to((1 - np.eye(3)) / 2, (2, 3, 3))
    labels = [text.get_text() for text in plot_control(weights, Control(even, even)).get_yticklabels()]
    assert labels == ["this model", "tasks shuffled", "targets shuffled"]
    assert len(plot_control(weights).get_yticklabels()) == 1


def test_a_small_map_writes_intervals_into_its_cells() -> None:
    weights = pd.DataFrame([[0, 1.0, 0], [0.2, 0, 0.8], [0.5, 0.5, 0]], index=list("abc"), columns=list("abc"))
    shown = {text.get_text() for text in plot_relatedness(weights, interval=(0.5 * weights, weights)).texts}
    assert ".40–.80" in shown
    many = pd.DataFrame(np.full((20, 20), 0.05))
    assert not any("–" in text.get_text() for text in plot_relatedness(many, interval=(many, many)).texts)


@pytest.mark.parametrize("axes", [1, 2, 5])
def test_points_lie_where_the_positions_are(axes: int) -> None:
    places = pd.DataFrame(np.random.default_rng(0).normal(size=(4, axes)), index=list("abcd"))
    ax = plot_positions(places)
    drawn = np.asarray(ax.lines[0].get_xydata())
    np.testing.assert_allclose(drawn[:, : min(axes, 2)], places.to_numpy()[:, :2])
    assert {text.get_text() for text in ax.texts} == set("abcd")


def test_strengths_stand_weakest_below_with_their_intervals() -> None:
    sharing = pd.Series([0.9, 0.2, 0.5], index=[("x", 1), ("x", 2), ("y", 1)])
    ends = pd.DataFrame({"low": [0.8, 0.1, 0.4], "high": [1.0, 0.3, 0.7]})
    ax = plot_sharing(sharing, ends)
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[0.2, 0], [0.5, 1], [0.9, 2]])
    segments = [segment[:, 0].tolist() for segment in ax.collections[0].get_segments()]
    assert segments == [[0.1, 0.3], [0.4, 0.7], [0.8, 1.0]]
