"""Three readings of the tasks, and how far the training rows believe each: alike, by position, some apart.

The weights of two tasks are correlated like

    B_ti = exp(-e_t - e_i) (1 - h + h exp(-gamma |p_t - p_i|^2)),    e_t = e + o_t,    B_tt = 1

where p = the tasks' positions (``positions``), gamma = how fast likeness falls with their distance, h = the part
of the weights that knows of positions at all, e = what every task keeps to itself, o_t = what task t keeps to itself
beyond that. B is positive definite for all values, as a product of such matrices. The readings are nested: *alike* has
h = 0 and o = 0, *by position* has o = 0, *some apart* has everything. A task whose representations are those of its
group while its labels are not is told apart by o_t: labels have the last word.

All numbers have priors, and each reading is taken at its largest posterior density, by L-BFGS on the evidence of least
squares. The probabilities of the readings follow from Laplace's approximation, in which a number that the rows know
well has to pay for having been fitted to them. What the rows cannot decide is averaged over.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from vmtl.inference.structure.evidence import Targets, log_evidence, separation_information

#: log e, log lambda, log gamma, logit h: centre and deviation of what is believed before any row is seen.
CENTRE = (math.log(0.05), math.log(0.3), 0.0, 0.0)
DEVIATION = (2.0, 2.0, 1.5, 1.5)
#: Steps at most of one search.
STEPS = 40
#: Step of the differences that give the curvature at the best place.
DIFFERENCE = 1e-3


@dataclass(frozen=True)
class Reading:
    """One reading of the tasks at its largest posterior density."""

    numbers: Tensor  # (2,) or (4,): log e, log lambda and, by position, log gamma, logit h
    apart: Tensor  # (T,) o_t
    value: float  # log posterior density, up to a constant that all readings share
    log_probability: float  # the same with all numbers integrated out
    curvature: Tensor  # (2, 2) or (4, 4) minus the second derivative in ``numbers``

    @property
    def kept(self) -> Tensor:
        """(T,) e_t, what each task keeps to itself."""
        return self.numbers[0].exp() + self.apart

    def of_all(self, known: Tensor, n_tasks: int) -> Reading:
        """The same of ``n_tasks`` tasks, of which this one has only looked at ``known`` (K,).

        A task that was not looked at stands apart as those that were do on average: exp(-o_t) = their mean.
        """
        if len(known) == n_tasks:
            return self
        apart = self.apart.new_full((n_tasks,), -float(torch.exp(-self.apart).mean().log()))
        apart[known] = self.apart
        return replace(self, apart=apart)

    def covariance(self, distances: Tensor, numbers: Tensor | None = None) -> Tensor:
        """B (T, T) of tasks at these squared distances, or (S, T, T) with draws of the ``numbers`` (S, 4)."""
        return task_covariance(self.numbers if numbers is None else numbers, self.apart, distances)

    def draw(self, draws: int, generator: torch.Generator) -> Tensor:
        """(S, 4) draws of the numbers from the Gaussian of Laplace's approximation."""
        values, vectors = torch.linalg.eigh(self.curvature)
        spread = vectors * values.clamp_min(1 / max(DEVIATION) ** 2).rsqrt()
        noise = torch.randn(draws, len(values), generator=generator, dtype=torch.float64)
        drawn: Tensor = self.numbers + noise @ spread.T
        return drawn


def task_covariance(numbers: Tensor, apart: Tensor, distances: Tensor) -> Tensor:
    """B (..., T, T) of ``numbers`` (..., 2 or 4), o = ``apart`` (T,) and squared distances (..., T, T)."""
    between = torch.ones_like(distances)
    if numbers.shape[-1] > 2:
        gamma, h = numbers[..., 2].exp(), numbers[..., 3].sigmoid()
        between = 1 - h[..., None, None] * (1 - torch.exp(-gamma[..., None, None] * distances))
    kept = numbers[..., :1].exp() + apart  # (..., T) e_t
    between = between * torch.exp(-kept.unsqueeze(-1) - kept.unsqueeze(-2))
    eye = torch.eye(len(apart), dtype=torch.bool)
    return torch.where(eye, 1.0, between)


def read_structure(targets: Targets, distances: Tensor, most: int = 3) -> list[Reading]:
    """At most so many readings: alike, by position, some apart."""
    readings = [_search(targets, distances, 2)]
    if most > 1:
        placed = bool((distances > 0).any())
        readings.append(_search(targets, distances, 4) if placed else _not_placed(readings[0]))
    if most > 2:
        readings.append(_tell_apart(targets, distances, readings[-1]))
    return readings


