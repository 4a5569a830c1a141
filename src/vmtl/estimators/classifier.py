"""Classification of several related tasks."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from vmtl._utils.types import Array
from vmtl.estimators.base import BaseMultiTask
from vmtl.estimators.inputs import check_labels
from vmtl.inference.prediction import ClassPrediction, Probabilities


class MultiTaskClassifier(ClassifierMixin, BaseMultiTask):  # type: ignore[misc]
    """Classification of several related tasks that share their classes.

    Parameters
    ----------
    method : str or Method, default="vmtl"
        One of ``vmtl.METHODS``, or a ``Method`` of your own.
    preset : {"default", "paper", "released"}, default="default"
        Where every option that is None takes its value from.
    encoder : {"kernel", "linear", "noisy-linear", "mlp"}, default=None
        How a row becomes a representation z.
    latent_dim : int, optional
        K, the size of z.
    sharing : float in [0, 1], optional
        r, how strongly the prior of a task follows the other tasks; 1 is the paper, 0 is N(0, I).
    kl_form : {"bound", "monte-carlo", "moment-matched", "weighted-sum"}, default=None
        How the KL to the mixture prior is computed.
    mixing : {"gumbel", "learnable", "mean"}, default=None
        How the mixing weights are found.
    tie_mixing : bool, optional
        The same mixing weights for w and z.
    bayesian_z, bayesian_w : bool, optional
        False makes the representation or the classifier deterministic.
    n_z, n_w : int, optional
        L and M, the number of draws of z and w in training and prediction.
    max_steps : int, optional
    learning_rate : float, optional
        First learning rate; the preset's schedule stays.
    batch_rows : int, optional
        Rows per class and task in a step (in regression ten times as many per task); 0 is all rows.
    predictive : {"monte-carlo", "moment", "mean"}, default=None
    task_column : str, optional
        Take the task from this column of a DataFrame X instead of ``tasks``.
    unknown_task : {"error", "average"}, default="error"
        A task at prediction that was not in training is an error, or predicted as the average of all tasks.
    missing : {"error", "impute"}, default="error"
        Gaps in X are refused, or filled with the column's mean beside an indicator.
    class_weight : dict or "balanced", optional
    early_stopping : bool, default=False
        Stop when the likelihood of a hold-out of the training rows no longer improves.
    device : str, default="cpu"
    dtype : {"float32", "float64"}, default="float32"
    n_threads : int, optional
        Threads for torch during fit and predict; None leaves the process as it is.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : (C,) array
    tasks_ : (T,) array
    alpha_, beta_ : DataFrame (T, T)
        Learned mixing weights for w and z: row t says how much task t takes from each other task.
    sharing_ : Series (T,)
        How strongly each task follows its mixture: 1 is the paper, 0 is on its own.
    history_ : DataFrame
    """

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
        class_weight: Any = None,
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
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.device = device
        self.dtype = dtype
        self.n_threads = n_threads
        self.verbose = verbose
        self.random_state = random_state

    def _encode_target(self, y: Any, sample_weight: Array) -> tuple[Array, Array, int]:
        y = check_labels(column_or_1d(y, warn=True))
        check_classification_targets(y)
        labels, codes = np.unique(y, return_inverse=True)
        counted = np.unique(codes[sample_weight > 0])  # a row of weight 0 is no row, and its class none
        self.classes_, codes = labels[counted], np.searchsorted(counted, codes).clip(max=max(0, len(counted) - 1))
        if self.class_weight is not None:
            weights = compute_class_weight(self.class_weight, classes=self.classes_, y=y[sample_weight > 0])
            sample_weight = sample_weight * weights[codes]
        return codes.astype(np.int64), sample_weight, len(self.classes_)

    def _classes(self, x: Array, codes: Array) -> ClassPrediction:
        return self._predict_known(x, codes, self._predictor.classes, _average_classes)

    def _probabilities(self, x: Array, codes: Array) -> Array:
        return self._predict_known(x, codes, self._predictor.probabilities, _average_probabilities).probabilities

    def predict_proba(self, X: Any, *, tasks: Any = None) -> Array:
        """(n, C) probabilities of all classes, also of those that a task never saw."""
        return self._in_parts(X, tasks, self._probabilities)

    def predict(self, X: Any, *, tasks: Any = None) -> Array:
        """(n,) the most probable class."""
        best = self._in_parts(X, tasks, lambda x, codes: self._probabilities(x, codes).argmax(axis=1))
        labels: Array = self.classes_[best]
        return labels

    def score(self, X: Any, y: Any, *, tasks: Any = None, sample_weight: Any = None) -> float:
        """Accuracy over all rows."""
        return float(accuracy_score(y, self.predict(X, tasks=tasks), sample_weight=sample_weight))

    def _task_score(self, y: Array, prediction: Array) -> float:
        return float(accuracy_score(y, prediction))

    def uncertainty(self, X: Any, *, tasks: Any = None) -> Any:
        """DataFrame in nats: total = entropy of the mean prediction, aleatoric = mean entropy, epistemic = rest."""

        def read(x: Array, codes: Array) -> Array:
            found = self._classes(x, codes)
            return np.column_stack([found.total, found.aleatoric])

        total, aleatoric = self._in_parts(X, tasks, read).T
        return self._frame(X, total=total, aleatoric=aleatoric, epistemic=total - aleatoric)


def _average_probabilities(parts: list[Probabilities]) -> Probabilities:
    return Probabilities(np.mean([part.probabilities for part in parts], axis=0))


def _average_classes(parts: list[ClassPrediction]) -> ClassPrediction:
    """One prediction from the same rows under every task."""
    p = np.mean([part.probabilities for part in parts], axis=0)
    total = -np.sum(p * np.log(np.maximum(p, 1e-300)), axis=1)
    return ClassPrediction(p, total, np.minimum(np.mean([part.aleatoric for part in parts], axis=0), total))
