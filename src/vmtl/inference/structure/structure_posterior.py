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
from vmtl.data.subsampling import subsample_rows
from vmtl.inference.structure.covariance import AlikeCovariance, DenseCovariance, TaskCovariance, alike
from vmtl.inference.structure.evidence import Targets
from vmtl.inference.structure.known_tasks import StructureBelief
from vmtl.inference.structure.mixing_weights import alike_structure, conditional, resemblance, structure_of
from vmtl.inference.structure.positions import TaskPositions, infer_positions
from vmtl.inference.structure.readings import Reading, read_structure
from vmtl.model.mixing import TaskStructure

#: Most rows whose targets are looked at, and most whose representations are.
MAX_ROWS, POSITION_ROWS = 500, 2000
#: Most tasks whose positions are told apart; more of them count as alike.
MAX_PLACED = 300
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
        covariance = self.covariance.weaken(kept)
        if isinstance(covariance, AlikeCovariance):
            return alike_structure(covariance)
        assert isinstance(covariance, DenseCovariance)
        structure = structure_of(covariance.matrix)
        if self.positions is None or self.share is None or structure.alpha is None:
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
            positions=self.positions.points,
            alpha_interval=_interval(alpha, structure.alpha),
            beta_interval=_interval(resemblance(distances), beta),
            sharing_interval=_interval(sharing, structure.sharing),
        )

    def belief(self, kept: float) -> StructureBelief | None:
        """What is believed of the correlations of a further task; nothing where tasks have no positions."""
        if self.positions is None or self.share is None:
            return None
        return StructureBelief.of(self.readings, self.share, kept, self.positions)


def infer_structure(rows: Rows, relatedness: Relatedness, seed: int) -> StructurePosterior:
    """The structure of the tasks of the feature rows."""
    rows = rows.cpu()
    if relatedness == "independent" or rows.n_tasks == 1:
        return StructurePosterior(alike(rows.n_tasks, 0.0))
    if relatedness == "uniform" or not 3 <= rows.n_tasks <= MAX_PLACED:
        return StructurePosterior(alike(rows.n_tasks, _common_correlation(rows, seed)))
    positions = infer_positions(rows.take(subsample_rows(rows, POSITION_ROWS, seed)), seed)
    distances = positions.distances()
    readings = read_structure(_some_targets(rows, seed), distances)
    share = torch.tensor([reading.log_probability for reading in readings], dtype=torch.float64).softmax(0)
    if relatedness == "most probable":
        share = F.one_hot(share.argmax(), len(share)).double()
    covariance = torch.stack([reading.covariance(distances) for reading in readings])
    average = DenseCovariance(torch.tensordot(share, covariance, 1))
    return StructurePosterior(average, positions, tuple(readings), share)


def _common_correlation(rows: Rows, seed: int) -> float:
    """rho of tasks that are all alike, from some of them."""
    some = rows.take(subsample_rows(rows, MAX_ROWS, seed))
    known, task = some.task.unique(return_inverse=True)
    some = replace(some, task=task, n_tasks=len(known))
    nowhere = torch.zeros(len(known), len(known), dtype=torch.float64)
    reading = read_structure(Targets.of(some), nowhere, most=1)[0]
    return DenseCovariance(reading.covariance(nowhere)).correlation


def _some_targets(rows: Rows, seed: int) -> Targets:
    rows = rows.cpu()
    return Targets.of(rows.take(subsample_rows(rows, MAX_ROWS, seed)))


def _interval(draws: Tensor, value: Tensor) -> Tensor:
    """(2, ...) the ends of most ``draws`` (S, ...), with the ``value`` between them: a mean of readings need not be."""
    low, high = draws.quantile(torch.tensor(INTERVAL, dtype=torch.float64), 0)
    return torch.stack([torch.minimum(low, value), torch.maximum(high, value)])
