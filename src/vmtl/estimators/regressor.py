"""Regression of several related tasks."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from vmtl._utils.types import Array
from vmtl.estimators.base import BaseMultiTask
from vmtl.estimators.inputs import check_targets
from vmtl.inference.prediction import RealPrediction


class MultiTaskRegressor(RegressorMixin, BaseMultiTask):  # type: ignore[misc]
    """Regression of several related tasks; parameters and attributes as in ``MultiTaskClassifier``."""

    def __init__(
        self,
        method: Any = "vmtl",
        preset: str = "default",
        *,
        encoder: str | None = None,
        latent_dim: int | None = None,
        sharing: float | None = None,
        kl_form: str | None = None,
        mixing: str | None = None,
        tie_mixing: bool | None = None,
        bayesian_z: bool | None = None,
        bayesian_w: bool | None = None,
        n_z: int | None = None,
        n_w: int | None = None,
        max_steps: int | None = None,
        learning_rate: float | None = None,
        batch_rows: int | None = None,
        predictive: str | None = None,
        task_column: Hashable | None = None,
        unknown_task: Literal["error", "average"] = "error",
        missing: Literal["error", "impute"] = "error",
        early_stopping: bool = False,
        device: str = "cpu",
        dtype: Literal["float32", "float64"] = "float32",
        n_threads: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.preset = preset
        self.encoder = encoder
        self.latent_dim = latent_dim
        self.sharing = sharing
        self.kl_form = kl_form
        self.mixing = mixing
        self.tie_mixing = tie_mixing
        self.bayesian_z = bayesian_z
        self.bayesian_w = bayesian_w
        self.n_z = n_z
        self.n_w = n_w
        self.max_steps = max_steps
        self.learning_rate = learning_rate
        self.batch_rows = batch_rows
        self.predictive = predictive
        self.task_column = task_column
        self.unknown_task = unknown_task
        self.missing = missing
        self.early_stopping = early_stopping
        self.device = device
        self.dtype = dtype
        self.n_threads = n_threads
        self.verbose = verbose
        self.random_state = random_state

    def _encode_target(self, y: Any, sample_weight: Array) -> tuple[Array, Array, int]:
        values = check_targets(y)
        share = sample_weight / sample_weight.sum()
        self.y_mean_ = float(share @ values)
        self.y_scale_ = float(np.sqrt(share @ (values - self.y_mean_) ** 2)) or 1.0
        return (values - self.y_mean_) / self.y_scale_, sample_weight, 1

    def _values(self, X: Any, tasks: Any) -> Array:
        """(3, n) predictive mean, aleatoric and epistemic deviation in the unit of y."""

        def read(x: Array, codes: Array) -> Array:
            found = self._predict_known(x, codes, self._predictor.values, _average_values)
            columns = np.column_stack([found.mean, found.aleatoric, found.epistemic])
            return self.y_scale_ * columns.astype(np.float64) + [self.y_mean_, 0.0, 0.0]

        return self._in_parts(X, tasks, read).T

    def predict(self, X: Any, *, tasks: Any = None, return_std: bool = False) -> Any:
        """(n,) predictive mean in the unit of y; with ``return_std`` also the total standard deviation."""
        mean, aleatoric, epistemic = self._values(X, tasks)
        return (mean, np.hypot(aleatoric, epistemic)) if return_std else mean

    def score(self, X: Any, y: Any, *, tasks: Any = None, sample_weight: Any = None) -> float:
        """R^2 over all rows."""
        return float(r2_score(y, self.predict(X, tasks=tasks), sample_weight=sample_weight))

    def _task_score(self, y: Array, prediction: Array) -> float:
        return float(r2_score(y, prediction)) if len(y) > 1 else float("nan")

    def uncertainty(self, X: Any, *, tasks: Any = None) -> Any:
        """DataFrame of standard deviations in the unit of y; total^2 = aleatoric^2 + epistemic^2."""
        _, aleatoric, epistemic = self._values(X, tasks)
        return self._frame(X, total=np.hypot(aleatoric, epistemic), aleatoric=aleatoric, epistemic=epistemic)


def _average_values(parts: list[RealPrediction]) -> RealPrediction:
    """The mean over tasks; what the tasks disagree on is model uncertainty."""
    means = np.array([part.mean for part in parts])
    epistemic = np.mean([part.epistemic**2 for part in parts], axis=0) + means.var(axis=0)
    aleatoric = np.mean([part.aleatoric**2 for part in parts], axis=0)
    return RealPrediction(means.mean(axis=0), np.sqrt(aleatoric), np.sqrt(epistemic))
