"""The exact model with a softmax likelihood: its mode, and its predictions of left-out rows.

Logits of n rows are f ~ N(0, K) for every class on its own, labels follow softmax(f): the Gaussian process whose
weights are those of the mixture prior. What a Gaussian likelihood solves in one step takes some iterations here.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

#: Up to this many classes times rows cubed every class has a curvature of its own, beyond that all share one.
MAX_COST = 1e9


#: A typical curvature p (1 - p) of the softmax, by which the search for the mode is preconditioned.
CURVATURE = 0.05


def mode(kernel: Tensor, label: Tensor, n_classes: int, weight: Tensor) -> tuple[Tensor, Tensor]:
    """f = argmax sum_n weight_n log softmax(f_n)_{y_n} - 1/2 sum_c f_c' K^-1 f_c, and a = K^-1 f: (n, C) each.

    By L-BFGS over v = M^-1 f with M M' = (K^-1 + c I)^-1, c about the curvature of the likelihood, so that the number
    of iterations does not grow with the scale of K. In v the penalty is |v|^2 / 2 - c |f|^2 / 2.
    """
    eye, c = torch.eye(len(kernel), dtype=kernel.dtype), CURVATURE * float(weight.mean())
    inner = (eye - torch.cholesky_inverse(torch.linalg.cholesky(eye + c * kernel))) / c
    slack = 1e-9 + 1e-15 * c * float(kernel.trace())  # what rounding may have lost
    factor = torch.linalg.cholesky(inner + slack * inner.diagonal().mean() * eye)
    v = torch.zeros(len(kernel), n_classes, dtype=kernel.dtype, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [v], max_iter=200, history_size=20, tolerance_grad=1e-6, tolerance_change=1e-10, line_search_fn="strong_wolfe"
    )

    def loss() -> Tensor:
        optimiser.zero_grad()
        f = factor @ v
        nll = (weight * F.cross_entropy(f, label, reduction="none")).sum()
        value: Tensor = nll + 0.5 * v.square().sum() - 0.5 * c * f.square().sum()
        value.backward()
        return value

    with torch.enable_grad():
        optimiser.step(loss)
    found = v.detach()
    logits = factor @ found
    return logits, torch.linalg.solve_triangular(factor.T, found, upper=True) - c * logits


def left_out(kernel: Tensor, logits: Tensor, p: Tensor, label: Tensor, weight: Tensor) -> Tensor:
    """Logits of every row if it had not been seen, by one Newton step from ``logits``: (n, C).

    With W = p (1 - p) weight and G = (I + W^1/2 K W^1/2)^-1, leaving row n out moves its logit by
    (y_n - p_n) (1 - 1 / G_nn) / (p_n (1 - p_n)), each class on its own. Where that is too costly, all classes share
    the curvature (1 - sum_c p_c^2) / (C - 1).
    """
    n, n_classes = logits.shape
    curvature = p * (1 - p)
    if n_classes * float(n) ** 3 > MAX_COST:
        curvature = (1 - p.square().sum(-1, keepdim=True)) / max(1, n_classes - 1)
    curvature = curvature.clamp_min(1e-6)  # (n, C or 1)
    diagonal = torch.empty_like(curvature)
    for c, root in enumerate((weight[:, None] * curvature).sqrt().T):
        inner = torch.eye(n, dtype=kernel.dtype) + root[:, None] * kernel * root
        diagonal[:, c] = torch.cholesky_inverse(torch.linalg.cholesky(inner)).diagonal()
    return logits + (F.one_hot(label, n_classes) - p) * (1 - 1 / diagonal) / curvature
