"""The search for s, tau, m and gamma, and for isolated tasks.

A coordinate search on a lattice, from a place that the choice of the kernel suggests, scores each point by held-out
rows and the prior. The solution is the average over all points that were visited, by their probability: a set of
weights again, so that it costs no prediction time, and a near tie does not decide anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Literal

import torch
from torch import Tensor

from vmtl.gp.latent_prior import Gram, LatentPrior
from vmtl.gp.likelihoods import Evaluation, Likelihood
from vmtl.gp.positions.task_positions import TaskPositions
from vmtl.gp.priors import (
    SHARED_LEVEL,
    STEP,
    Place,
    Prior,
    log_prior,
    log_prior_isolated,
    values_at,
)
from vmtl.gp.task_covariance import TaskCovariance, exchangeable, positioned

#: What tasks may share: as positions and held-out rows say; the same with every task; nothing; or everything.
Relatedness = Literal["learned", "even", "none", "pooled"]
#: Points with less than this part of the probability of the best do not count in averages.
LEAST_PROBABILITY = 0.005
#: Farthest from the prior's centre that a search may begin, in steps.
FARTHEST = 4
#: A deviation that switches a level off.
NO_LEVEL = 1e-6


@dataclass(frozen=True)
class Point:
    """A point of the lattice with its score."""

    place: Place
    isolated: Tensor  # (T,)
    log_joint: float  # log score + log prior
    evaluation: Evaluation


@dataclass(frozen=True)
class HyperparameterPosterior:
    """Points that the rows leave probable, and the probability of each."""

    points: list[Point]
    probability: Tensor  # (P,)
    prior: Prior

    @classmethod
    def of(cls, points: list[Point], prior: Prior) -> HyperparameterPosterior:
        probability = torch.tensor([point.log_joint for point in points], dtype=torch.float64).softmax(0)
        kept = (probability >= LEAST_PROBABILITY * probability.max()).nonzero().flatten().tolist()
        return cls([points[i] for i in kept], probability[kept] / probability[kept].sum(), prior)

    @property
    def best(self) -> Point:
        return self.points[int(self.probability.argmax())]

    def mean(self, number: Callable[[Point], float]) -> float:
        """The expectation of a positive number: exp of the mean of its log."""
        logs = torch.tensor([math.log(max(number(point), 1e-300)) for point in self.points], dtype=torch.float64)
        return math.exp(float(self.probability @ logs))

    def average(self, values: Callable[[Evaluation], Tensor]) -> Tensor:
        """The expectation of tensors."""
        weighted = zip(self.probability.tolist(), self.points, strict=True)
        return torch.stack([p * values(point.evaluation) for p, point in weighted]).sum(0)

    @property
    def strength(self) -> float:
        """m."""
        return self.mean(lambda point: _logistic(values_at(point.place, self.prior).strength))

    @property
    def decay(self) -> float:
        """gamma."""
        return self.mean(lambda point: math.exp(values_at(point.place, self.prior).decay))

    @property
    def noise(self) -> float:
        return self.mean(lambda point: point.evaluation.noise)

    def latent_prior(self, covariance: TaskCovariance) -> LatentPrior:
        """One prior in the middle of all, with B = ``covariance``."""
        return LatentPrior(
            covariance,
            self.mean(lambda point: point.evaluation.prior.scale),
            self.mean(lambda point: point.evaluation.prior.task_level),
            self.mean(lambda point: point.evaluation.prior.shared_level),
        )

    def draw_sharing(self, draws: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """(S,) draws of m, and of gamma."""
        which = torch.multinomial(self.probability, draws, replacement=True, generator=generator)
        values = [values_at(point.place, self.prior) for point in self.points]
        numbers = torch.tensor([(_logistic(v.strength), math.exp(v.decay)) for v in values], dtype=torch.float64)[which]
        return numbers[:, 0], numbers[:, 1]

    def weights(self, gram: Gram) -> Tensor:
        """(T, L, K + 1) the average of the points' posterior means, or modes."""
        return self.average(lambda found: gram.weights(found.dual, found.prior))


