"""Kernel shares, task correlation and prior scale from the training rows, by closed-form leave-one-out.

The exact Gaussian version of the model is a least-squares Gaussian process with kernel B_tt' k(x, x'), where
B = (1 - rho) I + rho 11' correlates the tasks' weights: given the others, w_t has the mean r sum_i alpha_ti w_i, the
paper's prior. Its leave-one-out predictions cost one factorisation, so that everything a user would have to tune
is found by following the gradient of their score.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl._utils.cholesky import cholesky
from vmtl.data.rows import Rows
from vmtl.data.subsampling import thin
from vmtl.inference.features.kernel_map import CANDIDATES, KernelMap

#: Most rows on which everything is compared, and on which the best is then improved.
MAX_ROWS, MORE_ROWS = 320, 1000
#: Steps and first rate of both.
STEPS, RATE = 40, 0.15
MORE_STEPS, MORE_RATE = 15, 0.1
#: Nats by which columns as they are must beat standardised ones in a table of mixed units.
MIXED_UNITS = 5.0
#: Range of the logit scale.
SCALE_RANGE = (0.1, 40.0)


@dataclass(frozen=True)
class Belief:
    """What is believed before any row is seen.

    linear : share of the linear kernels together; pull : strength of that belief, in nats per kernel;
    centre, deviation : of logit rho, log lambda, log bias variance and log temperature.
    """

    linear: float
    pull: float
    centre: tuple[float, float, float, float]
    deviation: tuple[float, float, float, float]

    def shares(self) -> Tensor:
        """(V,) the shares of the kernels: the linear ones alike, the others alike."""
        linear = torch.tensor([kind == "linear" for _, kind, _ in CANDIDATES])
        return torch.where(linear, self.linear / linear.sum(), (1 - self.linear) / (~linear).sum()).double()


CLASSES = Belief(0.4, 0.1, (math.log(9), math.log(0.1), math.log(0.3), math.log(7)), (2.0, 2.5, 2**0.5, 0.5**0.5))
TARGETS = Belief(0.7, 0.3, (math.log(9), math.log(0.5), math.log(0.3), math.log(7)), (1.0, 2.0, 2**0.5, 0.5**0.5))


@dataclass(frozen=True)
class Selection:
    """What the training rows say about the model."""

    standardise: bool  # whether columns are divided by their deviation first
    shares: Tensor  # (V,) of the candidate kernels
    correlation: float  # rho between the weights of two tasks
    scale: float  # s0, of the logits or of the standardised target
    bias: float  # prior variance of the bias, in units of the kernel's
    noise: float  # deviation of the noise of a row of weight 1, in units of the standardised target


def select(rows: Rows, seed: int) -> Selection:
    """The better of columns as they are and standardised columns, by the leave-one-out score.

    Both are followed on few rows; the better one goes on from there on more of them.
    """
    rows = rows.cpu()
    few = rows.take(thin(rows, MAX_ROWS, seed))
    as_given, standardised = _climb(few, False), _climb(few, True)
    handicap = MIXED_UNITS if mixed_units(few.x) else 0.0
    best = standardised if standardised.loss < as_given.loss + handicap else as_given
    if len(rows.y) > len(few.y):
        best = _climb(rows.take(thin(rows, MORE_ROWS, seed)), best.found.standardise, best)
    return best.found


def mixed_units(x: Tensor) -> bool:
    """Whether x (n, D) looks like a table: few columns, one of which varies far more than the others."""
    deviation = x.double().std(0, unbiased=False)
    return x.shape[1] <= 100 and bool(deviation.max() > 10 * deviation.median())


@dataclass(frozen=True)
class _Peak:
    """The best place of a climb: minus its score, what it means, and where it is."""

    loss: float
    found: Selection
    log_shares: Tensor  # (V,)
    numbers: Tensor  # (4,) logit rho, log lambda, log bias variance, log temperature


def _climb(rows: Rows, standardise: bool, start: _Peak | None = None) -> _Peak:
    """Follow the gradient of the score over shares, rho, lambda, bias variance and temperature."""
    belief = CLASSES if rows.is_classification else TARGETS
    score = _Score(rows, belief, standardise)
    log_shares, numbers = belief.shares().log(), torch.tensor(belief.centre, dtype=torch.float64)
    steps, rate = STEPS, RATE
    if start is not None:
        log_shares, numbers, steps, rate = start.log_shares.clone(), start.numbers.clone(), MORE_STEPS, MORE_RATE
    optimiser = torch.optim.Adam([log_shares.requires_grad_(), numbers.requires_grad_()], lr=rate, betas=(0.8, 0.9))
    best = None
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = rate * (1 - 0.8 * step / steps)
        loss = score(log_shares, numbers)
        if float(loss.detach()) < (math.inf if best is None else best.loss):
            at = log_shares.detach().clone(), numbers.detach().clone()
            best = _Peak(float(loss.detach()), score.reading(at[0].softmax(0)), *at)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    if best is None:
        raise FloatingPointError("The features are too extreme to select a kernel; scale the columns of X.")
    return best


class _Score:
    """Minus the leave-one-out log likelihood, plus what departs from the prior.

    With A = B . (K + b) + lambda / weight and a = A^-1 y, the prediction of row n without row n is
    y_n - a_n / (A^-1)_nn; weights are in units of sum weight^2 / sum weight, so that they add up to the number of
    rows that count. Classification scores softmax(temperature * prediction); regression the Gaussian
    density of the left-out targets, its scale profiled out.
    """

    def __init__(self, rows: Rows, belief: Belief, standardise: bool) -> None:
        self.standardise, self.belief = standardise, belief
        self.unit = rows.unit
        self.weight = rows.weight.double() / self.unit
        self.kernels = KernelMap.learn(rows.x, self.weight, standardise).centred_kernels()  # (V, n, n)
        self.label = rows.y if rows.is_classification else None
        target = F.one_hot(rows.y, rows.n_classes).double() if rows.is_classification else rows.y.double()[:, None]
        self.target = target - (self.weight[:, None] * target).sum(0) / self.weight.sum()  # (n, C)
        self.same = (rows.task[:, None] == rows.task).double()
        self.prior = belief.shares()
        self.centre = torch.tensor(belief.centre, dtype=torch.float64)
        self.deviation = torch.tensor(belief.deviation, dtype=torch.float64)

    def __call__(self, log_shares: Tensor, numbers: Tensor) -> Tensor:
        rho = numbers[0].sigmoid()
        ridge, bias, temperature = numbers[1:].exp()
        kernel = torch.tensordot(log_shares.softmax(0), self.kernels, 1) + bias
        covariance = (rho + (1 - rho) * self.same) * kernel + torch.diag((ridge + 1e-4) / self.weight)
        inverse = torch.cholesky_inverse(cholesky(covariance))
        solved, diagonal = inverse @ self.target, inverse.diagonal()
        if self.label is not None:
            logits = temperature * (self.target - solved / diagonal[:, None])  # (n, C)
            nll = (self.weight * F.cross_entropy(logits, self.label, reduction="none")).sum()
            p = logits.detach().softmax(-1)
            curvature = (1 - p.square().sum(-1).mean()) / max(1, p.shape[1] - 1)
            self._scale = float((curvature * ridge.detach()).clamp_min(1e-6).rsqrt().clamp(*SCALE_RANGE))
            self._noise = 1.0
        else:
            n = self.weight.sum()
            square = (self.weight * solved[:, 0].square() / diagonal).sum() / n
            nll = 0.5 * n * square.clamp_min(1e-12).log() - 0.5 * (self.weight * diagonal.log()).sum()
            spread = (self.target * solved).sum().detach() / n
            self._scale = float(spread.clamp_min(1e-8).sqrt())
            self._noise = float((spread * (ridge.detach() + 1e-4) * self.unit).clamp_min(1e-8).sqrt())
        self._rho, self._bias = float(rho.detach()), float(bias.detach())
        pull = (self.prior * (self.prior.log() - log_shares.log_softmax(0))).sum()
        away = 0.5 * ((numbers - self.centre) / self.deviation).square().sum()
        return nll + self.belief.pull * len(self.prior) * pull + away

    def reading(self, shares: Tensor) -> Selection:
        """What the last call was about."""
        return Selection(self.standardise, shares, self._rho, self._scale, self._bias, self._noise)
