"""Scores by their names, task by task."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vmtl._utils.types import Array, MatrixLike, VectorLike
from vmtl.estimators.inputs.feature_table import column_or_error
from vmtl.estimators.inputs.task_labels import encode_tasks, task_values, unique_tasks
from vmtl.estimators.inputs.validation import InputValidationMixin

if TYPE_CHECKING:
    import pandas as pd


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
            For classes ``"accuracy"`` (None is the same), ``"balanced_accuracy"``, ``"auc"``, ``"f1"``, ``"brier"``,
            ``"nll"`` or ``"ece"``. For numbers ``"r2"`` (None is the same), ``"mae"``, ``"rmse"``, ``"nmse"``,
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
