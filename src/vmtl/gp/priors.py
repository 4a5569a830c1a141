"""All that is assumed before a row is seen: one table of priors, and the lattice on which hyperparameters are searched.

| symbol | meaning | prior |
|---|---|---|
| s | deviation of the slopes' part of the latent function | log-normal |
| tau | deviation of b_tc, the level of one task | log-normal |
| m | strength of sharing, B = m exp(-gamma d^2) off the diagonal | logit-normal |
| gamma | decay of the task correlation with squared distance | log-normal |
| isolated | whether a task shares nothing with the others | 1 / (number of tasks + 1) each |
| a_c | level of a class, or of the target, in all tasks | N(0, A^2), as good as free |

The priors of kernel weights and of the relevance of columns stand beside their search, in ``kernel_search``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from vmtl.data.rows import Rows

#: A: the deviation of the level that all tasks share, for logits and for targets in units of their noise.
SHARED_LEVEL = 5.0


class Place(NamedTuple):
    """One number for each of log s, log tau, logit m and log gamma: a value, or steps on the lattice."""

    scale: float
    level: float
    strength: float
    decay: float


class Prior(NamedTuple):
    """Independent normal priors of log s, log tau, logit m and log gamma."""

    centre: Place
    deviation: Place


#: For logits of two classes and of more, and for targets in units of their noise.
TWO_CLASSES = Prior(Place(math.log(1.0), math.log(0.3), 2.2, 0.0), Place(1.0, 1.0, 1.0, 2.0))
MANY_CLASSES = Prior(Place(math.log(3.0), math.log(0.3), 2.2, 0.0), Place(1.0, 1.0, 2.0, 2.0))
TARGETS = Prior(Place(math.log(1.5), math.log(0.5), 2.2, 0.0), Place(1.2, 1.2, 1.0, 2.0))

#: Width of a step of the lattice.
STEP = Place(0.5, 1.0, 1.0, 1.0)


def prior_of(rows: Rows) -> Prior:
    """The prior for rows of this kind."""
    if not rows.is_classification:
        return TARGETS
    return TWO_CLASSES if rows.n_classes == 2 else MANY_CLASSES


def values_at(place: Place, prior: Prior) -> Place:
    """log s, log tau, logit m and log gamma at a point of the lattice, counted in steps from the prior's centre."""
    return Place(*(c + step * i for c, step, i in zip(prior.centre, STEP, place, strict=True)))


def log_prior(place: Place, prior: Prior) -> float:
    """The log density at a point of the lattice, up to a constant."""
    return -0.5 * sum((step * i / d) ** 2 for step, i, d in zip(STEP, place, prior.deviation, strict=True))


def log_prior_isolated(n_tasks: int) -> float:
    """The log odds that a given task is isolated."""
    return -math.log(n_tasks)
