"""Steps 2 and 3 together: the prior of all tasks' weights, as the feature rows have it."""

from __future__ import annotations

from dataclasses import dataclass

from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_rows
from vmtl.inference.exact.kernel_selection import KernelSelection
from vmtl.inference.exact.output_prior import OutputPrior
from vmtl.inference.exact.posterior import Solution, solve_classifier, solve_regression
from vmtl.inference.exact.scales import ScalePosterior, infer_scales
from vmtl.inference.exact.task_structure import Relatedness, infer_structure, mean_correlation
from vmtl.model.mixing import TaskStructure

#: Most rows on which the scales are inferred: of two classes or a regression, and of more classes.
MAX_ROWS, MAX_ROWS_OF_MANY = 700, 400


@dataclass(frozen=True)
class WeightPrior:
    """Who learns from whom, and how large outputs are."""

    structure: TaskStructure
    scale: float  # s0, the prior deviation of the slopes' part of the outputs
    noise: float  # deviation of a regression's noise; 1 of a classifier
    task_level: float | None = None  # tau, where it was inferred

    @property
    def correlation(self) -> float:
        """rho, the mean of B between two tasks."""
        return mean_correlation(self.structure.covariance)


@dataclass(frozen=True)
class ExactPrior(WeightPrior):
    """The same with all that the rows leave probable of it."""

    outputs: OutputPrior = None  # type: ignore[assignment]
    scales: ScalePosterior = None  # type: ignore[assignment]

    def solve(self, rows: Rows) -> Solution:
        """The posterior of ``rows``: averaged over the scales where they were inferred from the same rows."""
        if len(rows.y) == len(self.scales.dual.counted):
            return self.scales.solution()
        if rows.is_classification:
            return solve_classifier(rows, self.outputs)
        return solve_regression(rows, self.outputs, self.noise)


def infer_prior(rows: Rows, kernel: KernelSelection, relatedness: Relatedness, seed: int) -> ExactPrior:
    """The prior of the weights of the feature rows: its structure, then its scales."""
    rows = rows.cpu()
    posterior = infer_structure(rows, relatedness, seed)
    limit = MAX_ROWS_OF_MANY if rows.n_classes > 2 else MAX_ROWS
    some, unit = rows.take(subsample_rows(rows, limit, seed)), kernel.feature_scale
    scales = infer_scales(some, posterior.covariance, unit, kernel.signal_to_noise)
    structure = posterior.structure(scales.strength, seed)
    outputs = scales.prior(structure.covariance)
    return ExactPrior(structure, outputs.scale * unit, scales.noise, outputs.task_level, outputs, scales)
