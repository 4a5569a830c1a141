"""Sections on the model itself: how it was trained, with which settings."""

from __future__ import annotations

from collections.abc import Mapping

from vmtl._utils.messages import counted
from vmtl.estimators.base import BaseMultiTask
from vmtl.report.plots.learning import LABELS, plot_learning
from vmtl.report.plots.svg import draw
from vmtl.report.sections.section import Section
from vmtl.report.sheets import fact_sheet
from vmtl.report.style import three_digits


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
