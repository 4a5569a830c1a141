"""What a map of who learns from whom says: some links are clear, the map is flat, or the rows cannot tell.

One criterion. A link is *clear* if its whole interval lies above the even weight 1 / (T - 1), and if its weight is
larger than every weight of both controls, where there are controls. A fit without intervals needs a weight well above
the even one. No link is clear

- if no more of them lie above the even weight than intervals leave out by chance, a tenth; or
- if even weights predict the labelled rows clearly better than the inferred ones.

A map without a clear link is *flat* if no interval reaches further from the even weight than a fifth of it; else the
rows cannot tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from vmtl._utils.messages import counted, first_few
from vmtl._utils.types import Array
from vmtl.report.arrows import Arrow, Control, arrows, even_weight, with_ends
from vmtl.report.style import short

if TYPE_CHECKING:
    import pandas as pd

    from vmtl.estimators.base import BaseTaskEstimator
    from vmtl.report.arrows import MapInterval

Answer = Literal["clear", "flat", "unknown"]
#: Share of the weights that lie outside of 90 % intervals by chance.
BY_CHANCE = 0.1
#: Intervals within this share of the even weight are narrow.
NARROW = 0.2
#: An interval that ends at the even weight does so up to rounding.
ROUNDING = 0.01
#: Weights without an interval that differ by less are called even.
ABOUT = 0.02


@dataclass(frozen=True)
class Finding:
    """What a map says, its arrows and those that are clear; strongest first."""

    answer: Answer
    arrows: list[Arrow]
    clear: list[Arrow]
    even: float
    n_tasks: int
    is_checked: bool = False  # against a control

    def sentence(self) -> str:
        """The answer in words."""
        if self.n_tasks == 2:
            return "With two tasks each learns from the other; there is no third to prefer."
        if self.answer == "flat":
            return "Each task learns from all others alike."
        if self.answer == "unknown":
            return "The rows cannot tell whether a task learns more from some of the others than from the rest."
        first, more = self.clear[0], len(self.clear) - 1
        further = f", and {counted(more, 'more link')} {'is' if more == 1 else 'are'} clear" if more else ""
        learner, teacher = short(first.learner, 40), short(first.teacher, 40)
        return f"{learner} learns more from {teacher} than from the others{further}.{self._caution()}"

    def _caution(self) -> str:
        return "" if self.is_checked else " Whether that is more than chance was not checked."


def read_map(
    weights: pd.DataFrame,
    interval: MapInterval | None = None,
    control: Control | None = None,
    sharing: Array | None = None,
    even_is_better: bool = False,
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
    even_is_better : bool, default=False
        Whether even weights predict clearly better.
    """
    every, even = arrows(weights, interval, sharing), even_weight(len(weights))
    if not every:
        return None
    above = [arrow for arrow in every if _is_above(arrow, even)]
    by_chance = BY_CHANCE * len(every) if interval is not None else 0
    is_told = len(weights) > 2 and len(above) > by_chance and not even_is_better
    clear = [arrow for arrow in above if control is None or arrow.weight > control.noise] if is_told else []
    return Finding(_answer(every, above, clear, even), every, clear, even, len(weights), control is not None)


def _answer(every: list[Arrow], above: list[Arrow], clear: list[Arrow], even: float) -> Answer:
    if clear:
        return "clear"
    has_ends = every[0].interval is not None
    is_flat = all(_is_narrow(arrow, even) for arrow in every) if has_ends else not above
    return "flat" if is_flat else "unknown"


def _is_above(arrow: Arrow, even: float) -> bool:
    if arrow.interval is None:
        return arrow.weight > even + ABOUT
    return arrow.interval[0] > even * (1 + ROUNDING)


def _is_narrow(arrow: Arrow, even: float) -> bool:
    assert arrow.interval is not None
    return max(abs(end - even) for end in arrow.interval) <= NARROW * even


def read_model(
    model: BaseTaskEstimator, control: Control | None = None, even_is_better: bool = False
) -> Finding | None:
    """What the map alpha of a fitted model says; None for a method without mixing weights.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    control : Control, default=None
        Refits whose tasks mean nothing, if there are any.
    even_is_better : bool, default=False
        Whether even weights predict clearly better.
    """
    ends = getattr(model, "alpha_interval_", None)
    return read_map(model.alpha_, ends, control, model.sharing_.to_numpy(), even_is_better)


def isolated_sentence(model: BaseTaskEstimator) -> str | None:
    """Which tasks share nothing with the others; None where all share something.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    """
    numbers = getattr(model.hyperparameters_, "isolated", ())
    if not numbers:
        return None
    names = [short(str(model.tasks_[t]), 40) for t in numbers]
    return f"{first_few(names, 5)} {'shares' if len(names) == 1 else 'share'} nothing with the other tasks."


def strengths(model: BaseTaskEstimator) -> dict[str, str]:
    """r of every task by name, as text, with its interval where it has one."""
    ends = getattr(model, "sharing_interval_", None)
    intervals = [None] * len(model.tasks_) if ends is None else list(ends.itertuples(index=False, name=None))
    values = zip(model.tasks_, model.sharing_, intervals, strict=True)
    return {str(task): with_ends(value, interval) for task, value, interval in values}
