"""How large the signal is, how far tasks differ in level, how strongly they share.

Four numbers decide how far a model of few rows may go: log s of the slopes, log tau of the tasks' levels, the strength
m of sharing, by which B becomes m B + (1 - m) I and which makes rho, the mean of B between two tasks, and gamma, how
fast likeness falls with the distance of two tasks. A point estimate of them by a noisy score is what makes a classifier
of 60 rows overconfident. So they have priors, their posterior is explored on a lattice from its start
outwards, and the solution is the average over all points that the rows leave probable (as in integrated nested Laplace
approximations: Rue, Martino and Chopin, 2009). The average of weights is a set of weights again: it costs no
prediction time.

The evidence of a point is Laplace's approximation of a classifier, exact of a regression, whose numbers are in
units of a noise that is profiled out. It takes that noise to be the same in all rows. Where some rows hardly have any,
such as counts that are mostly 0, it can find a noise that is far too small, and the other rows are interpolated
(Grünwald and van Ommen, 2017). The squared errors of left-out rows know better then: the posterior is hedged by them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.inference.exact.lattice import Place, climb, explore
from vmtl.inference.exact.output_prior import SHARED_LEVEL, Dual, OutputPrior
from vmtl.inference.exact.posterior import Solution
from vmtl.inference.exact.scale_point import ClassifierPoints, RegressionPoints, ScalePoint
from vmtl.inference.structure.covariance import TaskCovariance
from vmtl.inference.structure.structure_posterior import StructurePosterior


class ScaleBelief(NamedTuple):
    """Centre and deviation of log s, log tau, logit m and log gamma before any row is seen."""

    centre: tuple[float, float, float, float]
    deviation: tuple[float, float, float, float]


#: Of the logits of two classes and of more; and of targets in units of their noise.
TWO_CLASSES = ScaleBelief((math.log(0.6), math.log(0.3), 2.2, -2.0), (0.8, 1.0, 1.0, 2.0))
MANY_CLASSES = ScaleBelief((math.log(1.5), math.log(0.3), 2.2, -2.0), (1.0, 1.0, 2.0, 2.0))
TARGETS = ScaleBelief((math.log(1.5), math.log(0.5), 2.2, -2.0), (1.2, 1.2, 1.0, 2.0))
#: Step of the lattice in log s, log tau, logit m and log gamma.
STEP = (0.5, 1.0, 1.0, 1.0)
#: Steps from the centre of the belief at most at which the search begins.
FARTHEST = 4
#: The deviation of a level that is not there.
NOTHING = 1e-6
#: Points with less than this part of the probability do not count.
LEAST_PROBABILITY = 0.005
#: Odds, before any row is seen, that a regression's noise is the same in all rows.
EVEN_NOISE_ODDS = 9.0


@dataclass(frozen=True)
class ScalePosterior:
    """The points that the rows leave probable, with their probabilities."""

    dual: Dual
    points: list[ScalePoint]
    probability: Tensor  # (P,)
    log_evidence: float = 0.0  # a bound of it by all points together, up to a constant that the rows share

    def mean(self, number: Callable[[ScalePoint], float]) -> float:
        """The expectation of a positive number: exp of the mean of its log."""
        logs = torch.tensor([math.log(number(point)) for point in self.points], dtype=torch.float64)
        return math.exp(float(self.probability @ logs))

    @property
    def strength(self) -> float:
        """m."""
        return self.mean(lambda point: point.strength)

    @property
    def decay(self) -> float:
        """gamma."""
        return self.mean(lambda point: point.decay)

    def draw_sharing(self, draws: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """(S,) draws of m, and of gamma."""
        which = torch.multinomial(self.probability, draws, replacement=True, generator=generator)
        numbers = torch.tensor([(point.strength, point.decay) for point in self.points], dtype=torch.float64)[which]
        return numbers[:, 0], numbers[:, 1]

    def most_probable(self) -> ScalePosterior:
        """The best point alone."""
        best = int(self.probability.argmax())
        return replace(self, points=[self.points[best]], probability=torch.ones(1, dtype=torch.float64))

    @classmethod
    def average(cls, posteriors: Sequence[ScalePosterior], share: Tensor) -> ScalePosterior:
        """All points of ``posteriors`` of the same rows, each posterior with its ``share`` (R,) of the probability."""
        points = [point for one in posteriors for point in one.points]
        probability = torch.cat([part * one.probability for part, one in zip(share, posteriors, strict=True)])
        kept = (probability >= LEAST_PROBABILITY * probability.max()).nonzero().flatten()
        probability = probability[kept] / probability[kept].sum()
        return replace(posteriors[0], points=[points[i] for i in kept.tolist()], probability=probability)

    @property
    def noise(self) -> float:
        return self.mean(lambda point: point.noise)

    def prior(self, covariance: TaskCovariance) -> OutputPrior:
        """One prior of the outputs in the middle of all, with B = ``covariance``."""
        return OutputPrior(
            covariance,
            self.mean(lambda point: point.prior.scale),
            self.mean(lambda point: point.prior.task_level),
            self.mean(lambda point: point.prior.shared_level),
        )

    def hedged(self, by_errors: ScalePosterior) -> ScalePosterior:
        """The average with the points that predict left-out rows best, as far as these are better than by chance.

        log odds = z^2 / 2 - log 9,    z = sum_n d_n / (sum_n (d_n - mean d)^2)^1/2,    d_n = e_n^2 - e'_n^2

        where e, e' = the left-out errors of these points and of ``by_errors``, weighted like the rows. It only applies
        where the latter find more noise: that the evidence finds too little of it is the fault that is known.
        """
        before, after = (one.solution().residuals for one in (self, by_errors))
        if before is None or after is None or by_errors.noise <= self.noise:
            return self
        gain = self.dual.weight * (before.square() - after.square())[self.dual.counted]  # (n,) d
        z = float(gain.sum() / (gain - gain.mean()).square().sum().sqrt().clamp_min(1e-300))
        if z <= 0:
            return self
        part = 1 / (1 + EVEN_NOISE_ODDS * math.exp(-0.5 * z**2))
        return ScalePosterior.average([self, by_errors], torch.tensor([1 - part, part], dtype=torch.float64))

    def solution(self) -> Solution:
        """The average of the points' solutions."""
        weighted = list(zip(self.probability.tolist(), self.points, strict=True))
        weights = torch.stack([p * self.dual.weights(point.solution, point.prior) for p, point in weighted]).sum(0)
        residuals = [p * point.residuals for p, point in weighted if point.residuals is not None]
        return Solution(weights, torch.stack(residuals).sum(0) if residuals else None)


