"""Kernel shares, which columns count, task correlation and scales.

Everything that a user would have to tune is found by following gradients: that of ``LeaveOneOutScore`` tells which
kinds of kernels suit the rows, that of ``EvidenceScore`` how much each column counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from vmtl._utils.minimise import Adam
from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_rows
from vmtl.inference.features.candidate_kernels import CANDIDATES
from vmtl.inference.features.evidence_score import EvidenceScore
from vmtl.inference.features.kernel_map import name_shares
from vmtl.inference.features.leave_one_out import LeaveOneOutScore
from vmtl.inference.features.score import CLASSES, Evaluation, Score
from vmtl.inference.features.views import is_table

#: Most rows on which kernels are compared, and on which the better ones are refined.
COMPARED_ROWS, REFINED_ROWS = 320, 500
#: Steps and first rate of the comparison, and of the refinement.
STEPS, RATE = 15, 0.25
NEXT_STEPS, NEXT_RATE = 20, 0.15
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
    relevance: Tensor | None = None  # (D,) of the columns of a table; all alike if None

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
ASSUMED = KernelSelection(
    standardise=False,
    shares=CLASSES.shares(),
    correlation=0.9,
    scale=5.0,
    bias=1.0,
    noise=0.5,
)


def assume_kernel(rows: Rows, seed: int) -> KernelSelection:
    """What is believed of any rows, without looking at them."""
    return ASSUMED


def select_kernel(rows: Rows, seed: int) -> KernelSelection:
    """The better of columns as they are and standardised columns, by the leave-one-out score.

    Both are followed on few of the raw rows; the better one goes on from there on more of them. In a table the evidence
    then decides, and with it how much each column counts.
    """
    rows = rows.cpu()
    few = rows.take(subsample_rows(rows, COMPARED_ROWS, seed))
    as_given, standardised = (_compare(few, standardise) for standardise in (False, True))
    handicap = MIXED_UNITS if mixed_units(few.x) else 0.0
    best = standardised if standardised.loss < as_given.loss + handicap else as_given
    return _refine(rows.take(subsample_rows(rows, REFINED_ROWS, seed)), best).selection


def mixed_units(x: Tensor) -> bool:
    """Whether x (n, D) looks like a table: few columns, one of which varies far more than the others."""
    deviation = x.double().std(0, unbiased=False)
    return is_table(x.shape[1]) and bool(deviation.max() > 10 * deviation.median())


@dataclass(frozen=True)
class _Peak:
    """The best place of a climb: minus its score, what it means, and where it is."""

    loss: float
    selection: KernelSelection
    place: tuple[Tensor, ...]  # log shares (V,), numbers (4,), of a table also log relevances (D,)


def _compare(rows: Rows, standardise: bool) -> _Peak:
    """The best kernel for left-out rows, from what is believed on."""
    score = LeaveOneOutScore(rows, standardise)
    start = score.belief.shares(score.numbers).log(), torch.tensor(score.belief.centre, dtype=torch.float64)
    return _climb(score, start, STEPS, RATE)


def _refine(rows: Rows, start: _Peak) -> _Peak:
    """``start`` improved on more rows: of a table by the evidence, with the relevance of its columns."""
    n_columns, standardise = rows.x.shape[1], start.selection.standardise
    if not is_table(n_columns):
        return _climb(LeaveOneOutScore(rows, standardise), start.place, NEXT_STEPS, NEXT_RATE)
    relevance = torch.zeros(n_columns, dtype=torch.float64)
    return _climb(EvidenceScore(rows, standardise), (*start.place, relevance), NEXT_STEPS, NEXT_RATE)


def _climb(score: Score, start: tuple[Tensor, ...], steps: int, rate: float) -> _Peak:
    """Follow the gradient of the score from ``start`` on, all that is there."""
    place = [part.clone().requires_grad_() for part in start]
    optimiser = Adam(place, betas=(0.8, 0.9))
    best, lowest = None, math.inf
    for step in range(steps):
        here = score(*place)
        if (loss := float(here.loss.detach())) < lowest:
            best, lowest = _peak(score, here, loss, place), loss
        here.loss.backward()
        optimiser.step(rate * (1 - 0.8 * step / steps))
    if best is None:
        raise FloatingPointError("The features are too extreme to select a kernel; scale the columns of X.")
    return best


def _peak(score: Score, here: Evaluation, loss: float, place: list[Tensor]) -> _Peak:
    """What the place means."""
    log_shares, numbers, *rest = (part.detach().clone() for part in place)
    shares = torch.zeros(len(CANDIDATES), dtype=torch.float64)
    shares[score.numbers] = log_shares.softmax(0)
    relevance = rest[0].exp() if rest else None
    scales = here.correlation, here.scale, here.bias, here.noise
    return _Peak(loss, KernelSelection(score.standardise, shares, *scales, relevance), (log_shares, numbers, *rest))
