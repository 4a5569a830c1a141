"""What the scores of a kernel have in common: targets, what is believed, and what a point says about the model.

The exact Gaussian version of the model is a least-squares Gaussian process with kernel B_tt' k(x, x'), where
B = (1 - rho) I + rho 11' correlates the tasks' weights: given the others, w_t has the mean r sum_i alpha_ti w_i, the
paper's prior. With A = B . (K + b) + lambda / weight, its predictions, left-out rows and evidence follow from A^-1 y.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.data.rows import Rows
from vmtl.inference.features.candidate_kernels import CANDIDATES, candidates_for

#: Range of the logit scale.
SCALE_RANGE = (0.1, 40.0)
#: The least ridge: what rounding needs.
LEAST_RIDGE = 1e-4


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

    def shares(self, numbers: Sequence[int] = range(len(CANDIDATES))) -> Tensor:
        """(V,) the shares of the candidates ``numbers``: the linear ones alike, the others alike."""
        linear = torch.tensor([CANDIDATES[v].kind == "linear" for v in numbers])
        return torch.where(linear, self.linear / linear.sum(), (1 - self.linear) / (~linear).sum()).double()


CLASSES = Belief(0.4, 0.1, (math.log(9), math.log(0.1), math.log(0.3), math.log(7)), (2.0, 2.5, 2**0.5, 0.5**0.5))
TARGETS = Belief(0.7, 0.3, (math.log(9), math.log(0.5), math.log(0.3), math.log(7)), (1.0, 2.0, 2**0.5, 0.5**0.5))


def belief_of(rows: Rows) -> Belief:
    return CLASSES if rows.is_classification else TARGETS


@dataclass(frozen=True)
class Evaluation:
    """The score at one point, to be minimised, and what the point says about the model."""

    loss: Tensor  # with its gradient
    correlation: float  # rho
    scale: float  # s0
    bias: float  # prior variance
    noise: float  # deviation


class Score:
    """What the scores of a kernel have in common: targets, what is believed, and what a point says about the model.

    Parameters
    ----------
    rows : Rows
        The raw rows that are looked at.
    standardise : bool
        Whether columns are divided by their deviation first.
    """

    def __init__(self, rows: Rows, standardise: bool) -> None:
        self.standardise, self.belief, self.unit = standardise, belief_of(rows), rows.unit
        self.numbers = candidates_for(rows.x.shape[1])
        self.weight = rows.weight.double() / self.unit
        self.label = rows.y if rows.is_classification else None
        target = F.one_hot(rows.y, rows.n_classes).double() if rows.is_classification else rows.y.double()[:, None]
        self.target = target - (self.weight[:, None] * target).sum(0) / self.weight.sum()  # (n, C)
        self.same_task = (rows.task[:, None] == rows.task).double()

    def __call__(self, *place: Tensor) -> Evaluation:
        """At log shares (V,), the numbers (4,) logit rho, log lambda, log b and log temperature, and what else a score
        knows."""
        raise NotImplementedError

    def left_out_logits(self, solved: Tensor, diagonal: Tensor, temperature: Tensor) -> Tensor:
        """temperature (y_n - a_n / (A^-1)_nn) of a = ``solved``: (n, C)."""
        return temperature * (self.target - solved / diagonal[:, None])

    def read_scales(self, solved: Tensor, diagonal: Tensor, ridge: Tensor, temperature: Tensor) -> tuple[float, float]:
        """s0 and the deviation of the noise: of a classifier the scale of logits whose softmax is as curved as least
        squares, and no noise; else those of the standardised target."""
        if self.label is not None:
            p = self.left_out_logits(solved, diagonal, temperature).softmax(-1)
            curvature = (1 - p.square().sum(-1).mean()) / max(1, p.shape[1] - 1)
            return float((curvature * ridge).clamp_min(1e-6).rsqrt().clamp(*SCALE_RANGE)), 1.0
        variance = (self.target * solved).sum() / self.weight.sum()
        noise = (variance * (ridge + LEAST_RIDGE) * self.unit).clamp_min(1e-8).sqrt()
        return float(variance.clamp_min(1e-8).sqrt()), float(noise)

    def surprise_of_shares(self, log_shares: Tensor) -> Tensor:
        """pull V KL(believed shares || shares), in nats."""
        believed = self.belief.shares(self.numbers)
        divergence = (believed * (believed.log() - log_shares.log_softmax(0))).sum()
        return self.belief.pull * len(believed) * divergence

    def surprise_of_numbers(self, numbers: Tensor) -> Tensor:
        """-log density of the first numbers up to a constant."""
        centre = torch.tensor(self.belief.centre, dtype=torch.float64)[: len(numbers)]
        deviation = torch.tensor(self.belief.deviation, dtype=torch.float64)[: len(numbers)]
        return 0.5 * ((numbers - centre) / deviation).square().sum()
