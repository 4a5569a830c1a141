"""Regression of several related tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from vmtl._utils.types import Array, MatrixLike, VectorLike
from vmtl.estimators.base import BaseMultiTask
from vmtl.estimators.inputs.folder_scan import Scan
from vmtl.estimators.inputs.targets import check_targets
from vmtl.estimators.inputs.unknown_tasks import RowTasks
from vmtl.estimators.metrics.metric_names import REAL_METRICS, metric_named
from vmtl.results.predictions import RealPrediction

if TYPE_CHECKING:
    import pandas as pd


class MultiTaskRegressor(RegressorMixin, BaseMultiTask):  # type: ignore[misc]
    """Regression of several related tasks.

    Parameters
    ----------
    method : str or Method, default="vmtl"
        A name in ``vmtl.METHODS``, or a ``Method`` of your own.
    preset : {"default", "paper", "released"}, default="default"
        Where every option that is None takes its value from.
    encoder : {"kernel", "linear", "noisy-linear", "mlp", "noisy-mlp"}, default=None
        How a row becomes a representation z.
    latent_dim : int, default=None
        K, the size of z.
    sharing : float in [0, 1], default=None
        r, how strongly the prior of a task follows the other tasks: 1 is the paper, 0 is N(0, I). In the default
        preset it is inferred per task.
    kl_form : {"bound", "monte-carlo", "moment-matched", "weighted-sum"}, default=None
        How the KL to the mixture prior is computed.
    mixing : {"gumbel", "learnable", "mean"}, default=None
        How the mixing weights are found: by the Gumbel-Softmax, by a softmax without noise, or all alike.
    tie_mixing : bool, default=None
        The same mixing weights for w and z.
    bayesian_z : bool, default=None
        False makes the representation z deterministic.
    bayesian_w : bool, default=None
        False makes the weights w deterministic.
    n_z : int, default=None
        L, the number of draws of z in training and prediction.
    n_w : int, default=None
        M, the number of draws of w for each draw of z.
    max_steps : int, default=None
        Training steps.
    learning_rate : float, default=None
        First learning rate; the preset's schedule stays.
    batch_rows : int, default=None
        Rows per class and task in a step, in regression ten times as many per task; 0 is all rows.
    predictive : {"monte-carlo", "moment", "mean"}, default=None
        How predictions average over the posterior: by draws, by moments in closed form, or not at all.
    task_column : hashable, default=None
        Take the task from this column of a DataFrame X instead of ``tasks``.
    unknown_task : {"error", "average", "similar"}, default="error"
        A task at prediction that was not in training is an error, or predicted as the average of all tasks, or of those
        whose representations its rows resemble: then a prediction depends on the rows of that task in the same call.
    missing : {"error", "impute"}, default="error"
        Gaps in X are refused, or filled with the column's mean beside an indicator.
    early_stopping : bool, default=False
        Stop when the likelihood of a hold-out of the training rows no longer improves.
    device : str, default="cpu"
        Where torch computes during ``fit``.
    dtype : {"float32", "float64"}, default="float32"
        Numbers of all computations.
    n_threads : int, default=None
        Threads for torch during ``fit`` and ``predict``; None leaves the process as it is.
    verbose : int, default=0
        1 shows a progress bar on standard error.
    random_state : int, RandomState instance or None, default=None
        The source of all random draws; an int makes a fit repeatable to the bit.

    Attributes
    ----------
    tasks_ : ndarray of shape (T,)
        The task labels, in the order of every axis of tasks.
    alpha_, beta_ : DataFrame of shape (T, T)
        Learned mixing weights for w and z: row t says how much task t takes from each other task. With more than
        1,000 tasks there is no such table; ``teachers(task)`` says from whom one of them learns.
    sharing_ : Series of shape (T,)
        How strongly each task follows its mixture: 1 is the paper, 0 is on its own.
    history_ : DataFrame
        Every term of the objective at every recorded step and task.
    settings_ : Settings
        The settings of the fit: the preset with all options.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had names that are text.

    Examples
    --------
    >>> from vmtl import MultiTaskRegressor
    >>> from vmtl.datasets import load_rotated_digits
    >>> digits = load_rotated_digits().subset(range(0, 1797, 9))
    >>> model = MultiTaskRegressor(encoder="linear", max_steps=20, random_state=0)
    >>> model.fit(digits.X, digits.labels, tasks=digits.tasks).predict(digits.X[:2], tasks=digits.tasks[:2]).shape
    (2,)
    """

    def _encode_target(self, y: VectorLike, sample_weight: Array) -> tuple[Array, Array, int]:
        values = check_targets(y)
        share = sample_weight / sample_weight.sum()
        self.y_mean_ = float(share @ values)
        self.y_scale_ = float(np.sqrt(share @ (values - self.y_mean_) ** 2)) or 1.0
        return (values - self.y_mean_) / self.y_scale_, sample_weight, 1

    def _know_target(self, scan: Scan) -> None:
        if scan.values.kind != "number":
            raise ValueError(f"y must be numbers for a regression; {scan.values.name!r} holds {scan.values.kind}s.")
        self.y_mean_ = scan.values.mean
        self.y_scale_ = float(np.sqrt(scan.values.squares / scan.values.count)) or 1.0

    def _encode_more(self, y: VectorLike, sample_weight: Array) -> tuple[Array, Array, int]:
        return (check_targets(y) - self.y_mean_) / self.y_scale_, sample_weight, 1

    def _values(self, x: Array, tasks: RowTasks) -> Array:
        """(n, 3) predictive mean, aleatoric and epistemic deviation in the unit of y."""
        prediction = self._predict_known(x, tasks, self._predictor.values, _average_values)
        columns = np.column_stack([prediction.mean, prediction.aleatoric, prediction.epistemic])
        return np.asarray(self.y_scale_ * columns.astype(np.float64) + [self.y_mean_, 0.0, 0.0])

    def _moments(self, X: MatrixLike, tasks: VectorLike | None) -> Array:
        """(3, n) the same of rows as users have them."""
        return self._in_parts(X, tasks, self._values).T

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
        tasks : array-like of shape (n,), default=None
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
        tasks : array-like of shape (n,), default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.
        sample_weight : array-like of shape (n,), default=None
            How much each row counts.

        Returns
        -------
        float
            1 for perfect predictions, 0 for the mean of y.
        """
        return float(r2_score(y, self.predict(X, tasks=tasks), sample_weight=sample_weight))

    def _scorer(
        self, X: MatrixLike, y: VectorLike, tasks: VectorLike | None, metric: str | None
    ) -> Callable[[Array], float]:
        score = metric_named(metric, REAL_METRICS)
        mean, std = self.predict(X, tasks=tasks, return_std=True)
        targets = check_targets(y)
        return lambda rows: score(targets[rows], mean[rows], std[rows])

    def _mean_and_deviation(self, X: MatrixLike, tasks: VectorLike | None) -> tuple[Array, Array]:
        return self.predict(X, tasks=tasks, return_std=True)

    def _nonconformity(self, X: MatrixLike, y: VectorLike, tasks: VectorLike | None) -> Array:
        mean, std = self.predict(X, tasks=tasks, return_std=True)
        return np.asarray(np.abs(check_targets(y) - mean) / std)

    def uncertainty(self, X: MatrixLike, *, tasks: VectorLike | None = None) -> pd.DataFrame:
        """How uncertain every prediction is, and why, as standard deviations in the unit of y.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        tasks : array-like of shape (n,), default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.

        Returns
        -------
        DataFrame of n rows
            ``total``; ``aleatoric``, the noise in the data; ``epistemic``, what more data would tell;
            total^2 = aleatoric^2 + epistemic^2.
        """
        _, aleatoric, epistemic = self._moments(X, tasks)
        return self._frame(X, total=np.hypot(aleatoric, epistemic), aleatoric=aleatoric, epistemic=epistemic)


def _average_values(parts: list[RealPrediction], weights: Array) -> RealPrediction:
    """The mean over tasks; what the tasks disagree on is model uncertainty."""
    means = np.array([part.mean for part in parts])
    mean = np.average(means, axis=0, weights=weights)
    squares = [part.epistemic**2 for part in parts] + (means - mean) ** 2
    aleatoric = np.average([part.aleatoric**2 for part in parts], axis=0, weights=weights)
    return RealPrediction(mean, np.sqrt(aleatoric), np.sqrt(np.average(squares, axis=0, weights=weights)))