class HyperparameterSearch:
    """The lattice of one training set; what was evaluated once is kept.

    Parameters
    ----------
    likelihood : Likelihood
        Scores a prior of the latent function.
    prior : Prior
        The prior of the numbers.
    relatedness : {"learned", "even", "none", "pooled"}
        What tasks may share.
    positions : TaskPositions
        Where tasks lie, if that is learned.
    task : Tensor of shape (n,)
        The task of each row.
    """

    def __init__(
        self, likelihood: Likelihood, prior: Prior, relatedness: Relatedness, positions: TaskPositions, task: Tensor
    ) -> None:
        self.likelihood, self.prior, self.relatedness = likelihood, prior, relatedness
        self.positions, self.task, self.n_tasks = positions, task, len(positions.points)
        shares = relatedness in ("learned", "even") and self.n_tasks > 1
        has_positions = relatedness == "learned" and positions.points.shape[1] > 0
        self.free = Place(True, self.n_tasks > 1 and relatedness not in ("pooled",), shares, shares and has_positions)
        self.nobody = torch.zeros(self.n_tasks, dtype=torch.bool)
        self._known: dict[tuple[Place, tuple[bool, ...]], Point] = {}

    def run(self, signal_to_noise: float) -> HyperparameterPosterior:
        """The posterior of the numbers; s begins at ``signal_to_noise``."""
        steps = round((math.log(signal_to_noise) - self.prior.centre.scale) / STEP.scale)
        begin = Place(max(-FARTHEST, min(FARTHEST, steps)), 0, 0, 0)
        best = self.climb(self.evaluate(begin, self.nobody), self.free)
        if self.relatedness == "learned" and self.n_tasks > 2:
            best = self._isolate(best)
        points = [point for point in self._known.values() if torch.equal(point.isolated, best.isolated)]
        return HyperparameterPosterior.of(points, self.prior)

    def climb(self, best: Point, free: Place) -> Point:
        """Along each number that is ``free`` as long as it pays, until none does."""
        axes, before = [axis for axis, may in enumerate(free) if may], None
        while best is not before:
            before = best
            for axis, step in product(axes, (1, -1)):
                while True:
                    place = Place(*(value + step * (i == axis) for i, value in enumerate(best.place)))
                    tried = self.evaluate(place, best.isolated)
                    if tried.log_joint <= best.log_joint:
                        break
                    best = tried
        return best

    def _isolate(self, best: Point) -> Point:
        """Greedily isolate the task that others mislead most, as long as all held-out rows gain more than that costs."""
        while True:
            alone = self.likelihood.evaluate(self._latent_prior(best.place, ~self.nobody))
            gain = torch.zeros(self.n_tasks, dtype=torch.float64)
            gain.index_add_(0, self.task, alone.by_row - best.evaluation.by_row)
            gain[best.isolated] = -math.inf
            worst = int(gain.argmax())
            if gain[worst] <= 0 or int((~best.isolated).sum()) <= 2:
                return best
            isolated = best.isolated.clone()
            isolated[worst] = True
            tried = self.climb(self.evaluate(best.place, isolated), Place(False, False, True, False))
            if tried.log_joint <= best.log_joint:
                return best
            best = self.climb(tried, self.free)

    def evaluate(self, place: Place, isolated: Tensor) -> Point:
        """The point at a place of the lattice."""
        key = place, tuple(isolated.tolist())
        if key not in self._known:
            prior = self._latent_prior(place, isolated)
            found = self.likelihood.evaluate(prior)
            cost = int(isolated.sum()) * log_prior_isolated(self.n_tasks)
            log_joint = found.log_score + log_prior(place, self.prior) + cost
            self._known[key] = Point(place, isolated, log_joint, found)
        return self._known[key]

    def _latent_prior(self, place: Place, isolated: Tensor) -> LatentPrior:
        values = values_at(place, self.prior)
        covariance = self.covariance(_logistic(values.strength), math.exp(values.decay), isolated)
        levels = {
            "none": (SHARED_LEVEL, NO_LEVEL),
            "pooled": (NO_LEVEL, SHARED_LEVEL),
        }.get(self.relatedness, (math.exp(values.level), SHARED_LEVEL))
        return LatentPrior(covariance, math.exp(values.scale), *levels)

    def covariance(self, strength: float, decay: float, isolated: Tensor) -> TaskCovariance:
        """B."""
        if self.relatedness == "none" or self.n_tasks == 1:
            return exchangeable(self.n_tasks, 0.0)
        if self.relatedness == "pooled":
            return exchangeable(self.n_tasks, 1.0)
        if self.free.decay:
            return positioned(self.positions.points, strength, decay, isolated)
        return exchangeable(self.n_tasks, strength, isolated)


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))
