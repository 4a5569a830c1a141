"""A task more, without fitting again."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import Self

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from vmtl._utils.threads import threads
from vmtl._utils.types import Array, MatrixLike, VectorLike
from vmtl.data.rows import Rows
from vmtl.estimators.inputs.task_labels import task_values
from vmtl.estimators.inputs.validation import InputValidationMixin
from vmtl.inference.added_tasks.extension import add_rows, why_not
from vmtl.inference.fitted import Fitted
from vmtl.inference.prediction import Predictor


class AddingMixin(InputValidationMixin):
    """``add_task``."""

    classes_: Array
    seed_: int

    def add_task(
        self, X: MatrixLike, y: VectorLike, *, task: Hashable, sample_weight: VectorLike | None = None
    ) -> Self:
        """Learn one more task from its rows and from what the other tasks know, without fitting again.

        The other tasks keep their predictions to the bit, and kernel, features and scales stay as they were inferred.
        A task of a known name gets more rows: what is known of it so far counts as well as these.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Labelled rows of the task, with the columns of training.
        y : array-like of shape (n,)
            Their targets: classes that the model knows, or numbers.
        task : hashable
            The name of the task.
        sample_weight : array-like of shape (n,), default=None
            How much each row counts; a row of weight 2 is a row twice.

        Returns
        -------
        self
            The extended estimator; after an error it is as it was before.
        """
        check_is_fitted(self)
        reason = why_not(self._fitted)
        if reason is not None:
            raise ValueError(f"No task can be added to this model: {reason}.")
        label = task_values([task], 1)[0]
        names = list(dict.fromkeys([*self.tasks_, label]))
        rows = self._further_rows(X, y, label, names, sample_weight)
        with threads(self.n_threads):
            self._take_over(add_rows(self._fitted, rows, self.seed_), names)
        return self

    def _further_rows(
        self, X: MatrixLike, y: VectorLike, label: Hashable, names: list[Hashable], sample_weight: VectorLike | None
    ) -> Rows:
        """The rows of one task, checked; ``names`` = all tasks with it."""
        n_rows = _count(X)
        if n_rows == 0:
            raise ValueError(f"X has no rows; give at least one of task {label!r}.")
        x, _ = self._features(X, [label] * n_rows, reset=False)
        n_targets = 0 if y is None else len(np.asarray(y))
        if n_targets != n_rows:
            raise ValueError(f"y has {n_targets} targets but X has {n_rows} rows; give one per row.")
        weight = _check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True)
        target, weight, n_classes = self._encode_more(y, weight)
        if len(names) > len(self.tasks_):
            self._warn_of_one_class(label, target[weight > 0], n_classes)
        codes = np.full(n_rows, names.index(label))
        return self._rows(x, target, codes, weight, len(names), n_classes)

    def _take_over(self, fitted: Fitted, names: list[Hashable]) -> None:
        """The extended model in place of the one before."""
        predictor = self._make_predictor(fitted)
        tasks = np.empty(len(names), dtype=object)
        tasks[:] = names
        self._fitted, self._predictor, self.tasks_ = fitted, predictor, tasks

    def _warn_of_one_class(self, label: Hashable, target: Array, n_classes: int) -> None:
        if n_classes > 1 and len(np.unique(target)) == 1:
            only = self.classes_.tolist()[int(target[0])]
            warnings.warn(
                f"All rows of task {label!r} are of class {only!r}; what it predicts of other classes is what the "
                "other tasks know.",
                stacklevel=4,
            )

    def _make_predictor(self, fitted: Fitted) -> Predictor:
        raise NotImplementedError


def _count(X: MatrixLike) -> int:
    """Rows of X."""
    shape: tuple[int, ...] = getattr(X, "shape", None) or np.shape(X)
    if not shape:
        raise ValueError(f"X must be a table of rows and columns; got {X!r}.")
    return shape[0]
