"""Who learns from whom: the mixing weights of Eq. 7 with what they follow from."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

#: Most tasks whose mixing weights are a table; those of more are even.
MAX_TASKS = 1000


@dataclass(frozen=True)
class TaskStructure:
    """Who learns from whom, and how much: component i of the prior of task t is N(sharing_t mu_i, variance_t).

    What was not inferred is None. Intervals are (2, ...): the lower and the upper end.
    """

    alpha: Tensor | None  # (T, T) mixing weights, zero diagonal, rows sum to 1; None of thousands
    sharing: Tensor  # (T,) r_t
    variance: Tensor  # (T,) v_t
    covariance: Tensor | None  # (T, T) B, of one weight across tasks in the exact model; None of hundreds
    factor: Tensor | None = None  # (T, R) of hundreds: B is its product with itself and 1 on the diagonal
    beta: Tensor | None = None  # (T, T) whose representations are alike
    positions: Tensor | None = None  # (T, Q) where the tasks lie
    alpha_interval: Tensor | None = None  # (2, T, T)
    beta_interval: Tensor | None = None  # (2, T, T)
    sharing_interval: Tensor | None = None  # (2, T)
