"""Sections on the model itself: how it was trained, with which settings."""

from __future__ import annotations

from collections.abc import Mapping

from vmtl._utils.messages import counted
from vmtl.estimators.base import BaseTaskEstimator
from vmtl.report.plots.learning import LABELS, plot_learning
from vmtl.report.plots.svg import draw
from vmtl.report.sections.section import Section
from vmtl.report.sheets import fact_sheet
from vmtl.report.style import three_digits


def learning_section(model: BaseTaskEstimator) -> Section | None:
    """How training went; None for a fit that took no steps."""
    history = getattr(model, "history_", None)
    if history is None or history["step"].nunique() < 2:
        return None
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
    told = f"In {steps}, means over the tasks went like this: {'; '.join(words)}."
    return Section("learning", "How was it trained?", (told,), tuple(pictures))


def settings_section(model: BaseTaskEstimator, facts: Mapping[str, object]) -> Section:
    """Everything needed to do it again."""
    found = {name: value for name, value in model.hyperparameters_.to_json().items() if value is not None}
    sheets = (
        fact_sheet("facts", "Origin", facts),
        fact_sheet("settings", "Parameters", model.get_params()),
        fact_sheet("inferred", "Inferred from the training rows", {n: _in_one_cell(v) for n, v in found.items()}),
    )
    return Section("settings", "How was this made?", (), (), sheets)


def _in_one_cell(value: object) -> str:
    """A value as text, numbers with three digits; long lists are cut."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_in_one_cell(inner)}" for name, inner in value.items())
    if isinstance(value, (list, tuple)):
        more = f" and {len(value) - MOST_ITEMS} more" if len(value) > MOST_ITEMS else ""
        return ", ".join(map(_in_one_cell, value[:MOST_ITEMS])) + more
    return f"{value:.3g}" if isinstance(value, float) else str(value)


#: Items of a list that are shown.
MOST_ITEMS = 20
