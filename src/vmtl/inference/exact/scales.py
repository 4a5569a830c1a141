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
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from vmtl._utils.cholesky import cholesky
from vmtl.data.rows import Rows
from vmtl.inference.exact.laplace import left_out_log_likelihood, log_evidence, posterior_mode
from vmtl.inference.exact.lattice import Place, explore
from vmtl.inference.exact.output_prior import SHARED_LEVEL, Dual, OutputPrior
from vmtl.inference.exact.posterior import Solution
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
class ScalePoint:
    """One prior of the outputs with what the rows say under it."""

    prior: OutputPrior
    strength: float  # m
    decay: float  # gamma
    noise: float  # deviation of a regression's noise; 1 of a classifier
    log_density: float  # log evidence + log belief
    log_accuracy: float  # the same by the squared errors of left-out rows; of a regression
    solution: Tensor  # (n, C) a = K^-1 f
    residuals: Tensor | None  # (n,) leave-one-out errors of a regression


@dataclass(frozen=True)
class ScalePosterior:
    """The points that the rows leave probable, with their probabilities."""

    dual: Dual
    points: list[ScalePoint]
    probability: Tensor  # (P,)
    log_evidence: float = 0.0  # of all points together, up to a constant that the rows share

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

    def join(self, other: ScalePosterior, part: float) -> ScalePosterior:
        """The average with ``part`` of another posterior."""
        probability = torch.cat([(1 - part) * self.probability, part * other.probability])
        return replace(self, points=self.points + other.points, probability=probability)

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
        return self.join(by_errors, 1 / (1 + EVEN_NOISE_ODDS * math.exp(-0.5 * z**2)))

    def solution(self) -> Solution:
        """The average of the points' solutions."""
        weighted = list(zip(self.probability.tolist(), self.points, strict=True))
        weights = torch.stack([p * self.dual.weights(point.solution, point.prior) for p, point in weighted]).sum(0)
        residuals = [p * point.residuals for p, point in weighted if point.residuals is not None]
        return Solution(weights, torch.stack(residuals).sum(0) if residuals else None)


def infer_scales(rows: Rows, structure: StructurePosterior, unit: float, start: float) -> ScalePosterior:
    """The posterior of the numbers, given who is like whom.

    unit : deviation of w . z, which the features have; start : s to begin at.
    """
    dual, belief = Dual.of(rows), belief_of(rows)
    weigh = _Classifier(dual) if rows.is_classification else _Regression(dual)
    shares = structure.at(1.0, 0.0).correlation > 0
    alone = not shares and dual.n_tasks > 1  # then levels are nobody else's business, too

    known: dict[Place, ScalePoint] = {}

    def evaluate(place: Place, near: ScalePoint | None) -> ScalePoint:
        if place not in known:
            known[place] = look(place, near)
        return known[place]

    def look(place: Place, near: ScalePoint | None) -> ScalePoint:
        numbers = [c + step * i for c, step, i in zip(belief.centre, STEP, place, strict=True)]
        strength = 1 / (1 + math.exp(-numbers[2])) if shares else 1.0
        levels = (SHARED_LEVEL, NOTHING) if alone else (math.exp(numbers[1]), SHARED_LEVEL)
        decay = math.exp(numbers[3])
        prior = OutputPrior(structure.at(strength, decay), math.exp(numbers[0]) / unit, *levels)
        surprise = sum((step * i / d) ** 2 for step, i, d in zip(STEP, place, belief.deviation, strict=True))
        return weigh(prior, (strength, decay), 0.5 * surprise, near)

    free = Place(1, 0 if alone or dual.n_tasks == 1 else 1, 1 if shares else 0, 1 if structure.is_placed else 0)
    far = round((math.log(start) - belief.centre[0]) / STEP[0])
    begin = Place(min(max(far, -FARTHEST), FARTHEST), 0, 0, 0)
    by_evidence = _weigh_points(dual, explore(begin, free, evaluate, _log_density), _log_density)
    if rows.is_classification:
        return by_evidence
    return by_evidence.hedged(_weigh_points(dual, explore(begin, free, evaluate, _log_accuracy), _log_accuracy))


def _log_density(point: ScalePoint) -> float:
    return point.log_density


def _log_accuracy(point: ScalePoint) -> float:
    return point.log_accuracy


def _weigh_points(dual: Dual, points: list[ScalePoint], density: Callable[[ScalePoint], float]) -> ScalePosterior:
    """The points that their ``density`` leaves probable."""
    densities = torch.tensor([density(point) for point in points], dtype=torch.float64)
    probability = densities.softmax(0)
    kept = (probability >= LEAST_PROBABILITY * probability.max()).nonzero().flatten().tolist()
    probability = probability[kept] / probability[kept].sum()
    return ScalePosterior(dual, [points[i] for i in kept], probability, float(densities.logsumexp(0)))


def belief_of(rows: Rows) -> ScaleBelief:
    """What is believed of the numbers before any row is seen."""
    if not rows.is_classification:
        return TARGETS
    return TWO_CLASSES if rows.n_classes == 2 else MANY_CLASSES


class _Classifier:
    """How well a prior of the outputs explains labels: the evidence of two classes, left-out rows of more.

    Laplace's evidence of many classes speaks for logits that are far too small.
    """

    def __init__(self, dual: Dual) -> None:
        self.dual = dual

    def __call__(
        self, prior: OutputPrior, sharing: tuple[float, float], surprise: float, near: ScalePoint | None
    ) -> ScalePoint:
        dual, kernel = self.dual, prior.kernel(self.dual.gram, self.dual.task)
        start = None if near is None else near.solution
        mode = posterior_mode(kernel, dual.y, dual.n_classes, dual.weight, start)
        explain = log_evidence if dual.n_classes == 2 else left_out_log_likelihood
        value = explain(kernel, mode, dual.y, dual.weight)
        return ScalePoint(prior, *sharing, 1.0, value - surprise, value - surprise, mode.solution, None)


class _Regression:
    """The evidence of targets, y ~ N(0, u^2 (K + 1 / weight)), at the unit u that suits them best."""

    def __init__(self, dual: Dual) -> None:
        self.dual = dual
        self.unit = float(dual.weight.square().sum() / dual.weight.sum())

    def __call__(
        self, prior: OutputPrior, sharing: tuple[float, float], surprise: float, near: ScalePoint | None
    ) -> ScalePoint:
        dual, y = self.dual, self.dual.y.double()
        weight = dual.weight / self.unit
        covariance = prior.kernel(dual.gram, dual.task)
        covariance.diagonal().add_(1 / weight)
        factor = cholesky(covariance)
        inverse = torch.cholesky_inverse(factor)
        solution, count = inverse @ y, weight.sum()
        square = float((y @ solution / count).clamp_min(1e-12))
        evidence = -0.5 * float(count) * math.log(square) - float(factor.diagonal().log().sum())
        residuals = solution / inverse.diagonal()
        error = float((weight @ residuals.square() / count).clamp_min(1e-12))
        u = square**0.5
        scaled_prior = OutputPrior(prior.covariance, u * prior.scale, u * prior.task_level, u * prior.shared_level)
        return ScalePoint(
            scaled_prior,
            *sharing,
            u * self.unit**0.5,
            evidence - surprise,
            -0.5 * float(count) * math.log(error) - surprise,
            solution[:, None] / square,
            dual.to_all_rows(residuals),
        )
