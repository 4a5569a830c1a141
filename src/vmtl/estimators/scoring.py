"""Scores by their names, task by task."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vmtl._utils.messages import did_you_mean, quoted
from vmtl._utils.types import Array, MatrixLike, VectorLike
from vmtl.estimators import class_metrics, real_metrics
from vmtl.estimators.inputs import column_or_error, encode_tasks, task_values, unique_tasks
from vmtl.estimators.validation import InputValidationMixin

if TYPE_CHECKING:
    import pandas as pd

Score = TypeVar("Score")

#: Scores of class numbers y (n,) and probabilities (n, C).
CLASS_METRICS: dict[str, Callable[[Array, Array], float]] = {
    "accuracy": class_metrics.accuracy,
    "balanced_accuracy": class_metrics.balanced_accuracy,
    "auc": class_metrics.auc,
    "f1": class_metrics.f1,
    "brier": class_metrics.brier,
    "nll": class_metrics.nll,
    "ece": class_metrics.ece,
}
#: Scores of targets y (n,), predicted means (n,) and deviations (n,).
REAL_METRICS: dict[str, Callable[[Array, Array, Array], float]] = {
    "r2": lambda y, mean, std: real_metrics.r2(y, mean),
    "mae": lambda y, mean, std: real_metrics.mae(y, mean),
    "rmse": lambda y, mean, std: real_metrics.rmse(y, mean),
    "nmse": lambda y, mean, std: real_metrics.nmse(y, mean),
    "nll": real_metrics.gaussian_nll,
    "coverage": real_metrics.coverage,
}


class ScoringMixin(InputValidationMixin):
    """``score_tasks``."""

    def score_tasks(
        self, X: MatrixLike, y: VectorLike, *, tasks: VectorLike | None = None, metric: str | None = None
    ) -> pd.Series:
        """The score of every task that has rows in X.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        y : array-like of shape (n,)
            Their true targets.
        tasks : array-like of shape (n,), default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.
        metric : str, default=None
            Of classes ``"accuracy"`` (None is the same), ``"balanced_accuracy"``, ``"auc"``, ``"f1"``, ``"brier"``,
            ``"nll"`` or ``"ece"``. Of numbers ``"r2"`` (None is the same), ``"mae"``, ``"rmse"``, ``"nmse"``,
            ``"nll"`` or ``"coverage"``, the share inside the 90 % interval.

        Returns
        -------
        Series
            One score per task, by its label; NaN where its rows cannot tell, such as the AUC of a single class. The
            mean of the Series leaves those out.
        """
        import pandas as pd

        check_is_fitted(self)
        score = self._scorer(X, y, tasks, metric)
        if self.task_column is not None and tasks is None:
            tasks = column_or_error(X, self.task_column)[1]
        n_rows = len(np.asarray(y))
        labels = task_values([self.tasks_[0]] * n_rows if tasks is None else tasks, n_rows)
        names = unique_tasks(labels)
        codes = encode_tasks(labels, names, allow_unknown=False)
        scores = [score(np.flatnonzero(codes == t)) for t in range(len(names))]
        return pd.Series(scores, index=pd.Index(names, tupleize_cols=False), name=metric)

    def _scorer(
        self, X: MatrixLike, y: VectorLike, tasks: VectorLike | None, metric: str | None
    ) -> Callable[[Array], float]:
        """Row numbers -> the score of these rows."""
        raise NotImplementedError


def metric_named(name: str | None, known: dict[str, Score]) -> Score:
    """The metric of this name, the first of all if None, or an error that names them."""
    if name is None:
        return next(iter(known.values()))
    if name not in known:
        raise ValueError(f"There is no metric {name!r}{did_you_mean(name, known)}; choose one of {', '.join(known)}.")
    return known[name]


def class_numbers(y: VectorLike, classes: Array) -> Array:
    """(n,) the place of every label in ``classes``; one that the model never saw is an error."""
    place = {label: number for number, label in enumerate(classes.tolist())}
    labels = np.asarray(y).tolist()
    strange = [label for label in dict.fromkeys(labels) if label not in place]
    if strange:
        near = did_you_mean(strange[0], place)
        raise ValueError(
            f"y has the class {strange[0]!r}{near}, which the model never saw; it knows {quoted(list(place), most=20)}."
        )
    return np.array([place[label] for label in labels], dtype=np.int64)
