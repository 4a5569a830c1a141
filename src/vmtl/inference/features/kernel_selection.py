"""Step 1 of the exact way: kernel shares, task correlation and scales, by closed-form leave-one-out.

Everything that a user would have to tune is found by following the gradient of ``LeaveOneOutScore``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_rows
from vmtl.inference.features.kernel_map import name_shares
from vmtl.inference.features.leave_one_out import CLASSES, LeaveOneOutScore

#: Most rows on which everything is compared, and on which the best is then improved.
COMPARED_ROWS, MORE_ROWS = 320, 700
#: Steps and first rate of the comparison, of the better of the two, and of the last one on more rows.
STEPS, RATE = 15, 0.25
NEXT_STEPS, NEXT_RATE = 20, 0.15
MORE_STEPS, MORE_RATE = 12, 0.1
#: Nats by which columns as they are must beat standardised ones in a table of mixed units.
MIXED_UNITS = 5.0


@dataclass(frozen=True)
class KernelSelection:
    """The kernel, and the scales of a model in which all tasks are alike."""

    standardise: bool  # whether columns are divided by their deviation first
    shares: Tensor  # (V,) of the candidate kernels
    correlation: float  # rho between the weights of two tasks
    scale: float  # s0, of the logits or of the standardised target
    bias: float  # prior variance of the bias, in units of the kernel's
    noise: float  # deviation of the noise of a row of weight 1, in units of the standardised target

    def named_shares(self) -> dict[str, float]:
        """The share of every kernel that is part of the mixture, by its name."""
        return name_shares(self.shares)

    @property
    def feature_scale(self) -> float:
        """Features are multiplied by it, so that the bias has the prior variance 1 like every other weight."""
        return float(self.bias**-0.5)

    @property
    def signal_to_noise(self) -> float:
        """s0 of the logits, or of the target in units of its noise."""
        return float(self.scale / self.noise)

    def logit_scale(self, scale: float) -> float:
        """The factor of w . [z; 1] that gives outputs of this ``scale`` on such features."""
        return float(scale * self.bias**0.5)


#: What is assumed where nothing is selected: other encoders than the kernel, or one per task.
ASSUMED = KernelSelection(standardise=False, shares=CLASSES.shares(), correlation=0.9, scale=5.0, bias=1.0, noise=0.5)


def assume_kernel(rows: Rows, seed: int) -> KernelSelection:
    """What is believed of any rows, without looking at them."""
    return ASSUMED


def select_kernel(rows: Rows, seed: int) -> KernelSelection:
    """The better of columns as they are and standardised columns, by the leave-one-out score.

    Both are followed on few of the raw rows; the better one goes on from there, last on more of them.
    """
    rows = rows.cpu()
    few = rows.take(subsample_rows(rows, COMPARED_ROWS, seed))
    scores = {standardise: LeaveOneOutScore(few, standardise) for standardise in (False, True)}
    as_given, standardised = (_climb(score, STEPS, RATE) for score in scores.values())
    handicap = MIXED_UNITS if mixed_units(few.x) else 0.0
    best = standardised if standardised.loss < as_given.loss + handicap else as_given
    standardise = best.selection.standardise
    best = _climb(scores[standardise], NEXT_STEPS, NEXT_RATE, best)
    if len(rows.y) > len(few.y):
        more = rows.take(subsample_rows(rows, MORE_ROWS, seed))
        best = _climb(LeaveOneOutScore(more, standardise), MORE_STEPS, MORE_RATE, best)
    return best.selection


def mixed_units(x: Tensor) -> bool:
    """Whether x (n, D) looks like a table: few columns, one of which varies far more than the others."""
    deviation = x.double().std(0, unbiased=False)
    return x.shape[1] <= 100 and bool(deviation.max() > 10 * deviation.median())


@dataclass(frozen=True)
class _Peak:
    """The best place of a climb: minus its score, what it means, and where it is."""

    loss: float
    selection: KernelSelection
    log_shares: Tensor  # (V,)
    numbers: Tensor  # (4,) logit rho, log lambda, log bias variance, log temperature


def _climb(score: LeaveOneOutScore, steps: int, rate: float, start: _Peak | None = None) -> _Peak:
    """Follow the gradient of the score over shares, rho, lambda, bias variance and temperature."""
    belief, standardise = score.belief, score.standardise
    log_shares, numbers = belief.shares().log(), torch.tensor(belief.centre, dtype=torch.float64)
    if start is not None:
        log_shares, numbers = start.log_shares.clone(), start.numbers.clone()
    optimiser = torch.optim.Adam([log_shares.requires_grad_(), numbers.requires_grad_()], lr=rate, betas=(0.8, 0.9))
    best, lowest = None, math.inf
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = rate * (1 - 0.8 * step / steps)
        here = score(log_shares, numbers)
        if (loss := float(here.loss.detach())) < lowest:
            place = log_shares.detach().clone(), numbers.detach().clone()
            scales = here.correlation, here.scale, here.bias, here.noise
            best, lowest = _Peak(loss, KernelSelection(standardise, place[0].softmax(0), *scales), *place), loss
        optimiser.zero_grad()
        here.loss.backward()
        optimiser.step()
    if best is None:
        raise FloatingPointError("The features are too extreme to select a kernel; scale the columns of X.")
    return best
