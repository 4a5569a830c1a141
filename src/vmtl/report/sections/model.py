"""Sections on the model itself: who learns from whom, how it was trained, with which settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vmtl._utils.messages import counted
from vmtl.estimators.base import BaseMultiTask
from vmtl.report.arrows import Arrow, Control, arrows, clear_arrows, even_weight
from vmtl.report.plots import relatedness as related
from vmtl.report.plots.learning import LABELS, plot_learning
from vmtl.report.plots.svg import Picture, draw
from vmtl.report.sections.section import Section
from vmtl.report.sheets import arrow_sheet, fact_sheet
from vmtl.report.style import name_height, three_digits

if TYPE_CHECKING:
    import pandas as pd


def relatedness_section(model: BaseMultiTask, control: Control | None) -> Section | None:
    """Who learns from whom, and what that looks like where there is nothing to learn."""
    strongest_first = arrows(model.alpha_)
    if not strongest_first:
        return None
    clear = clear_arrows(model.alpha_, control)
    lines = tuple(str(arrow) for arrow in clear[:6])
    words = [
        _finding(model.alpha_, clear),
        "Each task's prior is a mixture of the other tasks; these are its weights. Each row sums to 1. "
        f"A task that prefers no other gives each of them {even_weight(len(model.tasks_)):.2f}.",
    ]
    if len(model.tasks_) > 2:
        words.append(_control_words(strongest_first[0].weight, control))
    pictures = [
        *([_arrow_picture(model.alpha_, lines)] if clear else []),
        *([_control_picture(model.alpha_, control)] if control is not None else []),
        *_maps(model),
    ]
    sheet = arrow_sheet(strongest_first, clear, control)
    fold = "" if clear else "All weights" + (" and the control" if control is not None else "")
    return Section("relatedness", "Who learns from whom?", tuple(words), tuple(pictures), (sheet,), lines, fold)


def _arrow_picture(weights: pd.DataFrame, lines: Sequence[str]) -> Picture:
    return draw(
        "arrows",
        lambda ax: related.plot_arrows(weights, ax),
        height=3.3,
        title="Who learns from whom",
        caption="An arrow runs from the task that teaches to the task that learns; wide and dark is strong.",
        alt="Strongest arrows: " + "; ".join(lines) + ".",
    )


def _control_picture(weights: pd.DataFrame, control: Control) -> Picture:
    every_arrow = arrows(weights)
    sampled = " Of many, the largest and a sample are drawn." if len(every_arrow) > 2 * related.MOST_DOTS else ""
    return draw(
        "control",
        lambda ax: related.plot_control(weights, control, ax),
        height=2.4,
        title="Is it more than chance?",
        caption=f"Each dot is one weight. Only dots right of all shuffled ones mean something.{sampled}",
        alt=_control_words(every_arrow[0].weight, control),
    )


def _finding(weights: pd.DataFrame, clear: Sequence[Arrow]) -> str:
    """The answer in one sentence."""
    if clear:
        return f"The strongest link: {clear[0]}."
    if len(weights) == 2:
        return "With two tasks each learns from the other; there is no third to prefer."
    nothing = "The rows do not show that any task is closer to one task than to the rest"
    if clear_arrows(weights):
        return f"{nothing}: the weights differ no more than they do by chance."
    return f"{nothing}; each learns equally from all."


def _maps(model: BaseMultiTask) -> list[Picture]:
    """One map where alpha and beta are the same, else one of each that the method has."""
    alpha, beta = model.alpha_, model.beta_
    if np.array_equal(alpha, beta):
        return [_map_picture("alpha", "for w and z alike: beta is tied to alpha", alpha)]
    pairs = (("alpha", "for the weights w", alpha), ("beta", "for the representations z", beta))
    return [_map_picture(name, meaning, weights) for name, meaning, weights in pairs if np.asarray(weights).any()]


def _map_picture(name: str, meaning: str, weights: pd.DataFrame) -> Picture:
    return draw(
        f"map-{name}",
        lambda ax: related.plot_relatedness(weights, ax),
        height=1.1 + min(0.5 * len(weights), 3.3) + name_height(weights.index),
        title=f"Map {name}, {meaning}",
        caption="A row is a task; its columns say how much it takes from each other task.",
        alt=f"Map {name}: " + "; ".join(str(arrow) for arrow in arrows(weights)[:12]) + ".",
    )


def _control_words(strongest: float, control: Control | None) -> str:
    if control is None:
        return f"The strongest weight is {strongest:.2f}. With --train a control shows how large weights are by chance."
    return (
        f"As a control the model was fitted again ({counted(len(control.shuffled), 'refit')}) with rows dealt to the "
        f"tasks at random, so that no task is nearer than another: weights reach {control.noise:.2f}. With targets "
        f"shuffled inside each task, so that tasks are unrelated, they reach {control.unrelated.max():.2f}. "
        f"The strongest weight of this model is {strongest:.2f}."
    )


def learning_section(model: BaseMultiTask) -> Section:
    """How training went."""
    history = model.history_
    pictures, words = [], []
    for term, label in LABELS.items():
        values = history.groupby("step")[term].mean()
        if values.abs().max() > 0:
            words.append(f"{label} from {three_digits(values.iloc[0])} to {three_digits(values.iloc[-1])}")
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
    steps = counted(int(history["step"].max()), "step")
    told = [f"In {steps}, means over the tasks went like this: {'; '.join(words)}."]
    if model.settings_.select:
        told.append(
            "Where it can, this preset solves the means before the first step; the steps then learn the widths and the "
            "noise, so the negative log likelihood may rise while its sum with the KL terms falls."
        )
    return Section("learning", "How was it trained?", tuple(told), tuple(pictures))


def settings_section(model: BaseMultiTask, facts: Mapping[str, object]) -> Section:
    """Everything needed to do it again."""
    sheets = (
        fact_sheet("facts", "Origin", facts),
        fact_sheet("settings", "Settings", model.settings_.to_json()),
    )
    return Section("settings", "How was this made?", (), (), sheets)
