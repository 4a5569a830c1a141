"""Two readings of the tasks, and how far the training rows believe each: as they lie, or some apart.

The weights of two tasks are correlated like

    B_ti = exp(-e_t - e_i - gamma |p_t - p_i|^2),    e_t = e + o_t,    B_tt = 1

where p = the tasks' positions (``positions``), gamma = how fast likeness falls with their distance, e = what every
task keeps to itself, o_t = what task t keeps to itself beyond that. B is positive definite for all values, as a product
of such matrices. The readings are nested: *as they lie* has o = 0, *some apart* has everything. A task whose
representations are those of its group while its labels are not is told apart by o_t: labels have the last word.

All numbers have priors, and each reading is taken at its largest posterior density, by L-BFGS on the evidence of least
squares, which is quick and sees who stands apart. It overrates how much tasks share, so that e and gamma serve this
search only: the likelihood of the model itself decides on them later (``vmtl.inference.exact.scales``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from vmtl._utils.minimise import minimise
from vmtl.inference.structure.readings.evidence import Targets, log_evidence, separation_information

#: log e, log lambda, log gamma: centre and deviation of what is believed before any row is seen.
CENTRE = (math.log(0.05), math.log(0.3), 0.0)
DEVIATION = (2.0, 2.0, 2.0)
#: Standing apart by less than this is the same as not at all.
LEAST_APART = 0.05
#: Steps at most of one search.
STEPS = 40


@dataclass(frozen=True)
class Reading:
    """One reading of the tasks at its largest posterior density."""

    numbers: Tensor  # (3,) log e, log lambda, log gamma
    apart: Tensor  # (T,) o_t
    value: float  # log posterior density, up to a constant that all readings share
    log_probability: float  # the same with o integrated out
    groups: Groups | None = None  # where tasks fall into groups
    price: float = 0.0  # nats that o costs, by what is believed of it and by what the targets tell about it

    @property
    def is_apart(self) -> bool:
        """Whether anybody stands apart."""
        return float(self.apart.max()) > LEAST_APART


@dataclass(frozen=True)
class Groups:
    """Who is of which group, and what this reading of the tasks would be without groups."""

    group: Tensor  # (T,) g_t
    gap: float  # D between groups
    base: Reading  # as the tasks lie, or with some apart
    ungrouped: Tensor  # (3,) the numbers that suit the base if every task has a level of its own


def task_covariance(numbers: Tensor, apart: Tensor, distances: Tensor) -> Tensor:
    """B (T, T) of ``numbers`` (3,), o = ``apart`` (T,) and squared distances (T, T)."""
    kept = numbers[0].exp() + apart  # (T,) e_t
    between = torch.exp(-kept[:, None] - kept - numbers[2].exp() * distances)
    return torch.where(torch.eye(len(apart), dtype=torch.bool), 1.0, between)


def read_structure(targets: Targets, distances: Tensor) -> tuple[Reading, Reading]:
    """The tasks as they lie at squared ``distances`` (T, T), and with some apart."""
    together = _as_they_lie(targets, distances)
    return together, _tell_apart(targets, distances, together)


def log_prior(numbers: Tensor, apart: Tensor | None = None) -> Tensor:
    """Gaussian in the numbers; o_t half-Cauchy in units of e, which expects little and forbids nothing."""
    centre, deviation = (torch.tensor(value, dtype=torch.float64) for value in (CENTRE, DEVIATION))
    value: Tensor = -0.5 * ((numbers - centre) / deviation).square().sum()
    if apart is None:
        return value
    return value - torch.log1p((apart / numbers[0].exp()).square()).sum()


def _maximise(parameters: list[Tensor], objective: Callable[[], Tensor]) -> None:
    minimise(parameters, lambda: -objective(), iterations=STEPS, history=20, least_slope=1e-2, least_change=1e-3)


def _as_they_lie(targets: Targets, distances: Tensor) -> Reading:
    apart = distances.new_zeros(len(distances))
    numbers = torch.tensor(CENTRE, dtype=torch.float64, requires_grad=True)

    def objective() -> Tensor:
        between = task_covariance(numbers, apart, distances)
        return log_evidence(between, numbers[1].exp(), targets) + log_prior(numbers)

    _maximise([numbers], objective)
    value = float(objective().detach())
    return Reading(numbers.detach(), apart, value, value)


def _tell_apart(targets: Targets, distances: Tensor, start: Reading) -> Reading:
    """``start`` with o_t: tasks that gain by standing apart begin there, all others at nearly nothing.

    In Laplace's approximation each o_t pays for what the targets tell about it (``separation_information``); what e,
    lambda and gamma pay is the same for both readings.
    """
    together = task_covariance(start.numbers, start.apart, distances)
    between = together.clone().requires_grad_()
    with torch.enable_grad():
        slope = torch.autograd.grad(log_evidence(between, start.numbers[1].exp(), targets), between)[0]
    pairs = (slope * together).fill_diagonal_(0)
    gains = -2 * pairs.sum(-1) > 0  # (T,) whether the evidence rises with o_t
    root = torch.where(gains, 0.3, 0.02).double().requires_grad_()  # o_t = root^2
    numbers = start.numbers.clone().requires_grad_()

    def objective() -> Tensor:
        between = task_covariance(numbers, root.square(), distances)
        return log_evidence(between, numbers[1].exp(), targets) + log_prior(numbers, root.square())

    _maximise([numbers, root], objective)
    value, numbers, apart = float(objective().detach()), numbers.detach(), root.detach().square()
    if value < start.value:  # the search went astray; nobody apart is one of the places it could have found
        value, numbers, apart = start.value, start.numbers, start.apart
    known = separation_information(together, start.numbers[1].exp(), targets)
    price = 0.5 * float(torch.log1p(known * (2 * start.numbers[0]).exp()).sum())
    surprise = float(torch.log1p((apart / math.exp(CENTRE[0])).square()).sum())
    return Reading(numbers, apart, value, value - price, price=surprise + price)
