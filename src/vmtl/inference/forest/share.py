"""How much the forest counts: what left-out rows say of the mixture of two predictions.

p_v(y_n) = (1 - v) p(y_n) + v q(y_n)

where
    p = the model's probability of row n's class, without row n
    q = the same by the trees of the forest that have not seen row n
    v = the share, uniform on [0, 1] before any row is seen; the mean of its posterior is taken

This is stacking (Wolpert, 1992; Yao et al., 2018) with a prior: rows that cannot tell the two apart leave both a say.
"""

from __future__ import annotations

import torch
from torch import Tensor

#: Shares that are averaged over.
SHARES = torch.linspace(0, 1, 41, dtype=torch.float64)


def infer_share(by_model: Tensor, by_forest: Tensor, weight: Tensor) -> float:
    """E[v] given the probabilities of the rows' own classes, (n,) each, and their weights (n,)."""
    mixed = by_model.double() + SHARES[:, None] * (by_forest.double() - by_model.double())  # (V, n)
    return float((mixed.clamp_min(1e-300).log() @ weight.double()).softmax(0) @ SHARES)
