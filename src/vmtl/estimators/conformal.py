"""Conformal prediction: intervals and sets that hold the truth as often as asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vmtl._utils.types import Array
from vmtl.results.left_out_scores import LeftOutScores


@dataclass(frozen=True)
class ConformalPredictor:
    """Turns predictions into intervals and sets, by how far off predictions of left-out rows were.

    The score of a row is |y - mean| / deviation in regression, and 1 - p(y) in classification. A target is inside where
    its score is at most q_t, a quantile of the left-out scores for task t: those of the task, and of all tasks as far
    as it has fewer rows than coverage / (1 - coverage).

    Parameters
    ----------
    scores : LeftOutScores
        The scores of rows that were predicted without themselves.
    n_tasks : int
        How many tasks the model knows.
    """

    scores: LeftOutScores
    n_tasks: int

    def can_promise(self, coverage: float) -> bool:
        """Whether there are as many rows as the coverage needs: (n + 1) (1 - coverage) >= 1."""
        return (self.scores.n_effective + 1) * (1 - coverage) >= 1 - 1e-9

    def intervals(self, mean: Array, deviation: Array, codes: Array, coverage: float) -> tuple[Array, Array]:
        """The lower and the upper end (n,) for rows of the tasks ``codes`` (n,): mean +- q_t deviation."""
        half = self.thresholds(codes, coverage) * deviation
        return mean - half, mean + half

    def sets(self, p: Array, codes: Array, coverage: float) -> Array:
        """(n, C) which classes are inside: those of a probability of at least 1 - q_t, and the most probable one."""
        least = 1 - self.thresholds(codes, coverage)
        inside: Array = (p >= least[:, None]) | (p == p.max(axis=1, keepdims=True))
        return inside

    def thresholds(self, codes: Array, coverage: float) -> Array:
        """(n,) q_t for rows of the tasks ``codes`` (n,); -1 is a task without left-out rows."""
        if not isinstance(coverage, int | float) or not 0 < coverage < 1:
            raise ValueError(f"coverage is {coverage!r}; give a number between 0 and 1, such as 0.9.")
        if not self.can_promise(coverage):
            n, needed = self.scores.n_effective, int(np.ceil(coverage / (1 - coverage) - 1e-9))
            raise ValueError(
                f"coverage={coverage} needs {needed} labelled rows, and there are {int(n)}; ask for at most "
                f"{int(1000 * n / (n + 1)) / 1000}."
            )
        quantiles: Array = self.scores.quantiles(float(coverage), self.n_tasks).numpy()[codes]
        return quantiles