class ScaleSearch:
    """The numbers given who is like whom; what was looked at once is known.

    Parameters
    ----------
    rows : Rows
        The feature rows that are looked at.
    structure : StructurePosterior
        Who is like whom.
    unit : float
        Deviation of w . z, which the features have.
    """

    def __init__(self, rows: Rows, structure: StructurePosterior, unit: float) -> None:
        self.rows, self.structure, self.unit = rows, structure, unit
        self.dual, self.belief = Dual.of(rows), belief_of(rows)
        self._weigh = ClassifierPoints(self.dual) if rows.is_classification else RegressionPoints(self.dual)
        self.shares = structure.at(1.0, 0.0).correlation > 0
        self.alone = not self.shares and self.dual.n_tasks > 1  # then levels are nobody else's business, too
        level = 0 if self.alone or self.dual.n_tasks == 1 else 1
        self.free = Place(1, level, 1 if self.shares else 0, 1 if structure.is_placed else 0)
        self._known: dict[Place, ScalePoint] = {}

    def place_of(self, scale: float) -> Place:
        """Where s = ``scale`` and all else is as believed."""
        far = round((math.log(scale) - self.belief.centre[0]) / STEP[0])
        return Place(min(max(far, -FARTHEST), FARTHEST), 0, 0, 0)

    def climb(self, begin: Place, *, sharing_alone: bool = False) -> tuple[Place, ScalePoint]:
        """The best place uphill from ``begin``, and its point; with the s and tau of ``begin`` if only m and gamma may
        change."""
        density = self._density
        free = self.free._replace(scale=0, level=0) if sharing_alone else self.free
        points = climb(begin, free, self._evaluate, density)
        return max(points.items(), key=lambda found: density(found[1]))

    def posterior(self, begin: Place) -> ScalePosterior:
        """All that the rows leave probable, found from ``begin`` on."""
        found = self._explore(begin, self._density)
        if self.rows.is_classification:
            return found
        return found.hedged(self._explore(begin, _log_left_out))

    @property
    def _density(self) -> Callable[[ScalePoint], float]:
        """By what points are weighed."""
        return _log_left_out if self.rows.n_classes > 2 else _log_joint

    def _explore(self, begin: Place, density: Callable[[ScalePoint], float]) -> ScalePosterior:
        return _weigh_points(self.dual, list(explore(begin, self.free, self._evaluate, density).values()), density)

    def _evaluate(self, place: Place, near: ScalePoint | None) -> ScalePoint:
        if place not in self._known:
            self._known[place] = self._look(place, near)
        return self._known[place]

    def _look(self, place: Place, near: ScalePoint | None) -> ScalePoint:
        centre, deviation = self.belief
        numbers = [c + step * i for c, step, i in zip(centre, STEP, place, strict=True)]
        strength = 1 / (1 + math.exp(-numbers[2])) if self.shares else 1.0
        levels = (SHARED_LEVEL, NOTHING) if self.alone else (math.exp(numbers[1]), SHARED_LEVEL)
        decay = math.exp(numbers[3])
        prior = OutputPrior(self.structure.at(strength, decay), math.exp(numbers[0]) / self.unit, *levels)
        surprise = sum((step * i / d) ** 2 for step, i, d in zip(STEP, place, deviation, strict=True))
        return self._weigh(prior, (strength, decay), 0.5 * surprise, near)


def infer_scales(rows: Rows, structure: StructurePosterior, unit: float, start: float) -> ScalePosterior:
    """The posterior of the numbers, given who is like whom.

    unit : deviation of w . z, which the features have; start : s to begin at.
    """
    search = ScaleSearch(rows, structure, unit)
    return search.posterior(search.place_of(start))


def _log_joint(point: ScalePoint) -> float:
    return point.log_joint


def _log_left_out(point: ScalePoint) -> float:
    return point.log_left_out


def _weigh_points(dual: Dual, points: list[ScalePoint], density: Callable[[ScalePoint], float]) -> ScalePosterior:
    """The points that their ``density`` leaves probable, with the bound sum_p q_p (log joint_p - log q_p) of the log
    evidence by these probabilities q; it is the log of the sum where they are those of the joint density."""
    probability = torch.tensor([density(point) for point in points], dtype=torch.float64).softmax(0)
    joint = torch.tensor([point.log_joint for point in points], dtype=torch.float64)
    bound = float(probability @ joint + torch.special.entr(probability).sum())
    kept = (probability >= LEAST_PROBABILITY * probability.max()).nonzero().flatten().tolist()
    probability = probability[kept] / probability[kept].sum()
    return ScalePosterior(dual, [points[i] for i in kept], probability, bound)


def belief_of(rows: Rows) -> ScaleBelief:
    """What is believed of the numbers before any row is seen."""
    if not rows.is_classification:
        return TARGETS
    return TWO_CLASSES if rows.n_classes == 2 else MANY_CLASSES
