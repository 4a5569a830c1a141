"""The exact model with a softmax likelihood: its mode, its evidence, and its predictions of left-out rows.

Logits of n rows are f ~ N(0, K) for every class on its own, labels follow softmax(f): the Gaussian process whose
weights are those of the mixture prior. What a Gaussian likelihood solves in one step takes some iterations here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl._utils.cholesky import cholesky, working_precision
from vmtl._utils.minimise import minimise

#: Up to this many classes times rows cubed, and rows times classes squared, left-out rows have the curvature of the
#: softmax; beyond that an average.
MAX_COST, MAX_BLOCKS = 1e9, 2e7
#: A typical curvature p (1 - p) of the softmax, by which the search for the mode is preconditioned.
CURVATURE = 0.05
#: A probability that is smaller counts as this one where it is divided by.
LEAST_PROBABILITY = 1e-20
#: Newton steps at most, the gain in nats below which they end, and steps to a multiple of where they begin.
NEWTON_STEPS, NEWTON_GAIN, MULTIPLE_STEPS = 50, 1e-3, 4


class Mode(NamedTuple):
    """The most probable logits f = f0 + K a, and how they were reached from."""

    logits: Tensor  # (n, C) f
    solution: Tensor  # (n, C) a


def posterior_mode(
    kernel: Tensor,
    label: Tensor,
    n_classes: int,
    weight: Tensor,
    start: Tensor | None = None,
    expected: Tensor | None = None,
) -> Mode:
    """f = argmax sum_n weight_n log softmax(f_n)_{y_n} - 1/2 sum_c (f - f0)_c' K^-1 (f - f0)_c, a = K^-1 (f - f0).

    ``start`` = a of a similar kernel (n, C); ``expected`` = f0, the logits before any label is seen (n, C), 0 if None.
    """
    if expected is None:
        expected = kernel.new_zeros(len(kernel), n_classes)
    if n_classes == 2:
        return _newton(kernel, label, weight, start, expected)
    return _lbfgs(kernel, label, n_classes, weight, start, expected)


def _newton(kernel: Tensor, label: Tensor, weight: Tensor, start: Tensor | None, expected: Tensor) -> Mode:
    """Of two classes only the difference d = f_1 - f_0 - d0 ~ N(0, 2 K) matters: d = 2 K a_1, a_0 = -a_1.

    Newton's steps in a_1, halved until they gain: (I + h^1/2 K h^1/2)^-1 as in Rasmussen and Williams (2006, algorithm
    3.1), applied to the slope, so that a step is as exact as its factor and the mode as its slope. Since steps converge
    quadratically, the mode is much nearer than the last gain. d0 is the difference that is expected.
    """
    y, inner, d0 = label.to(kernel), InnerFactor(kernel, weight), expected[:, 1] - expected[:, 0]

    def gain(a: Tensor, d: Tensor) -> float:
        return float(weight @ F.logsigmoid((2 * y - 1) * (d0 + d)) - 0.5 * a @ d)

    a = torch.zeros_like(y) if start is None else start[:, 1]
    d = 2 * kernel @ a
    if start is not None:
        length = _best_multiple(a, d, d0, y, weight)
        a, d = length * a, length * d
    best = gain(a, d)
    for _ in range(NEWTON_STEPS):
        p = (d0 + d).sigmoid()
        slope, curvature = weight * (y - p) - a, (2 * weight * p * (1 - p)).clamp_min(1e-12)
        step = slope - inner.solve(curvature, kernel @ slope)
        moved, length = 2 * kernel @ step, 1.0
        while (value := gain(a + length * step, d + length * moved)) < best and length > 1e-4:
            length /= 2
        if value <= best:
            break
        a, d = a + length * step, d + length * moved
        best, gained = value, value - best
        if gained < NEWTON_GAIN:
            break
    return Mode(expected + torch.stack([-d / 2, d / 2], 1), torch.stack([-a, a], 1))


def _best_multiple(a: Tensor, d: Tensor, d0: Tensor, y: Tensor, weight: Tensor) -> float:
    """argmax_c sum_n weight_n log sigmoid(+-(d0 + c d)_n) - c^2 a'd / 2, by Newton's steps within [0, 2].

    Under a larger kernel the solution a of a smaller one is too large, and by about the same factor everywhere; under a
    smaller one it is too small.
    """
    c, square = 1.0, float(a @ d)
    for _ in range(MULTIPLE_STEPS):
        p = (d0 + c * d).sigmoid()
        slope = float((weight * (y - p)) @ d) - c * square
        c += slope / max(float((weight * p * (1 - p)) @ d.square()) + square, 1e-12)
        c = min(max(c, 0.0), 2.0)
    return c


class InnerFactor:
    """I + h^1/2 K h^1/2 of one kernel and several curvatures h (n,), factorised, for a search or a determinant.

    Its eigenvalues are at least 1 and at most 1 + sum_n h_n K_nn.
    """

    def __init__(self, kernel: Tensor, weight: Tensor) -> None:
        most = 1 + 0.5 * float(weight @ kernel.diagonal())  # h = 2 weight p (1 - p) of two classes, less of more
        self.kernel = kernel.to(working_precision(1.0, most))

    def factor(self, curvature: Tensor) -> Tensor:
        """Lower triangular (n, n)."""
        root = curvature.sqrt().to(self.kernel)
        inner = (root[:, None] * self.kernel).mul_(root)
        inner.diagonal().add_(1)
        return cholesky(inner)

    def solve(self, curvature: Tensor, values: Tensor) -> Tensor:
        """h^1/2 (I + h^1/2 K h^1/2)^-1 h^1/2 values, (n,)."""
        root, factor = curvature.sqrt(), self.factor(curvature)
        solved = torch.cholesky_solve((root * values).to(factor)[:, None], factor)[:, 0]
        return root * solved.to(values)


def _lbfgs(
    kernel: Tensor, label: Tensor, n_classes: int, weight: Tensor, start: Tensor | None, expected: Tensor
) -> Mode:
    """L-BFGS over v = M^-1 (f - f0) with M M' = (K^-1 + c I)^-1, c about the curvature of the likelihood.

    So the number of iterations does not grow with the scale of K. In v the penalty is |v|^2 / 2 - c |f - f0|^2 / 2.
    """
    eye, c = torch.eye(len(kernel), dtype=kernel.dtype), CURVATURE * float(weight.mean())
    inner = (eye - torch.cholesky_inverse(cholesky(eye + c * kernel))) / c
    slack = 1e-9 + 1e-15 * c * float(kernel.trace())  # what rounding may have lost
    factor = cholesky(inner + slack * inner.diagonal().mean() * eye)
    v = torch.zeros(len(kernel), n_classes, dtype=kernel.dtype)
    if start is not None:
        v = torch.linalg.solve_triangular(factor, kernel @ start, upper=False).contiguous()
    v.requires_grad_()

    def loss() -> Tensor:
        f = factor @ v
        nll = (weight * F.cross_entropy(expected + f, label, reduction="none")).sum()
        value: Tensor = nll + 0.5 * v.square().sum() - 0.5 * c * f.square().sum()
        return value

    minimise([v], loss, iterations=200, history=10, least_slope=1e-5, least_change=1e-8)
    best = v.detach()
    departure = factor @ best
    return Mode(expected + departure, torch.linalg.solve_triangular(factor.T, best, upper=True) - c * departure)


def log_evidence(kernel: Tensor, mode: Mode, label: Tensor, weight: Tensor, expected: Tensor | float = 0.0) -> float:
    """log p(labels) in Laplace's approximation, with one curvature of all classes.

    sum_n weight_n log softmax(f_n)_{y_n} - 1/2 sum_c a_c' (f - f0)_c - (C - 1) / 2 log |I + h^1/2 K h^1/2|

    where h = ``shared_curvature`` (n,), f0 = the logits that are ``expected``. Of two classes that is Laplace's
    approximation itself.
    """
    penalty = 0.5 * (mode.solution * (mode.logits - expected)).sum()
    fit = -weight @ F.cross_entropy(mode.logits, label, reduction="none") - penalty
    factor = InnerFactor(kernel, weight).factor(shared_curvature(mode.logits.softmax(-1), weight))
    return float(fit - (mode.logits.shape[1] - 1) * factor.diagonal().double().log().sum())


def left_out_log_likelihood(kernel: Tensor, mode: Mode, label: Tensor, weight: Tensor) -> float:
    """sum_n weight_n log softmax(f_n without row n)_{y_n}."""
    left_out = leave_one_out_logits(kernel, mode.logits, mode.logits.softmax(-1), label, weight)
    return float(-weight @ F.cross_entropy(left_out, label, reduction="none"))


def evidence_and_left_out(kernel: Tensor, mode: Mode, label: Tensor, weight: Tensor) -> tuple[float, float]:
    """The log evidence with the curvature of the softmax, and ``left_out_log_likelihood``, from the same factors.

    log p(labels) = sum_n weight_n log softmax(f_n)_{y_n} - 1/2 sum_c a_c' f_c - 1/2 log |I + K W|

    where W = the curvature of all logits (n C, n C). Where that is too costly, the evidence is ``log_evidence``.
    """
    p = mode.logits.softmax(-1)
    if not _has_blocks(*p.shape):
        return log_evidence(kernel, mode, label, weight), left_out_log_likelihood(kernel, mode, label, weight)
    blocks, log_determinant = posterior_blocks(kernel, weight[:, None] * p)
    left_out = mode.logits - _own_curvature_step(blocks, p, label, weight)
    seen, unseen = (float(-weight @ F.cross_entropy(f, label, reduction="none")) for f in (mode.logits, left_out))
    penalty = 0.5 * float((mode.solution * mode.logits).sum())
    return seen - penalty - 0.5 * log_determinant, unseen


def shared_curvature(p: Tensor, weight: Tensor) -> Tensor:
    """h = weight (1 - sum_c p_c^2) / (C - 1), what the softmax is curved by in an average direction: (n,)."""
    return (weight * (1 - p.square().sum(-1)) / max(1, p.shape[1] - 1)).clamp_min(1e-6)


def leave_one_out_logits(kernel: Tensor, logits: Tensor, p: Tensor, label: Tensor, weight: Tensor) -> Tensor:
    """Logits of every row if it had not been seen, by one Newton step from ``logits``: (n, C).

    f_n - (I - S H)^-1 S g,    g = weight (y_n - p_n),    H = weight (diag(p_n) - p_n p_n')

    where f = ``logits`` and p = their probabilities ``p`` (n, C), g the gradient and H the curvature of row n's own
    term, S the (C, C) block of the posterior covariance of its logits. Two classes share one curvature; where
    the blocks are too costly, more classes are taken to share one as well (``_shared_curvature_step``).
    """
    if not _has_blocks(*logits.shape):
        return logits + _shared_curvature_step(kernel, _gradient(p, label, weight), p, weight)
    blocks, _ = posterior_blocks(kernel, weight[:, None] * p)
    return logits - _own_curvature_step(blocks, p, label, weight)


def _has_blocks(n: int, n_classes: int) -> bool:
    """Whether every row has a block of its own: two classes need none, and they must be affordable."""
    return n_classes > 2 and n_classes * float(n) ** 3 <= MAX_COST and n * float(n_classes) ** 2 <= MAX_BLOCKS


def _gradient(p: Tensor, label: Tensor, weight: Tensor) -> Tensor:
    """(n, C) g."""
    return weight[:, None] * (F.one_hot(label, p.shape[1]) - p)


def _own_curvature_step(block: Tensor, p: Tensor, label: Tensor, weight: Tensor) -> Tensor:
    """(n, C) (I - S H)^-1 S g of the blocks S (n, C, C)."""
    gradient = _gradient(p, label, weight)
    curvature = weight[:, None, None] * (torch.diag_embed(p) - p[:, :, None] * p[:, None, :])
    without = (torch.eye(p.shape[1], dtype=p.dtype) - block @ curvature).numpy()
    # torch's LU of many matrices fails on threads, see inverse()
    return torch.from_numpy(np.linalg.solve(without, (block @ gradient[..., None]).numpy()))[..., 0]


def _shared_curvature_step(kernel: Tensor, gradient: Tensor, p: Tensor, weight: Tensor) -> Tensor:
    """g (1 - 1 / G_nn) / h with G = (I + h^1/2 K h^1/2)^-1: (n, C).

    where g = ``gradient`` (n, C), h = ``shared_curvature`` (n,).
    """
    shared = shared_curvature(p, weight)
    root = shared.sqrt()
    inner = torch.eye(len(kernel), dtype=kernel.dtype) + root[:, None] * kernel * root
    diagonal = torch.cholesky_inverse(cholesky(inner)).diagonal()
    return gradient * ((1 - 1 / diagonal) / shared)[:, None]


class PosteriorBlocks(NamedTuple):
    """What Laplace's approximation says of the logits of each row, and of all together."""

    blocks: Tensor  # (n, C, C) covariance of the C logits of each row
    log_determinant: float  # log |I + K W|


def posterior_blocks(kernel: Tensor, d: Tensor) -> PosteriorBlocks:
    """Laplace's approximation at d = weight * p (n, C).

    With E_c = (K + diag(1 / d_c))^-1 and M = sum_c E_c (Rasmussen and Williams, 2006, section 3.5) the covariance is
    S_cc' = [c = c'] (K - K E_c K) + K E_c M^-1 E_c' K, of which only the diagonals are needed, and

        |I + K W| = |M| / prod_n weight_n  prod_c |I + d_c^1/2 K d_c^1/2|

    E_c K = I - E_c / d_c, so that a class takes one inverse and no product of matrices.
    """
    n, n_classes = d.shape
    eye, d = torch.eye(n, dtype=kernel.dtype), d.clamp_min(LEAST_PROBABILITY)
    total = torch.zeros_like(kernel)  # M
    through = torch.empty(n, n_classes, n, dtype=kernel.dtype)  # E_c K
    alone = torch.empty_like(d)  # (n, C) the diagonals of K - K E_c K = K (I - E_c K)
    log_determinant = -float(d.sum(-1).log().sum())
    for c, root in enumerate(d.sqrt().T):
        factor = cholesky(eye + root[:, None] * kernel * root)
        log_determinant += 2 * float(factor.diagonal().log().sum())
        left = torch.cholesky_inverse(factor).mul_(root[:, None])  # E_c d_c^-1/2
        total.addcmul_(left, root)
        through[:, c] = eye - left.div_(root)
        alone[:, c] = kernel.diagonal() - (kernel * through[:, c].T).sum(1)
    factor = cholesky(total + 1e-12 * total.diagonal().mean() * eye)
    log_determinant += 2 * float(factor.diagonal().log().sum())
    mixed = torch.linalg.solve_triangular(factor, through.flatten(1), upper=False).view_as(through)
    of_row = mixed.permute(2, 1, 0).contiguous()  # (n, C, n)
    return PosteriorBlocks(of_row @ of_row.mT + torch.diag_embed(alone), log_determinant)
