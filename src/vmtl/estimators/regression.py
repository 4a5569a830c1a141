"""What both regressors share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from vmtl._utils.types import Array, MatrixLike, VectorLike
from vmtl.estimators.base import BaseTaskEstimator, CalibrationRows
from vmtl.estimators.inputs.feature_table import index_of
from vmtl.estimators.inputs.target_encoding import RealEncoder, TargetEncoder
from vmtl.estimators.inputs.targets import check_targets
from vmtl.estimators.inputs.unknown_tasks import RowTasks
from vmtl.estimators.metrics.metric_names import REAL_METRICS, metric_named

if TYPE_CHECKING:
    import pandas as pd

    from vmtl.estimators.inputs.folder_scan import Scan


class BaseTaskRegressor(RegressorMixin, BaseTaskEstimator):  # type: ignore[misc]
    """Regression of several tasks that share their target."""

    y_mean_: float
    y_scale_: float

    def _learn_encoder(self, y: VectorLike, sample_weight: Array) -> tuple[TargetEncoder, Array, Array]:
        return RealEncoder.learn(y, sample_weight)

    def _encoder_of_scan(self, scan: Scan) -> TargetEncoder:
        values = scan.values
        if values.kind != "number":
            raise ValueError(f"y must be numbers for a regression; {values.name!r} holds {values.kind}s.")
        return RealEncoder(values.mean, float(np.sqrt(values.squares / values.count)) or 1.0)

    def _keep_encoder(self, encoder: TargetEncoder) -> None:
        assert isinstance(encoder, RealEncoder)
        self._encoder, self.y_mean_, self.y_scale_ = encoder, encoder.mean, encoder.scale

    def predict_rows(self, x: Array, tasks: RowTasks) -> list[Array]:
        mean, aleatoric, epistemic = self._moments_of_rows(x, tasks).T
        return [mean, np.hypot(aleatoric, epistemic)]

    def _moments(self, X: MatrixLike, tasks: VectorLike | None) -> Array:
        """(3, n) predictive mean, aleatoric and epistemic deviation in the unit of y."""
        return self._in_parts(X, tasks, self._moments_of_rows).T

    def _moments_of_rows(self, x: Array, tasks: RowTasks) -> Array:
        """(n, 3) the same, of rows that have been read."""
        prediction = self._predictor.values(x, tasks)
        columns = np.column_stack([prediction.mean, prediction.aleatoric, prediction.epistemic])
        return np.asarray(self.y_scale_ * columns.astype(np.float64) + [self.y_mean_, 0.0, 0.0])

    @overload
    def predict(
        self, X: MatrixLike, *, tasks: VectorLike | None = None, return_std: Literal[False] = False
    ) -> Array: ...

    @overload
    def predict(
        self, X: MatrixLike, *, tasks: VectorLike | None = None, return_std: Literal[True]
    ) -> tuple[Array, Array]: ...

    def predict(
        self, X: MatrixLike, *, tasks: VectorLike | None = None, return_std: bool = False
    ) -> Array | tuple[Array, Array]:
        """The predictive mean of every row, in the unit of y.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        tasks : array-like of shape (n,) or a single label, default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.
        return_std : bool, default=False
            Also return the total standard deviation.

        Returns
        -------
        ndarray of shape (n,), or a pair of them
            The mean; with ``return_std`` also the standard deviation.
        """
        mean, aleatoric, epistemic = self._moments(X, tasks)
        return (mean, np.hypot(aleatoric, epistemic)) if return_std else mean

    def score(
        self,
        X: MatrixLike,
        y: VectorLike,
        *,
        tasks: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> float:
        """R^2 over all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        y : array-like of shape (n,)
            Their true targets.
        tasks : array-like of shape (n,) or a single label, default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.
        sample_weight : array-like of shape (n,), default=None
            How much each row counts.

        Returns
        -------
        float
            1 for perfect predictions, 0 for the mean of y.
        """
        return float(r2_score(y, self.predict(X, tasks=tasks), sample_weight=sample_weight))

    def predict_interval(
        self,
        X: MatrixLike,
        *,
        tasks: VectorLike | None = None,
        coverage: float = 0.9,
        calibration: CalibrationRows | None = None,
    ) -> pd.DataFrame:
        """Intervals that hold the target as often as asked for, task by task as far as its rows allow.

        mean +- q_t std, where q_t is a quantile of |y - mean| / std over training rows that are predicted without
        themselves: those of the task, and of all tasks as far as it has fewer than coverage / (1 - coverage).

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        tasks : array-like of shape (n,) or a single label, default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.
        coverage : float, default=0.9
            How often the target is to lie inside.
        calibration : (X, y) or (X, y, tasks), default=None
            Labelled rows that were not in training, to be used instead of the left-out training rows: split conformal
            prediction, for every estimator and method.

        Returns
        -------
        DataFrame of n rows
            ``low`` and ``high``, in the unit of y.
        """
        import pandas as pd

        mean, std = self.predict(X, tasks=tasks, return_std=True)
        low, high = self._conformal(calibration).intervals(mean, std, self._row_codes(X, tasks), coverage)
        return pd.DataFrame({"low": low, "high": high}, index=index_of(X))

    def uncertainty(self, X: MatrixLike, *, tasks: VectorLike | None = None) -> pd.DataFrame:
        """How uncertain every prediction is, and why, as standard deviations in the unit of y.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        tasks : array-like of shape (n,) or a single label, default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.

        Returns
        -------
        DataFrame of n rows
            ``total``; ``aleatoric``, the noise in the data; ``epistemic``, what more data would tell;
            total^2 = aleatoric^2 + epistemic^2.
        """
        _, aleatoric, epistemic = self._moments(X, tasks)
        return self._frame(X, total=np.hypot(aleatoric, epistemic), aleatoric=aleatoric, epistemic=epistemic)

    def _scorer(
        self, X: MatrixLike, y: VectorLike, tasks: VectorLike | None, metric: str | None
    ) -> Callable[[Array], float]:
        score = metric_named(metric, REAL_METRICS)
        mean, std = self.predict(X, tasks=tasks, return_std=True)
        targets = check_targets(y)
        return lambda rows: score(targets[rows], mean[rows], std[rows])

    def _nonconformity(self, X: MatrixLike, y: VectorLike, tasks: VectorLike | None) -> Array:
        mean, std = self.predict(X, tasks=tasks, return_std=True)
        return np.asarray(np.abs(check_targets(y) - mean) / std)