def _log_prior(numbers: Tensor, apart: Tensor | None = None) -> Tensor:
    """Gaussian in the numbers; o_t half-Cauchy in units of e, which expects little and forbids nothing."""
    centre, deviation = (torch.tensor(value[: len(numbers)], dtype=torch.float64) for value in (CENTRE, DEVIATION))
    value: Tensor = -0.5 * ((numbers - centre) / deviation).square().sum()
    if apart is None:
        return value
    return value - torch.log1p((apart / numbers[0].exp()).square()).sum()


def _maximise(parameters: list[Tensor], objective: Callable[[], Tensor]) -> None:
    optimiser = torch.optim.LBFGS(
        parameters,
        max_iter=STEPS,
        history_size=20,
        tolerance_grad=1e-2,
        tolerance_change=1e-3,
        line_search_fn="strong_wolfe",
    )

    def loss() -> Tensor:
        optimiser.zero_grad()
        value = -objective()
        value.backward()
        return value

    with torch.enable_grad():
        optimiser.step(loss)


def _search(targets: Targets, distances: Tensor, size: int) -> Reading:
    """The reading with the first ``size`` numbers, nobody apart."""
    apart = distances.new_zeros(len(distances))
    numbers = torch.tensor(CENTRE[:size], dtype=torch.float64, requires_grad=True)

    def objective(at: Tensor) -> Tensor:
        between = task_covariance(at, apart, distances)
        return log_evidence(between, at[1].exp(), targets) + _log_prior(at)

    _maximise([numbers], lambda: objective(numbers))
    numbers = numbers.detach()
    value, curvature = float(objective(numbers)), _curvature(objective, numbers)
    return Reading(numbers, apart, value, value - _occam(curvature), curvature)


def _not_placed(alike: Reading) -> Reading:
    """By position, of tasks that all lie in one place: gamma and h stay what was believed before."""
    believed = torch.tensor(CENTRE[2:], dtype=torch.float64)
    precision = torch.diag(torch.tensor(DEVIATION[2:], dtype=torch.float64) ** -2)
    numbers = torch.cat([alike.numbers, believed])
    return replace(alike, numbers=numbers, curvature=torch.block_diag(alike.curvature, precision))


def _curvature(objective: Callable[[Tensor], Tensor], at: Tensor) -> Tensor:
    """Minus the second derivative, by differences of the slope."""

    def slope(place: Tensor) -> Tensor:
        with torch.enable_grad():
            place = place.requires_grad_()
            return torch.autograd.grad(objective(place), place)[0]

    steps = DIFFERENCE * torch.eye(len(at), dtype=at.dtype)
    table = torch.stack([(slope(at - step) - slope(at + step)) / (2 * DIFFERENCE) for step in steps])
    return (table + table.T) / 2


def _occam(curvature: Tensor) -> float:
    """1/2 log det(curvature x prior variance): 0 where rows say nothing, large where they say much."""
    deviation = torch.tensor(DEVIATION[: len(curvature)], dtype=torch.float64)
    relative = deviation[:, None] * curvature * deviation
    return 0.5 * float(torch.linalg.eigvalsh(relative).clamp_min(1).log().sum())


def _tell_apart(targets: Targets, distances: Tensor, start: Reading) -> Reading:
    """``start`` with o_t: tasks that gain by standing apart begin there, all others at nearly nothing."""
    between = start.covariance(distances).requires_grad_()
    with torch.enable_grad():
        slope = torch.autograd.grad(log_evidence(between, start.numbers[1].exp(), targets), between)[0]
    pairs = (slope * between.detach()).fill_diagonal_(0)
    gains = -2 * pairs.sum(-1) > 0  # (T,) whether the evidence rises with o_t
    root = torch.where(gains, 0.3, 0.02).double().requires_grad_()  # o_t = root^2
    numbers = start.numbers.clone().requires_grad_()

    def objective() -> Tensor:
        between = task_covariance(numbers, root.square(), distances)
        return log_evidence(between, numbers[1].exp(), targets) + _log_prior(numbers, root.square())

    _maximise([numbers, root], objective)
    value, numbers, apart = float(objective().detach()), numbers.detach(), root.detach().square()
    if value < start.value:  # the search went astray; nobody apart is one of the places it could have found
        value, numbers, apart = start.value, start.numbers, start.apart
    known = separation_information(start.covariance(distances), start.numbers[1].exp(), targets)
    price = 0.5 * float(torch.log1p(known * (2 * start.numbers[0]).exp()).sum())
    return Reading(numbers, apart, value, value - _occam(start.curvature) - price, start.curvature)
