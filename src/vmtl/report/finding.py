"""What a map of who learns from whom says: a preference is clear, the map is flat, or the rows cannot tell.

The one rule. A weight is *beyond* the even weight 1 / (T - 1) if its whole interval is, on either side.

- **clear**: more weights are beyond than the intervals leave out by chance, a tenth of them;
- **flat**: no interval reaches further from the even weight than a fifth of it;
- **unknown**: everything else; the intervals are wide and hold the even weight.

A fit without intervals (the presets ``paper`` and ``released``) is clear where weights exceed those of the control, or,
without one, where they are not about even; else it is flat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from vmtl._utils.messages import first_few
from vmtl._utils.types import Array
from vmtl.report.arrows import Arrow, Control, arrows, even_weight, with_ends
from vmtl.report.style import short

if TYPE_CHECKING:
    import pandas as pd

    from vmtl.estimators.base import BaseMultiTask
    from vmtl.report.arrows import MapInterval

Answer = Literal["clear", "flat", "unknown"]
#: Share of the weights that lie outside of 90 % intervals by chance.
BY_CHANCE = 0.1
#: Intervals within this share of the even weight are narrow.
NARROW = 0.2
#: An interval that ends at the even weight does so up to rounding.
ROUNDING = 0.01
#: Less than this share of the even weight is next to nothing.
ALMOST_NOTHING = 0.1
#: Names of a group that are told.
MOST_MEMBERS = 5
#: Weights without an interval that differ by less are called even.
ABOUT = 0.02


@dataclass(frozen=True)
class Finding:
    """What a map says, and the arrows that say it: strongest first, those that are avoided surest first."""

    answer: Answer
    arrows: list[Arrow]  # all
    preferred: list[Arrow]  # more than even beyond doubt
    leaning: list[Arrow]  # more than even, or just even
    avoided: list[Arrow]  # less than even beyond doubt
    even: float
    n_tasks: int

    def sentence(self) -> str:
        """The answer in words."""
        if self.n_tasks == 2:
            return "With two tasks each learns from the other; there is no third to prefer."
        if self.answer == "flat" and self.arrows[0].interval is None and self.arrows[0].weight > self.even + ABOUT:
            return f"The weights differ no more than they do by chance; even is {self.even:.2f}."
        if self.answer == "flat":
            return f"The map is flat: each task learns from all others alike, {self.even:.2f} from each."
        if self.answer == "unknown":
            return self._unknown()
        if self.preferred:
            more = len(self.preferred) - 1
            further = f", and {more} more {'is' if more == 1 else 'are'} as sure" if more else ""
            return f"A preference is clear: {self.preferred[0]}{further} (even is {self.even:.2f})."
        return self._left_out()

    def _left_out(self) -> str:
        n, surest = len(self.avoided), self.avoided[0]
        amount = "almost nothing" if surest.weight < ALMOST_NOTHING * self.even else "little"
        return (
            f"{n} of {len(self.arrows)} weights {'is' if n == 1 else 'are'} clearly below an even share "
            f"({self.even:.2f}); for example, {short(surest.learner, 40)} takes {amount} from "
            f"{short(surest.teacher, 40)} ({surest.share()}). Which of the others a task prefers cannot be told."
        )

    def _unknown(self) -> str:
        if self.leaning:
            return (
                f"The rows lean to some tasks, but even weights of {self.even:.2f} remain possible; "
                f"the strongest: {self.leaning[0]}."
            )
        return (
            f"The rows cannot tell: intervals are wide about the even weight {self.even:.2f}; "
            f"the strongest: {self.arrows[0]}."
        )


def read_map(
    weights: pd.DataFrame,
    interval: MapInterval | None = None,
    control: Control | None = None,
    sharing: Array | None = None,
) -> Finding | None:
    """What a (T, T) map says; None for a method without mixing weights.

    Parameters
    ----------
    weights : DataFrame of shape (T, T)
        Mixing weights, such as ``alpha_``: row t says how much task t takes from each other task.
    interval : pair of DataFrames of shape (T, T), default=None
        Lower and upper ends of the weights, such as ``alpha_interval_``.
    control : Control, default=None
        Refits whose tasks mean nothing, if there are any.
    sharing : array of shape (T,), default=None
        How much each task follows the others, such as ``sharing_``; what hardly arrives comes last.
    """
    every, even = arrows(weights, interval, sharing), even_weight(len(weights))
    if not every:
        return None
    preferred, leaning, avoided = _beyond(every, even) if interval is not None else _larger(every, even, control)
    answer: Answer = "unknown"
    if len(weights) == 2:
        answer = "flat"
    elif len(preferred) + len(avoided) > (BY_CHANCE * len(every) if interval is not None else 0):
        answer = "clear"
    elif interval is None or all(_is_narrow(arrow, even) for arrow in every):
        answer = "flat"
    return Finding(answer, every, preferred, leaning, avoided, even, len(weights))


def read_model(model: BaseMultiTask, control: Control | None = None) -> Finding | None:
    """What the map alpha of a fitted model says; None for a method without mixing weights.

    Parameters
    ----------
    model : MultiTaskClassifier or MultiTaskRegressor
        A fitted estimator.
    control : Control, default=None
        Refits whose tasks mean nothing, if there are any.
    """
    return read_map(model.alpha_, getattr(model, "alpha_interval_", None), control, model.sharing_)


def groups_sentence(model: BaseMultiTask) -> str | None:
    """Which tasks follow the same rule by their targets; None where no groups are probable.

    Parameters
    ----------
    model : MultiTaskClassifier or MultiTaskRegressor
        A fitted estimator.
    """
    groups = getattr(model, "groups_", None)
    if groups is None or not groups["group"].any():
        return None
    members = [[short(str(task), 40) for task in part.index] for _, part in groups.groupby("group")]
    together = "; ".join(first_few(names, MOST_MEMBERS) for names in members if len(names) > 1)
    single = [names[0] for names in members if len(names) == 1]
    alone = f"{first_few(single, MOST_MEMBERS)} {'each ' if len(single) > 1 else ''}on its own" if single else ""
    named = "; ".join(part for part in (together, alone) if part)
    sure = f"{100 * groups['probability'].mean():.0f} % sure of who is with whom"
    return f"By their targets the tasks follow {len(members)} rules ({sure}): {named}."


def strengths(model: BaseMultiTask) -> dict[str, str]:
    """r of every task by name, as text, with its interval where it has one."""
    ends = getattr(model, "sharing_interval_", None)
    intervals = [None] * len(model.tasks_) if ends is None else list(ends.itertuples(index=False, name=None))
    values = zip(model.tasks_, model.sharing_, intervals, strict=True)
    return {str(task): with_ends(value, interval) for task, value, interval in values}


def clear_arrows(
    weights: pd.DataFrame, control: Control | None = None, interval: MapInterval | None = None
) -> list[Arrow]:
    """The arrows that are more than even beyond doubt, strongest first; none unless the map is clear.

    Parameters
    ----------
    weights : DataFrame of shape (T, T)
        Mixing weights, such as ``alpha_``: row t says how much task t takes from each other task.
    control : Control, default=None
        Refits whose tasks mean nothing, if there are any.
    interval : pair of DataFrames of shape (T, T), default=None
        Lower and upper ends of the weights, such as ``alpha_interval_``.
    """
    finding = read_map(weights, interval, control)
    return finding.preferred if finding is not None and finding.answer == "clear" else []


def _beyond(every: list[Arrow], even: float) -> tuple[list[Arrow], list[Arrow], list[Arrow]]:
    """Preferred, leaning and avoided by their intervals."""
    ends = [(arrow, *arrow.interval) for arrow in every if arrow.interval is not None]
    above, below = even * (1 + ROUNDING), even * (1 - ROUNDING)
    preferred = [arrow for arrow, low, _ in ends if low > above]
    leaning = [arrow for arrow, low, _ in ends if low > below and arrow.weight > above]
    avoided = sorted((end for end in ends if end[2] < below), key=lambda end: end[2])
    return preferred, leaning, [arrow for arrow, *_ in avoided]


def _larger(every: list[Arrow], even: float, control: Control | None) -> tuple[list[Arrow], list[Arrow], list[Arrow]]:
    """The same without intervals: beyond the control, or beyond what is about even."""
    least = even + ABOUT if control is None else max(control.noise, even + ABOUT)
    preferred = [arrow for arrow in every if arrow.weight > least]
    return preferred, preferred, []


def _is_narrow(arrow: Arrow, even: float) -> bool:
    assert arrow.interval is not None
    return max(abs(end - even) for end in arrow.interval) <= NARROW * even
