"""What both classifiers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from vmtl._utils.types import Array, MatrixLike, VectorLike
from vmtl.estimators.base import BaseTaskEstimator, CalibrationRows
from vmtl.estimators.inputs.feature_table import index_of
from vmtl.estimators.inputs.target_encoding import ClassEncoder, ClassWeight, TargetEncoder
from vmtl.estimators.inputs.targets import class_numbers
from vmtl.estimators.inputs.unknown_tasks import RowTasks
from vmtl.estimators.metrics.metric_names import CLASS_METRICS, metric_named

if TYPE_CHECKING:
    import pandas as pd

    from vmtl.estimators.inputs.folder_scan import Scan


class BaseTaskClassifier(ClassifierMixin, BaseTaskEstimator):  # type: ignore[misc]
    """Classification of several tasks that share their classes."""

    __metadata_request__predict_proba: ClassVar[dict[str, bool]] = {"tasks": True}
    __metadata_request__predict_log_proba: ClassVar[dict[str, bool]] = {"tasks": True}

    class_weight: ClassWeight
    classes_: Array

    def _learn_encoder(self, y: VectorLike, sample_weight: Array) -> tuple[TargetEncoder, Array, Array]:
        return ClassEncoder.learn(y, sample_weight, self.class_weight)

    def _encoder_of_scan(self, scan: Scan) -> TargetEncoder:
        return ClassEncoder.of_counts(scan.labels, scan.counts, self.class_weight)

    def _keep_encoder(self, encoder: TargetEncoder) -> None:
        assert isinstance(encoder, ClassEncoder)
        self._encoder, self.classes_ = encoder, encoder.classes

    def predict_rows(self, x: Array, tasks: RowTasks) -> list[Array]:
        return [self._predictor.probabilities(x, tasks).astype(np.float64)]

    def predict_proba(self, X: MatrixLike, *, tasks: VectorLike | None = None) -> Array:
        """Probabilities of all classes, also of those that a task never saw.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        tasks : array-like of shape (n,) or a single label, default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.

        Returns
        -------
        ndarray of shape (n, C)
            One column per class, in the order of ``classes_``.
        """
        return self._in_parts(X, tasks, lambda x, row_tasks: self._predictor.probabilities(x, row_tasks))

    def predict_log_proba(self, X: MatrixLike, *, tasks: VectorLike | None = None) -> Array:
        """Logarithms of the probabilities of all classes.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        tasks : array-like of shape (n,) or a single label, default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.

        Returns
        -------
        ndarray of shape (n, C)
            One column per class, in the order of ``classes_``.
        """
        p = self.predict_proba(X, tasks=tasks)
        logarithms: Array = np.log(np.maximum(p, np.finfo(p.dtype).tiny))
        return logarithms

    def predict(self, X: MatrixLike, *, tasks: VectorLike | None = None) -> Array:
        """The most probable class of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        tasks : array-like of shape (n,) or a single label, default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.

        Returns
        -------
        ndarray of shape (n,)
            Class labels.
        """

        def most_probable(x: Array, row_tasks: RowTasks) -> Array:
            places: Array = self._predictor.probabilities(x, row_tasks).argmax(axis=1)
            return places

        labels: Array = self._in_parts(X, tasks, most_probable)
        return np.asarray(self.classes_[labels])

    def score(
        self,
        X: MatrixLike,
        y: VectorLike,
        *,
        tasks: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> float:
        """Accuracy over all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        y : array-like of shape (n,)
            Their true classes.
        tasks : array-like of shape (n,) or a single label, default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.
        sample_weight : array-like of shape (n,), default=None
            How much each row counts.

        Returns
        -------
        float
            Share of rows whose predicted class is the true one.
        """
        return float(accuracy_score(y, self.predict(X, tasks=tasks), sample_weight=sample_weight))

    def predict_set(
        self,
        X: MatrixLike,
        *,
        tasks: VectorLike | None = None,
        coverage: float = 0.9,
        calibration: CalibrationRows | None = None,
    ) -> pd.DataFrame:
        """Sets of classes that hold the true one as often as asked for, task by task as far as its rows allow.

        All classes of a probability of at least 1 - q_t and always the most probable one, where q_t is a quantile of
        1 - p(true class) over training rows that are predicted without themselves: those of the task, and of all tasks
        as far as it has fewer than coverage / (1 - coverage).

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        tasks : array-like of shape (n,) or a single label, default=None
            The task of each row, as for ``predict``.
        coverage : float, default=0.9
            How often the true class is to be in the set.
        calibration : (X, y) or (X, y, tasks), default=None
            Labelled rows that were not in training, to be used instead of the left-out training rows: split conformal
            prediction, for every estimator and method.

        Returns
        -------
        DataFrame of shape (n, C)
            True for the classes in the set; one column per class.
        """
        import pandas as pd

        p = self.predict_proba(X, tasks=tasks)
        inside = self._conformal(calibration).sets(p, self._row_codes(X, tasks), coverage)
        return pd.DataFrame(inside, index=index_of(X), columns=pd.Index(self.classes_, tupleize_cols=False))

    def uncertainty(self, X: MatrixLike, *, tasks: VectorLike | None = None) -> pd.DataFrame:
        """How uncertain every prediction is, and why, in nats.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        tasks : array-like of shape (n,) or a single label, default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.

        Returns
        -------
        DataFrame of n rows
            ``total``, the entropy of the mean prediction; ``aleatoric``, the mean entropy over the posterior (noise in
            the data); ``epistemic``, the rest (what more data would tell).
        """

        def entropies(x: Array, row_tasks: RowTasks) -> Array:
            prediction = self._predictor.classes(x, row_tasks)
            return np.column_stack([prediction.total, prediction.aleatoric])

        total, aleatoric = self._in_parts(X, tasks, entropies).T
        return self._frame(X, total=total, aleatoric=aleatoric, epistemic=total - aleatoric)

    def _scorer(
        self, X: MatrixLike, y: VectorLike, tasks: VectorLike | None, metric: str | None
    ) -> Callable[[Array], float]:
        score = metric_named(metric, CLASS_METRICS)
        if metric is None:  # as ``score``: a class that the model never saw is a wrong prediction
            right = np.asarray(y) == self.predict(X, tasks=tasks)
            return lambda rows: float(right[rows].mean())
        p = self.predict_proba(X, tasks=tasks)
        codes = class_numbers(y, self.classes_)
        return lambda rows: score(codes[rows], p[rows])

    def _nonconformity(self, X: MatrixLike, y: VectorLike, tasks: VectorLike | None) -> Array:
        codes = class_numbers(y, self.classes_)
        p = self.predict_proba(X, tasks=tasks)
        return 1 - p[np.arange(len(p)), codes].astype(np.float64)
