"""Classification of several related tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import column_or_1d

from vmtl._utils.types import Array, MatrixLike, VectorLike
from vmtl.estimators.base import BaseMultiTask
from vmtl.estimators.inputs.folder_scan import Scan
from vmtl.estimators.inputs.targets import check_classes, check_labels, class_numbers
from vmtl.estimators.inputs.unknown_tasks import RowTasks
from vmtl.estimators.metrics.metric_names import CLASS_METRICS, metric_named
from vmtl.results.predictions import ClassPrediction, Probabilities

if TYPE_CHECKING:
    import pandas as pd


@dataclass(eq=False, repr=False, kw_only=True)
class MultiTaskClassifier(ClassifierMixin, BaseMultiTask):  # type: ignore[misc]
    """Classification of several related tasks that share their classes.

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
    class_weight : dict or "balanced", default=None
        Weight of every class, which multiplies ``sample_weight``; "balanced" gives all classes the same total.
    forest : bool, default=None
        False leaves out the random forest that has a say in the predictions of small tables, as much as left-out rows
        give it (``hyperparameters_.forest_share``).

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The class labels, in the order of the columns of ``predict_proba``.
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
    >>> from vmtl import MultiTaskClassifier
    >>> from vmtl.datasets import load_digits_domains
    >>> digits = load_digits_domains().subset(range(0, 1797, 9))
    >>> model = MultiTaskClassifier(encoder="linear", max_steps=20, random_state=0)
    >>> model.fit(digits.X, digits.labels, tasks=digits.tasks).predict_proba(digits.X[:2], tasks=digits.tasks[:2]).shape
    (2, 10)
    """

    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    forest: bool | None = None

    @property
    def _options(self) -> tuple[str, ...]:
        return (*super()._options, "forest")

    def _encode_target(self, y: VectorLike, sample_weight: Array) -> tuple[Array, Array, int]:
        y = check_labels(column_or_1d(y, warn=True))
        check_classes(y)
        labels, codes = np.unique(y, return_inverse=True)
        counted = np.unique(codes[sample_weight > 0])  # a row of weight 0 is no row, and its class none
        self.classes_, codes = labels[counted], np.searchsorted(counted, codes).clip(max=max(0, len(counted) - 1))
        if self.class_weight is not None:
            weights = compute_class_weight(self.class_weight, classes=self.classes_, y=y[sample_weight > 0])
            sample_weight = sample_weight * weights[codes]
        return codes.astype(np.int64), sample_weight, len(self.classes_)

    def _know_target(self, scan: Scan) -> None:
        check_classes(check_labels(np.array(list(scan.classes), dtype=scan.label_type)))
        self.classes_ = scan.labels

    def _encode_more(self, y: VectorLike, sample_weight: Array) -> tuple[Array, Array, int]:
        y = check_labels(column_or_1d(y, warn=True))
        codes = class_numbers(y, self.classes_)
        if self.class_weight is not None:
            present, by_class = np.unique(y[sample_weight > 0]), np.ones(len(self.classes_))
            weights = compute_class_weight(self.class_weight, classes=present, y=y[sample_weight > 0])
            by_class[class_numbers(present, self.classes_)] = weights
            sample_weight = sample_weight * by_class[codes]
        return codes, sample_weight, len(self.classes_)

    def _classes(self, x: Array, tasks: RowTasks) -> ClassPrediction:
        return self._predict_known(x, tasks, self._predictor.classes, _average_classes)

    def _probabilities(self, x: Array, tasks: RowTasks) -> Array:
        return self._predict_known(x, tasks, self._predictor.probabilities, _average_probabilities).probabilities

    def predict_proba(self, X: MatrixLike, *, tasks: VectorLike | None = None) -> Array:
        """Probabilities of all classes, also of those that a task never saw.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        tasks : array-like of shape (n,), default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.

        Returns
        -------
        ndarray of shape (n, C)
            One column per class, in the order of ``classes_``.
        """
        return self._in_parts(X, tasks, self._probabilities)

    def predict(self, X: MatrixLike, *, tasks: VectorLike | None = None) -> Array:
        """The most probable class of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        tasks : array-like of shape (n,), default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.

        Returns
        -------
        ndarray of shape (n,)
            Class labels.
        """
        most_probable = self._in_parts(X, tasks, lambda x, row_tasks: self._probabilities(x, row_tasks).argmax(axis=1))
        labels: Array = self.classes_[most_probable]
        return labels

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
        tasks : array-like of shape (n,), default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.
        sample_weight : array-like of shape (n,), default=None
            How much each row counts.

        Returns
        -------
        float
            Share of rows whose predicted class is the true one.
        """
        return float(accuracy_score(y, self.predict(X, tasks=tasks), sample_weight=sample_weight))

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

    def _class_probabilities(self, X: MatrixLike, tasks: VectorLike | None) -> Array:
        return self.predict_proba(X, tasks=tasks)

    def _nonconformity(self, X: MatrixLike, y: VectorLike, tasks: VectorLike | None) -> Array:
        codes = class_numbers(y, self.classes_)
        p = self.predict_proba(X, tasks=tasks)
        return 1 - p[np.arange(len(p)), codes].astype(np.float64)

    def uncertainty(self, X: MatrixLike, *, tasks: VectorLike | None = None) -> pd.DataFrame:
        """How uncertain every prediction is, and why, in nats.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        tasks : array-like of shape (n,), default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.

        Returns
        -------
        DataFrame of n rows
            ``total``, the entropy of the mean prediction; ``aleatoric``, the mean entropy over draws (noise in the
            data); ``epistemic``, the rest (what more data would tell).
        """

        def entropies(x: Array, row_tasks: RowTasks) -> Array:
            prediction = self._classes(x, row_tasks)
            return np.column_stack([prediction.total, prediction.aleatoric])

        total, aleatoric = self._in_parts(X, tasks, entropies).T
        return self._frame(X, total=total, aleatoric=aleatoric, epistemic=total - aleatoric)


def _average_probabilities(parts: list[Probabilities], weights: Array) -> Probabilities:
    return Probabilities(np.average([part.probabilities for part in parts], axis=0, weights=weights))


def _average_classes(parts: list[ClassPrediction], weights: Array) -> ClassPrediction:
    """One prediction from the same rows under several tasks."""
    p = np.average([part.probabilities for part in parts], axis=0, weights=weights)
    total = -np.sum(p * np.log(np.maximum(p, 1e-300)), axis=1)
    aleatoric = np.average([part.aleatoric for part in parts], axis=0, weights=weights)
    return ClassPrediction(p, total, np.minimum(aleatoric, total))
