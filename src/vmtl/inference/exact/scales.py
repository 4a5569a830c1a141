"""How large the signal is, how far tasks differ in level, how strongly they share.

Four numbers decide how far a model of few rows may go: log s of the slopes, log tau of the tasks' levels, the strength
m of sharing, by which B becomes m B + (1 - m) I and which makes rho, the mean of B between two tasks, and gamma, how
fast likeness falls with the distance of two tasks. A point estimate of them by a noisy score is what makes a classifier
of 60 rows overconfident. So they have priors, their posterior is explored on a lattice from its start
outwards, and the solution is the average over all points that the rows leave probable (as in integrated nested Laplace
approximations: Rue, Martino and Chopin, 2009). The average of weights is a set of weights again: it costs no
prediction time.

The evidence of a point is Laplace's approximation of a classifier, exact of a regression, whose numbers are in
units of a noise that is profiled out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor

from vmtl._utils.cholesky import cholesky
from vmtl.data.rows import Rows
from vmtl.inference.exact.laplace import left_out_log_likelihood, log_evidence, posterior_mode
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
#: Nats below the best point up to which a point's neighbours are looked at, and most points.
DEPTH, MAX_POINTS = 1.5, 60
#: Steps from the centre of the belief at most at which the search begins.
FARTHEST = 4
#: The deviation of a level that is not there.
NOTHING = 1e-6
#: Points with less than this part of the probability do not count.
LEAST_PROBABILITY = 0.005


class Place(NamedTuple):
    """A point of the lattice, in steps from the centre of the belief."""

    scale: int
    level: int
    strength: int
    decay: int


@dataclass(frozen=True)
class ScalePoint:
    """One prior of the outputs with what the rows say under it."""

    prior: OutputPrior
    strength: float  # m
    decay: float  # gamma
    noise: float  # deviation of a regression's noise; 1 of a classifier
    log_density: float  # log evidence + log belief
    solution: Tensor  # (n, C) a = K^-1 f
    residuals: Tensor | None  # (n,) leave-one-out errors of a regression


@dataclass(frozen=True)
class ScalePosterior:
    """The points that the rows leave probable, with their probabilities."""

    dual: Dual
    points: list[ScalePoint]
    probability: Tensor  # (P,)

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
        return ScalePosterior(self.dual, [self.points[best]], torch.ones(1, dtype=torch.float64))

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

    def evaluate(place: Place, near: ScalePoint | None) -> ScalePoint:
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
    points = explore(begin, free, evaluate)
    density = torch.tensor([point.log_density for point in points], dtype=torch.float64)
    probability = density.softmax(0)
    kept = (probability >= LEAST_PROBABILITY * probability.max()).nonzero().flatten().tolist()
    probability = probability[kept] / probability[kept].sum()
    return ScalePosterior(dual, [points[i] for i in kept], probability)


def belief_of(rows: Rows) -> ScaleBelief:
    """What is believed of the numbers before any row is seen."""
    if not rows.is_classification:
        return TARGETS
    return TWO_CLASSES if rows.n_classes == 2 else MANY_CLASSES


Evaluate = Callable[[Place, "ScalePoint | None"], "ScalePoint"]


def explore(begin: Place, free: Place, evaluate: Evaluate) -> list[ScalePoint]:
    """Points of the lattice about the best one: first uphill along one number after the other, then outwards, always
    the neighbours of the best point whose are not known yet.

    It ends when every point within ``DEPTH`` of the best has its neighbours, or at ``MAX_POINTS``; ``free`` is 1 for
    the numbers that matter.
    """
    points, closed = {begin: evaluate(begin, None)}, set()
    _climb(begin, free, evaluate, points)
    while len(points) < MAX_POINTS:
        best = max(point.log_density for point in points.values())
        open_places = [
            place for place, point in points.items() if place not in closed and point.log_density > best - DEPTH
        ]
        if not open_places:
            break
        centre = max(open_places, key=lambda place: points[place].log_density)
        closed.add(centre)
        for axis in (i for i, may in enumerate(free) if may):
            for step in (-1, 1):
                place = _neighbour(centre, axis, step)
                if place not in points:
                    points[place] = evaluate(place, points[centre])
    return list(points.values())


def _climb(begin: Place, free: Place, evaluate: Evaluate, points: dict[Place, ScalePoint]) -> None:
    """Add the points of a walk uphill: along each number as long as it pays, until no number pays."""
    at, before = begin, None
    while at != before and len(points) < MAX_POINTS:
        before = at
        for axis, step in product((i for i, may in enumerate(free) if may), (1, -1)):
            while len(points) < MAX_POINTS:
                place = _neighbour(at, axis, step)
                if place not in points:
                    points[place] = evaluate(place, points[at])
                if points[place].log_density <= points[at].log_density:
                    break
                at = place


def _neighbour(place: Place, axis: int, step: int) -> Place:
    return Place(*(value + step * (i == axis) for i, value in enumerate(place)))


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
        return ScalePoint(prior, *sharing, 1.0, value - surprise, mode.solution, None)


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
        u = square**0.5
        scaled_prior = OutputPrior(prior.covariance, u * prior.scale, u * prior.task_level, u * prior.shared_level)
        return ScalePoint(
            scaled_prior,
            *sharing,
            u * self.unit**0.5,
            evidence - surprise,
            solution[:, None] / square,
            dual.to_all_rows(solution / inverse.diagonal()),
        )
