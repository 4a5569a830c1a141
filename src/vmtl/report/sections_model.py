"""Sections on the model itself: who learns from whom, how it was trained, how it was made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vmtl.report import plots_relatedness as related
from vmtl.report import tables
from vmtl.report.figures import Picture, draw
from vmtl.report.plots_learning import LABELS, plot_learning
from vmtl.report.relatedness import Control, arrows, even_weight
from vmtl.report.sections import Section


def relatedness_section(model: Any, control: Control | None) -> Section | None:
    """Who learns from whom, and what that looks like where there is nothing to learn."""
    found = arrows(model.alpha_)
    if not found:
        return None
    n_tasks = len(model.tasks_)
    top = [str(arrow) for arrow in found[:6]]
    pictures = [
        draw(
            "arrows",
            lambda ax: related.plot_arrows(model.alpha_, ax),
            height=3.3,
            title="Who learns from whom",
            caption="An arrow runs from the task that teaches to the task that learns; wide and dark is strong.",
            alt="Strongest arrows: " + "; ".join(top) + ".",
        ),
        draw(
            "control",
            lambda ax: related.plot_control(model.alpha_, control, ax),
            height=2.4 if control is not None else 1.5,
            title="Is it more than chance?",
            caption="A dot is one weight; of many, the largest and a sample. Those beyond the shuffled ones count.",
            alt=_control_words(n_tasks, found[0].weight, control),
        ),
    ]
    for name, meaning in (("alpha", "for the classifiers w"), ("beta", "for the representations z")):
        weights = getattr(model, f"{name}_")
        if np.asarray(weights).any():
            pictures.append(_map_picture(name, meaning, weights))
    words = (
        "Each task's prior is a mixture of the other tasks; these are its weights. Each row sums to 1.",
        _control_words(n_tasks, found[0].weight, control),
    )
    sheet = tables.arrow_sheet(found, control)
    return Section("relatedness", "Who learns from whom?", words, tuple(pictures), (sheet,), tuple(top))


def _map_picture(name: str, meaning: str, weights: Any) -> Picture:
    return draw(
        f"map-{name}",
        lambda ax: related.plot_relatedness(weights, ax),
        height=1.1 + min(0.5 * len(weights), 4.0),
        title=f"Map {name}, {meaning}",
        caption="A row is a task; its columns say how much it takes from each other task.",
        alt=f"Map {name}: " + "; ".join(str(arrow) for arrow in arrows(weights)[:12]) + ".",
    )


def _control_words(n_tasks: int, strongest: float, control: Control | None) -> str:
    even = f"A task that prefers no other gives each of them {even_weight(n_tasks):.2f}."
    if control is None:
        return f"{even} The strongest weight here is {strongest:.2f}. With --train a control is fitted as well."
    return (
        f"{even} As a control the model was fitted again ({len(control.shuffled)} refits) with rows dealt to the tasks "
        f"at random, so that no task is nearer than another: weights reach {control.noise:.2f}. With targets shuffled "
        f"inside each task, so that tasks are unrelated, they reach {control.unrelated.max():.2f}. "
        f"The strongest weight of this model is {strongest:.2f}."
    )


def learning_section(model: Any) -> Section:
    """How training went."""
    history = model.history_
    pictures = []
    for term, label in LABELS.items():
        values = history.groupby("step")[term].mean()
        if values.abs().max() > 0:
            pictures.append(
                draw(
                    f"learning-{term}",
                    lambda ax, term=term: plot_learning(history, term, ax),  # type: ignore[misc]
                    height=2.6,
                    title=f"Learning curve: {label}",
                    caption="Thin lines are tasks, the thick one is their mean.",
                    alt=f"Mean {label}: {values.iloc[0]:.3g} at step {values.index[0]}, "
                    f"{values.iloc[-1]:.3g} at step {values.index[-1]}.",
                )
            )
    return Section("learning", "How was it trained?", (), tuple(pictures))


def settings_section(model: Any, facts: Mapping[str, Any]) -> Section:
    """Everything needed to do it again."""
    sheets = (
        tables.fact_sheet("facts", "Origin", facts),
        tables.fact_sheet("settings", "Settings", model.settings_.to_json()),
    )
    return Section("settings", "How was this made?", (), (), sheets)
