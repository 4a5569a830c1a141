"""Temperature tau (Eq. 7), KL scales and learning rate as pure functions of the step.

A schedule is plain data, ``(name, *numbers)``, so that presets and model files can hold it; ``value`` reads it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Schedule = tuple[str | float, ...]


def constant(step: int, total: int, n_tasks: int, level: float) -> float:
    """``level`` at every step."""
    return level


def linear(step: int, total: int, n_tasks: int, start: float, end: float, share: float) -> float:
    """From ``start`` to ``end`` over the first ``share`` of all steps, then constant (Bowman et al.)."""
    return start + (end - start) * min(1.0, step / max(1.0, share * total))


def halving(step: int, total: int, n_tasks: int, start: float, every: float) -> float:
    """``start``, halved every ``every`` steps: the paper's learning rate."""
    return start * float(0.5 ** (step // int(every)))


def jang(step: int, total: int, n_tasks: int, rate: float, every: float, floor: float) -> float:
    """max(floor, exp(-rate * every * floor(step / every))): the temperature of Jang et al. (2017)."""
    return max(floor, math.exp(-rate * every * (step // int(every))))


def released_tau(step: int, total: int, n_tasks: int, rate: float, every: float, floor: float) -> float:
    """The authors' temperature: multiplied by exp(-rate * step) once per task at every ``every``-th step."""
    multiples = step // int(every)
    exponent = rate * every * n_tasks * multiples * (multiples + 1) / 2
    return max(floor, math.exp(-exponent))


def released_kl(step: int, total: int, n_tasks: int, increment: float, every: float) -> float:
    """The authors' KL_w scale: ``increment`` more per task at every ``every``-th step."""
    return increment * n_tasks * (step // int(every))


SCHEDULES: dict[str, Callable[..., float]] = {
    "constant": constant,
    "linear": linear,
    "halving": halving,
    "jang": jang,
    "released_tau": released_tau,
    "released_kl": released_kl,
}


def value(schedule: Schedule, step: int, total: int, n_tasks: int = 1) -> float:
    """The value of ``schedule`` at ``step`` (from 0) of ``total`` steps."""
    name, *numbers = schedule
    if name not in SCHEDULES:
        raise ValueError(f"Unknown schedule {name!r}; choose one of {', '.join(SCHEDULES)}.")
    return SCHEDULES[str(name)](step, total, n_tasks, *numbers)


def compressed(step: int, total: int, written_for: int | None) -> tuple[int, int]:
    """The step and the number of steps that schedules see, if they were written for more steps than ``total``.

    A run of a tenth of the steps passes through temperature, KL scales and learning rates ten times as fast.
    """
    if written_for is None or written_for <= total:
        return step, total
    return step * written_for // total, written_for
