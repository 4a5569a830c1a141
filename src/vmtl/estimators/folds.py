"""How far off whole fits are on rows that had no part in them, fold by fold."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from vmtl._utils.progress_bar import progress_bar
from vmtl._utils.types import Array, MatrixLike, VectorLike

if TYPE_CHECKING:
    from vmtl.estimators.base import BaseTaskEstimator


def fold_numbers(codes: Array, folds: int, seed: int) -> Array:
    """(n,) the fold of every row of the tasks ``codes``: at random, and each task spread over as many as it can be."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    numbers = np.empty(len(codes), dtype=np.int64)
    numbers[order] = np.arange(len(codes)) % folds
    return numbers


def scores_by_folds(
    estimator: BaseTaskEstimator,
    X: MatrixLike,
    y: VectorLike,
    labels: Array,
    sample_weight: VectorLike | None,
    numbers: Array,
) -> Array:
    """(n,) how strange each target is to a fit without the rows of its fold ``numbers`` (n,).

    ``labels`` (n,) are the tasks of the rows. A class that a fit never saw is as strange as anything can be.
    """
    scores = np.full(len(numbers), np.inf)
    targets = np.asarray(y)
    with progress_bar("Fits without a fold", int(numbers.max()) + 1, visible=bool(estimator.verbose)) as show:
        for fold in np.unique(numbers):
            rest, left_out = np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)
            other = clone(estimator).set_params(random_state=estimator.seed_, unknown_task="average", verbose=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what is wrong with the rows was said when all were fitted
                other.fit(
                    _safe_indexing(X, rest),
                    targets[rest],
                    tasks=labels[rest],
                    sample_weight=None if sample_weight is None else _safe_indexing(sample_weight, rest),
                )
            seen = left_out[np.isin(targets[left_out], getattr(other, "classes_", targets[left_out]))]
            if len(seen):
                scores[seen] = other._nonconformity(_safe_indexing(X, seen), targets[seen], labels[seen])
            show()
    known = np.isfinite(scores)
    scores[~known] = max(1.0, float(scores[known].max(initial=0.0)))
    return scores


def check_folds(folds: Any, n_rows: int) -> None:
    """A number of folds that ``n_rows`` rows can be divided into."""
    if not isinstance(folds, Integral) or not 2 <= int(folds) <= n_rows:
        raise ValueError(f"folds is {folds!r}; give a number from 2 to {n_rows}, the number of rows.")
