"""How far predictions of left-out rows were off, and how far off the next row may therefore be."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

#: Numbers of a table of tasks and rows that are looked at together.
PART_CELLS = 10_000_000


@dataclass(frozen=True)
class LeftOutScores:
    """Nonconformity scores of n rows, each predicted without itself.

    |y - mean| / deviation in regression, 1 - p(y) in classification: the larger, the stranger the row.
    """

    score: Tensor  # (n,)
    task: Tensor  # (n,)
    weight: Tensor  # (n,)

    def __post_init__(self) -> None:
        if not (self.score.ndim == 1 and self.score.shape == self.task.shape == self.weight.shape):
            raise ValueError("left-out scores do not have one number per row")

    @classmethod
    def empty(cls) -> LeftOutScores:
        """No rows."""
        nothing = torch.zeros(0, dtype=torch.float64)
        return cls(nothing, torch.zeros(0, dtype=torch.long), nothing)

    def append(self, score: Tensor, task: int, weight: Tensor) -> LeftOutScores:
        """The same with further rows of one task: (m,), (m,)."""
        number = torch.full_like(score, task, dtype=self.task.dtype)
        return LeftOutScores(
            *(torch.cat(pair) for pair in zip(vars(self).values(), (score, number, weight), strict=True))
        )

    def to_tensors(self) -> dict[str, Tensor]:
        return dict(vars(self))

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor], n_tasks: int) -> LeftOutScores:
        """What ``to_tensors`` gave, or a ValueError that says what is wrong with it."""
        scores = cls(tensors["score"].double(), tensors["task"], tensors["weight"].double())
        values = torch.stack([scores.score, scores.weight])
        known = scores.task.dtype == torch.int64 and bool(((scores.task >= 0) & (scores.task < n_tasks)).all())
        if not (len(scores.task) and known and bool((values.isfinite() & (values >= 0)).all())):
            raise ValueError("left-out scores are not positive numbers of known tasks")
        return scores

    def quantiles(self, coverage: float, n_tasks: int) -> Tensor:
        """(T + 1,) the least score q_t with F_t(q_t) >= coverage for every task; the last is for a task without rows.

        F_t = l_t F_own + (1 - l_t) F_all,    l_t = min(1, n_t (1 - coverage) / coverage)

        where F_own and F_all are the shares of rows of task t and of all rows up to a score. One row more is at
        infinity, the row to come: 1 / (n + 1) of F_all, and l_t / (n_t + 1) of F_own, as much of it as the task relies
        on its own rows. A task with enough rows for the coverage, n_t >= coverage / (1 - coverage), looks at its own
        scores only; below that it borrows from all as much as it lacks. n_t is the effective number of rows,
        (sum weight)^2 / sum weight^2. If even the largest score is not enough, it is taken.
        """
        score, order = self.score.sort()
        task, weight = self.task[order], self.weight[order]
        shares, n_all = _distribution(weight[None])
        everyone = shares * (n_all / (n_all + 1))[:, None]
        quantiles = []
        for tasks in torch.arange(n_tasks + 1).split(max(1, PART_CELLS // len(score))):
            own, n_own = _distribution((task == tasks[:, None]) * weight)  # of (part, n)
            part = (n_own * (1 - coverage) / coverage).clamp_max(1)  # l
            own = (part * (1 - part / (n_own + 1)))[:, None] * own
            reached = own + (1 - part)[:, None] * everyone >= coverage - 1e-12
            quantiles.append(score[torch.where(reached.any(-1), reached.double().argmax(-1), len(score) - 1)])
        return torch.cat(quantiles)

    @property
    def n_effective(self) -> float:
        """How many rows of equal weight all rows are worth."""
        return float(_distribution(self.weight[None])[1])


def _distribution(weight: Tensor) -> tuple[Tensor, Tensor]:
    """(T, n) the share of rows up to each place; and (T,) the effective number of rows."""
    total = weight.sum(-1)
    n = total.square() / weight.square().sum(-1).clamp_min(1e-300)
    return weight.cumsum(-1) / total.clamp_min(1e-300)[:, None], n
