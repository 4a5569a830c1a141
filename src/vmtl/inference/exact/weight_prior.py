"""The prior of all tasks' weights, as the feature rows have it."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_rows
from vmtl.inference.exact.iterative import solve_iteratively
from vmtl.inference.exact.output_prior import OutputPrior
from vmtl.inference.exact.posterior import Solution, solve_classifier, solve_regression
from vmtl.inference.exact.scales import ScalePosterior, infer_scales
from vmtl.inference.features.kernel_selection import KernelSelection
from vmtl.inference.structure.covariance import TaskCovariance
from vmtl.inference.structure.known_tasks import StructureBelief
from vmtl.inference.structure.placed_tasks import PlacedTasks
from vmtl.inference.structure.structure_posterior import (
    KnownCovariance,
    Relatedness,
    StructurePosterior,
    infer_structure,
)
from vmtl.model.mixing import TaskStructure

#: Most rows on which scales are inferred, for two classes or a regression; for more classes, rows cubed times classes.
SCALE_ROWS, MAX_CUBE = 700, 1.5e8
#: Groups that are less probable than this by least squares are not judged.
LEAST_GROUPED = 0.01
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
    if isinstance(structure, PlacedTasks) and rows.n_classes <= 2 and structure.grouped() > LEAST_GROUPED:
        structure, scales = judge_groups(structure, some, kernel)
    else:
        scales = infer_scales_under(structure, some, kernel)
    if relatedness == "most probable":
        structure, scales = structure.most_probable(), scales.most_probable()
    return exact_prior(structure, scales, kernel, seed)


def infer_prior_under(covariance: TaskCovariance, rows: Rows, kernel: KernelSelection, seed: int) -> ExactPrior:
    """The same where B = ``covariance`` is known but for its strength."""
    structure = KnownCovariance(covariance)
    scales = infer_scales_under(structure, some_rows(structure, rows, seed), kernel)
    return exact_prior(structure, scales, kernel, seed)


def some_rows(structure: StructurePosterior, rows: Rows, seed: int) -> Rows:
    """The rows on which scales are inferred."""
    rows = rows.cpu()
    limit = int((MAX_CUBE / rows.n_classes) ** (1 / 3)) if rows.n_classes > 2 else SCALE_ROWS
    return rows.take(subsample_rows(rows, limit, seed, structure.turns))


def infer_scales_under(structure: StructurePosterior, some: Rows, kernel: KernelSelection) -> ScalePosterior:
    """The scales given who is like whom."""
    # the kernel's noise is that of a row of weight 1, the scales' that of a row that counts as one
    start = kernel.signal_to_noise * (1.0 if some.is_classification else some.unit**0.5)
    return infer_scales(some, structure, kernel.feature_scale, start)


def judge_groups(structure: PlacedTasks, some: Rows, kernel: KernelSelection) -> tuple[PlacedTasks, ScalePosterior]:
    """Whether tasks fall into groups, and the scales: the evidence of least squares proposes, the model's own decides.

    Least squares takes a rare class for a large error, and a few of them for a rule of their own. So the evidence of
    the labels, scales averaged over, is compared with the groups that were found and without them; what it cost to find
    these is the same as before (``PlacedTasks.group_price``).
    """
    without, within = (structure.with_grouped(probability) for probability in (0.0, 1.0))
    scales, grouped = (infer_scales_under(one, some, kernel) for one in (without, within))
    price = structure.group_price(some.task.unique())
    odds = torch.tensor(grouped.log_evidence - scales.log_evidence - price, dtype=torch.float64)
    probability = float(odds.sigmoid())
    return structure.with_grouped(probability), scales.join(grouped, probability)


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
