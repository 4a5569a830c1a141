"""How probable groups of tasks are before any row is seen: Ewens' law of partitions.

Tasks come one after the other, each joins a group with odds of its size, or begins one of its own with odds theta
(the Chinese restaurant process). The order does not matter:

    p(g) ~ theta^G prod_h Gamma(n_h)

where G = the number of groups, n_h = the tasks of group h. So one task on its own costs little, however many others
there are, while groups of equal size, of which there are many more, cost more each.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

#: theta: of ten tasks all are of one group in about half of what is expected.
THETA = 0.3


def join_log_odds(group: Tensor, n_groups: int) -> Tensor:
    """(T, G + 1) log odds of each task to be of each group, given those of all others; last: of its own.

    ``group`` (T,) has numbers below G = ``n_groups``.
    """
    member = F.one_hot(group, n_groups + 1).double()
    others = member.sum(0) - member  # (T, G + 1) how many others there are
    return torch.where(others > 0, others.log(), math.log(THETA))


def log_partition_prior(member: Tensor) -> Tensor:
    """(...) log p(g) against one group for all; ``member`` (..., T, G) says who is of which, groups may be empty.

    Where that is not sure, sizes are expected ones, and what is left open is not paid for: - sum_tg member log member.
    """
    n_tasks = torch.tensor(float(member.shape[-2]), dtype=torch.float64)
    size = member.sum(-2)
    n_groups = (size > 0).sum(-1).double()
    ways = torch.lgamma(size.clamp_min(1)).sum(-1) - torch.lgamma(n_tasks)
    open_questions = torch.special.entr(member).sum((-2, -1))
    value: Tensor = (n_groups - 1) * math.log(THETA) + ways + open_questions
    return value


def in_order(group: Tensor) -> Tensor:
    """(T,) the same groups with numbers from 0 on, in the order in which the tasks meet them."""
    names: dict[int, int] = {}
    return torch.tensor([names.setdefault(name, len(names)) for name in group.tolist()])
