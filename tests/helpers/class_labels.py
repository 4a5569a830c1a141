"""Three tasks, seven rows each, four classes of which tasks may miss some."""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl.paper.likelihoods import Categorical

T, N, C = 3, 7, 4


def categorical(hidden: bool) -> Categorical:
    mask = torch.ones(T, C, dtype=torch.bool)
    if hidden:
        mask[1, 0] = mask[2, 3] = False
    return Categorical(mask)


def labels() -> Tensor:
    return 1 + torch.arange(T * N).view(T, N) % 2  # classes that every task sees
