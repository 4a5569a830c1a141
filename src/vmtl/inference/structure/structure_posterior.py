"""Step 2 of the exact way: who learns from whom.

Given everybody else, the weights of task t are

    w_t | others ~ N(sum_i r_t alpha_ti w_i, v_t),    r_t alpha_ti = -P_ti / P_tt,    P = B^-1

where B (T, T) is the covariance of one weight across tasks. That is the prior of Eq. 6, with mixing weights that come
out of one joint law of all tasks instead of being parameters of their own: alpha is what B says, and B is what
predictions are made with. The paper draws alpha by the Gumbel-Softmax, because nobody knows from whom a task should
learn; here that uncertainty is over three readings of the tasks and their numbers (``readings``): B is their
average, and alpha has intervals. Later steps see the result only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_evenly, subsample_rows
from vmtl.inference.structure.covariance import MAX_DENSE, DenseCovariance, TaskCovariance, alike
from vmtl.inference.structure.evidence import Targets
from vmtl.inference.structure.mixing_weights import conditional, resemblance, structure_of
from vmtl.inference.structure.positions import TaskPositions, infer_positions
from vmtl.inference.structure.readings import Reading, read_structure
from vmtl.inference.structure.smooth_kernel import average_covariance
from vmtl.model.mixing import TaskStructure

#: Most rows whose targets are looked at; most whose representations are, or so many of each task.
MAX_ROWS, POSITION_ROWS, TASK_ROWS = 500, 2000, 20
#: Quantiles of the draws between which an interval lies: 90 % of them.
INTERVAL = (0.05, 0.95)

#: What may be shared: nothing; the same with every task; as the most probable reading of the tasks says; or their mean.
Relatedness = Literal["independent", "uniform", "most probable", "averaged"]


@dataclass(frozen=True)
class StructurePosterior:
    """What the rows say about the structure of the tasks, before its strength is chosen."""

    covariance: TaskCovariance  # B, the average of the readings
    positions: TaskPositions | None = None
    readings: tuple[Reading, ...] = ()
    share: Tensor | None = None  # (R,) the probabilities of the readings

    def structure(self, kept: float = 1.0, seed: int = 0) -> TaskStructure:
        """Who learns from whom under m B + (1 - m) I, m = ``kept``; with intervals where there are positions.

        One draw is a reading by its probability, its numbers, and distances as other rows of the same tasks would
        have shown them. Few rows make wide intervals about an even map, many rows narrow ones: unknown is not flat.
        """
        structure = structure_of(self.covariance.weaken(kept))
        if self.positions is None or self.share is None:
            return structure
        structure = replace(structure, positions=self.positions.points)
        if structure.alpha is None:
            return structure
        distances = self.positions.draws()  # (S, T, T)
        generator = torch.Generator().manual_seed(seed)
        which = torch.multinomial(self.share, len(distances), replacement=True, generator=generator)
        parts = []
        for number, reading in enumerate(self.readings):
            drawn = distances[which == number]
            parts.append(reading.covariance(drawn, reading.draw(len(drawn), generator)))
        eye = torch.eye(len(structure.sharing), dtype=torch.float64)
        alpha, sharing, _ = conditional(kept * torch.cat(parts) + (1 - kept) * eye)
        beta = resemblance(self.positions.distances())
        return replace(
            structure,
            beta=beta,
            alpha_interval=_interval(alpha, structure.alpha),
            beta_interval=_interval(resemblance(distances), beta),
            sharing_interval=_interval(sharing, structure.sharing),
        )


def infer_structure(rows: Rows, relatedness: Relatedness, seed: int) -> StructurePosterior:
    """The structure of the tasks of the feature rows."""
    rows = rows.cpu()
    if relatedness == "independent" or rows.n_tasks == 1:
        return StructurePosterior(alike(rows.n_tasks, 0.0))
    if relatedness == "uniform" or rows.n_tasks < 3:
        return StructurePosterior(alike(rows.n_tasks, _common_correlation(rows, seed)))
    limit = max(POSITION_ROWS, TASK_ROWS * rows.n_tasks)
    positions = infer_positions(rows.take(subsample_evenly(rows.task, limit, seed)), seed)
    some, known = _some_tasks(rows, seed, pair_by_pair(positions.points, seed))
    readings = read_structure(Targets.of(some), positions.distances(known))
    readings = [reading.of_all(known, rows.n_tasks) for reading in readings]
    share = torch.tensor([reading.log_probability for reading in readings], dtype=torch.float64).softmax(0)
    if relatedness == "most probable":
        share = F.one_hot(share.argmax(), len(share)).double()
    return StructurePosterior(_average(readings, share, positions), positions, tuple(readings), share)


def _average(readings: list[Reading], share: Tensor, positions: TaskPositions) -> TaskCovariance:
    """The average of the readings' B, as a table or of many tasks as a factor."""
    if len(positions.points) > MAX_DENSE:
        return average_covariance(readings, share, positions.points)
    distances = positions.distances()
    tables = torch.stack([reading.covariance(distances) for reading in readings])
    return DenseCovariance(torch.tensordot(share, tables, 1))


def _common_correlation(rows: Rows, seed: int) -> float:
    """rho of tasks that are all alike, from some of them."""
    some, known = _some_tasks(rows, seed)
    nowhere = torch.zeros(len(known), len(known), dtype=torch.float64)
    reading = read_structure(Targets.of(some), nowhere, most=1)[0]
    return DenseCovariance(reading.covariance(nowhere)).correlation


def _some_tasks(rows: Rows, seed: int, turns: Tensor | None = None) -> tuple[Rows, Tensor]:
    """Rows whose targets are looked at, with their tasks numbered anew, and which tasks these are (K,)."""
    some = rows.take(subsample_rows(rows, MAX_ROWS, seed, turns))
    known, task = some.task.unique(return_inverse=True)
    return replace(some, task=task, n_tasks=len(known)), known


def pair_by_pair(points: Tensor, seed: int) -> Tensor:
    """(T,) the turn of every task at ``points`` (T, Q): one at random, then the nearest to it, then another one.

    How likeness falls with distance shows where tasks are near, and few of many at random need not be.
    """
    left = torch.randperm(len(points), generator=torch.Generator().manual_seed(seed))
    taken: list[int] = []
    while len(left) > 1 and len(taken) < MAX_ROWS:  # more are never asked for
        first, left = left[0], left[1:]
        nearest = int((points[left] - points[first]).square().sum(-1).argmin())
        taken += [int(first), int(left[nearest])]
        left = torch.cat([left[:nearest], left[nearest + 1 :]])
    turns = torch.empty(len(points), dtype=torch.long)
    turns[torch.cat([torch.tensor(taken, dtype=torch.long), left])] = torch.arange(len(points))
    return turns


def _interval(draws: Tensor, value: Tensor) -> Tensor:
    """(2, ...) the ends of most ``draws`` (S, ...), with the ``value`` between them: a mean of readings need not be."""
    low, high = draws.quantile(torch.tensor(INTERVAL, dtype=torch.float64), 0)
    return torch.stack([torch.minimum(low, value), torch.maximum(high, value)])
