"""The prior of all tasks' weights, as the feature rows have it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_rows
from vmtl.inference.exact.iterative import solve_iteratively
from vmtl.inference.exact.lattice import Place
from vmtl.inference.exact.output_prior import OutputPrior
from vmtl.inference.exact.posterior import Solution, solve_classifier, solve_regression
from vmtl.inference.exact.scales import ScalePosterior, ScaleSearch, infer_scales
from vmtl.inference.features.kernel_selection import KernelSelection
from vmtl.inference.structure.covariance import TaskCovariance
from vmtl.inference.structure.known_tasks import StructureBelief
from vmtl.inference.structure.structure_posterior import (
    KnownCovariance,
    Relatedness,
    StructurePosterior,
    infer_structure,
)
from vmtl.results.relatedness import TaskStructure

#: Most rows on which scales are inferred, for two classes or a regression; for more classes, rows cubed times classes.
SCALE_ROWS, MAX_CUBE = 700, 1.5e8
#: Nats by which a reading may be less probable than another at the best scales of both and still be looked at closer.
HOPELESS = 3.0
#: Most rows with a table of all pairs, and rows squared times classes of more than two.
MAX_DUAL_ROWS, MAX_LOGITS = 2000, 2e7


@dataclass(frozen=True)
class WeightPrior:
    """Who learns from whom, and how large outputs are."""

    structure: TaskStructure
    correlation: float  # rho, the mean of B between two tasks
    scale: float  # s0, the prior deviation of the slopes' part of the outputs
    noise: float  # deviation of a regression's noise; 1 of a classifier
    task_level: float | None = None  # tau, where it was inferred
    decay: float | None = None  # gamma, where tasks have positions


@dataclass(frozen=True)
class ExactPrior(WeightPrior):
    """The same with all that the rows leave probable of it."""

    outputs: OutputPrior = field(kw_only=True)
    scales: ScalePosterior = field(kw_only=True)
    belief: StructureBelief | None = field(default=None, kw_only=True)  # where tasks have positions

    @property
    def numbers(self) -> Tensor:
        """(4,) s, tau, A and the noise, as they are kept for a task that is added later."""
        outputs = (self.outputs.scale, self.outputs.task_level, self.outputs.shared_level)
        return torch.tensor((*outputs, self.noise), dtype=torch.float64)


def infer_prior(rows: Rows, kernel: KernelSelection, relatedness: Relatedness, seed: int) -> ExactPrior:
    """The prior of the weights of the feature rows: its structure, then its scales."""
    structure = infer_structure(rows, relatedness, seed)
    some = some_rows(structure, rows, seed)
    structure, scales = judge_readings(structure, some, kernel)
    if relatedness == "most probable":
        structure, scales = structure.most_probable(), scales.most_probable()
    return exact_prior(structure, scales, kernel, seed)


def infer_prior_under(covariance: TaskCovariance, rows: Rows, kernel: KernelSelection, seed: int) -> ExactPrior:
    """The same where B = ``covariance`` is known but for its strength."""
    structure = KnownCovariance(covariance)
    some = some_rows(structure, rows, seed)
    scales = infer_scales(some, structure, kernel.feature_scale, first_scale(some, kernel))
    return exact_prior(structure, scales, kernel, seed)


def some_rows(structure: StructurePosterior, rows: Rows, seed: int) -> Rows:
    """The rows on which scales are inferred."""
    rows = rows.cpu()
    limit = int((MAX_CUBE / rows.n_classes) ** (1 / 3)) if rows.n_classes > 2 else SCALE_ROWS
    return rows.take(subsample_rows(rows, limit, seed, structure.turns))


def first_scale(some: Rows, kernel: KernelSelection) -> float:
    """s at which the search for the scales begins."""
    # the kernel's noise is that of a row of weight 1, the scales' that of a row that counts as one
    return kernel.signal_to_noise * (1.0 if some.is_classification else some.unit**0.5)


def judge_readings(
    structure: StructurePosterior, some: Rows, kernel: KernelSelection
) -> tuple[StructurePosterior, ScalePosterior]:
    """Which reading of the tasks is how probable, and the scales: least squares proposes, the model itself decides.

    Least squares takes a rare class for a large error, and a few of them for a rule of their own. So what counts is the
    evidence of the model under each reading, scales averaged over, less what the reading costs
    (``StructurePosterior.readings``). Readings differ in how tasks share, so that m and gamma tell which of them are
    hopeless; these are not looked at any closer.
    """
    readings, prices = zip(*structure.readings(some.task.unique()), strict=True)
    searches = [ScaleSearch(some, reading, kernel.feature_scale) for reading in readings]
    peaks, worth = _climb(searches, prices, searches[0].place_of(first_scale(some, kernel)))
    hopeful = (worth >= worth.max() - HOPELESS).nonzero().flatten().tolist()
    scales = [searches[number].posterior(peaks[number]) for number in hopeful]
    worth.fill_(-math.inf)
    for number, found in zip(hopeful, scales, strict=True):
        worth[number] = found.log_evidence - prices[number]
    share = worth.softmax(0)
    return structure.judged(share), ScalePosterior.average(scales, share[hopeful])


def _climb(searches: list[ScaleSearch], prices: Sequence[float], begin: Place) -> tuple[list[Place], Tensor]:
    """The best place of the first reading, of the others at the same s and tau, and what these are worth (R,)."""
    peaks, worth = [], torch.full((len(searches),), -math.inf, dtype=torch.float64)
    for number, (search, price) in enumerate(zip(searches, prices, strict=True)):
        place, point = search.climb(begin, sharing_alone=number > 0)
        peaks.append(place)
        worth[number] = point.log_joint - price
        begin = peaks[int(worth.argmax())]
    return peaks, worth


def exact_prior(
    structure: StructurePosterior, scales: ScalePosterior, kernel: KernelSelection, seed: int
) -> ExactPrior:
    """One prior in the middle of all that is probable."""
    outputs = scales.prior(structure.at(scales.strength, scales.decay))
    return ExactPrior(
        structure.structure(scales, seed),
        outputs.covariance.correlation,
        outputs.scale * kernel.feature_scale,
        scales.noise,
        outputs.task_level,
        scales.decay if structure.is_placed else None,
        outputs=outputs,
        scales=scales,
        belief=structure.belief(scales),
    )


def solve(rows: Rows, prior: ExactPrior) -> Solution:
    """The posterior of the feature rows, by the way that suits their number.

    Where all of them were looked at for the scales, the solution is averaged over the scales; more rows are solved
    under the middle of the scales, with a table of all pairs of rows as long as that is small.
    """
    n = len(rows.y)
    if n == len(prior.scales.dual.counted):
        return prior.scales.solution()
    if n > MAX_DUAL_ROWS or (rows.n_classes > 2 and rows.n_classes * n**2 > MAX_LOGITS):
        return Solution(solve_iteratively(rows, prior.outputs, prior.noise), None)
    if rows.is_classification:
        return solve_classifier(rows, prior.outputs)
    return solve_regression(rows, prior.outputs, prior.noise)
