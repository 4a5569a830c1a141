"""Intervals and sets that hold the truth as often as asked for, by how far off left-out rows were."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self, TypeAlias, cast

import numpy as np
import torch
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from vmtl._utils.types import Array, MatrixLike, VectorLike
from vmtl.estimators.inputs.feature_table import index_of
from vmtl.estimators.inputs.task_labels import encode_tasks
from vmtl.estimators.inputs.validation import InputValidationMixin
from vmtl.estimators.mixins.folds import check_folds, fold_numbers, scores_by_folds
from vmtl.inference.fitted import Fitted
from vmtl.results.left_out_scores import LeftOutScores

if TYPE_CHECKING:
    import pandas as pd

    from vmtl.estimators.base import BaseMultiTask

#: Labelled rows that were not in training: X, y and their tasks, which a model of one task does not need.
CalibrationRows: TypeAlias = "tuple[MatrixLike, VectorLike] | tuple[MatrixLike, VectorLike, VectorLike | None]"


class GuaranteesMixin(InputValidationMixin):
    """``predict_interval`` of a regressor and ``predict_set`` of a classifier."""

    _fitted: Fitted
    classes_: Array
    seed_: int

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
        themselves: those of the task, and of all tasks as far as it has fewer than coverage / (1 - coverage). Classes
        have no interval: a classifier refuses.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        tasks : array-like of shape (n,), default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.
        coverage : float, default=0.9
            How often the target is to lie inside.
        calibration : (X, y) or (X, y, tasks), default=None
            Labelled rows that were not in training, to be used instead of the left-out training rows: split conformal
            prediction, for every method and preset.

        Returns
        -------
        DataFrame of n rows
            ``low`` and ``high``, in the unit of y.
        """
        import pandas as pd

        mean, std = self._mean_and_deviation(X, tasks)
        half = self._thresholds(self._codes(X, tasks), coverage, calibration) * std
        return pd.DataFrame({"low": mean - half, "high": mean + half}, index=index_of(X))

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
        1 - p(true class) over the same left-out rows as in ``predict_interval``. A regressor refuses.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        tasks : array-like of shape (n,), default=None
            The task of each row, as for ``predict``.
        coverage : float, default=0.9
            How often the true class is to be in the set.
        calibration : (X, y) or (X, y, tasks), default=None
            Labelled rows to be used instead of the left-out training rows, as in ``predict_interval``.

        Returns
        -------
        DataFrame of shape (n, C)
            True for the classes in the set; one column per class.
        """
        import pandas as pd

        p = self._class_probabilities(X, tasks)
        least = 1 - self._thresholds(self._codes(X, tasks), coverage, calibration)
        inside = (p >= least[:, None]) | (p == p.max(axis=1, keepdims=True))
        return pd.DataFrame(inside, index=index_of(X), columns=pd.Index(self.classes_, tupleize_cols=False))

    def cross_calibrate(
        self,
        X: MatrixLike,
        y: VectorLike,
        *,
        tasks: VectorLike | None = None,
        folds: int = 8,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Measure by ``folds`` further fits how far off predictions are; intervals and sets then rest on that.

        Where rows are few, left-out rows of one fit look too good: kernel and scales were chosen with them.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            The training rows.
        y : array-like of shape (n,)
            Their targets.
        tasks : array-like of shape (n,), default=None
            The task of each row.
        folds : int, default=8
            How many fits; each is without the rows of one fold.
        sample_weight : array-like of shape (n,), default=None
            The weights of the fit.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        x, labels = self._features(X, tasks, reset=False)
        check_folds(folds, len(x))
        codes = encode_tasks(labels, list(self.tasks_), allow_unknown=False)
        weight = _check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True)
        numbers = fold_numbers(codes, folds, self.seed_)
        score = scores_by_folds(cast("BaseMultiTask", self), X, y, tasks, sample_weight, numbers)
        scores = LeftOutScores(*(torch.from_numpy(values) for values in (score, codes, weight)))
        self._fitted = replace(self._fitted, left_out=scores)
        return self

    def has_left_out_scores(self, coverage: float = 0.9) -> bool:
        """Whether ``predict_interval`` or ``predict_set`` can promise this coverage without ``calibration``.

        Parameters
        ----------
        coverage : float, default=0.9
            How often the target is to be inside.

        Returns
        -------
        bool
            False for fits without an exact posterior, and where training rows were fewer than coverage /
            (1 - coverage).
        """
        check_is_fitted(self)
        scores = self._fitted.left_out
        return scores is not None and _enough(scores, coverage)

    def _thresholds(self, codes: Array, coverage: float, calibration: CalibrationRows | None) -> Array:
        """(n,) the score up to which a target is inside, for rows of the tasks ``codes``; -1 is a task without rows."""
        if not isinstance(coverage, int | float) or not 0 < coverage < 1:
            raise ValueError(f"coverage is {coverage!r}; give a number between 0 and 1, such as 0.9.")
        scores = self._left_out_scores() if calibration is None else self._calibration_scores(*calibration)
        if not _enough(scores, coverage):
            n, needed = scores.n_effective, int(np.ceil(coverage / (1 - coverage) - 1e-9))
            raise ValueError(
                f"coverage={coverage} needs {needed} labelled rows, and there are {int(n)}; ask for at most "
                f"{int(1000 * n / (n + 1)) / 1000}."
            )
        return scores.quantiles(float(coverage), len(self.tasks_)).numpy()[codes]

    def _left_out_scores(self) -> LeftOutScores:
        if self._fitted.left_out is None:
            raise ValueError(
                "This model has no left-out predictions (they need the exact posterior of the default preset, and a "
                "file of this version); call cross_calibrate with its training rows, or pass calibration=(X, y, "
                "tasks), labelled rows that were not in training."
            )
        return self._fitted.left_out

    def _calibration_scores(self, X: MatrixLike, y: VectorLike, tasks: VectorLike | None = None) -> LeftOutScores:
        """The scores of labelled rows that the model has not seen."""
        _, labels = self._features(X, tasks, reset=False)
        codes = torch.from_numpy(encode_tasks(labels, list(self.tasks_), allow_unknown=False))
        score = torch.from_numpy(self._nonconformity(X, y, tasks))
        return LeftOutScores(score, codes, torch.ones(len(score), dtype=torch.float64))

    def _mean_and_deviation(self, X: MatrixLike, tasks: VectorLike | None) -> tuple[Array, Array]:
        """(n,) what a regressor predicts, and how far off it expects to be."""
        raise ValueError("A classifier predicts classes, which have no interval; use predict_set.")

    def _class_probabilities(self, X: MatrixLike, tasks: VectorLike | None) -> Array:
        """(n, C) what a classifier predicts."""
        raise ValueError("A regressor predicts numbers, not classes; use predict_interval.")

    def _nonconformity(self, X: MatrixLike, y: VectorLike, tasks: VectorLike | None) -> Array:
        """(n,) how strange the targets are to the model, in float64."""
        raise NotImplementedError


def _enough(scores: LeftOutScores, coverage: float) -> bool:
    """Whether there are as many rows as the coverage needs: (n + 1) (1 - coverage) >= 1."""
    return (scores.n_effective + 1) * (1 - coverage) >= 1 - 1e-9
