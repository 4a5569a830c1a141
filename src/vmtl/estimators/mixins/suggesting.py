"""Which rows to have labelled next."""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vmtl._utils.messages import counted, did_you_mean, quoted
from vmtl._utils.progress_bar import progress_bar
from vmtl._utils.threads import threads
from vmtl._utils.types import Array, MatrixLike, VectorLike
from vmtl.estimators.inputs.task_labels import encode_tasks
from vmtl.estimators.inputs.validation import InputValidationMixin
from vmtl.inference.prediction import Predictor
from vmtl.inference.suggestion import Pools, choose, make_pools


class SuggestingMixin(InputValidationMixin):
    """``suggest``."""

    _predictor: Predictor
    seed_: int

    def suggest(
        self, X: MatrixLike, tasks: VectorLike | None = None, n: int = 10, *, task: Hashable | None = None
    ) -> Array:
        """The unlabelled rows whose labels would tell most about the labels of all others.

        Rows are chosen one after the other, each given those before it, so that they do not repeat each other.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, D)
            Rows that could be labelled.
        tasks : array-like of shape (n_rows,), default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.
        n : int, default=10
            How many rows to choose.
        task : hashable, default=None
            Choose for this task only, among its rows; None is for all tasks together.

        Returns
        -------
        ndarray of shape (n,)
            Positions in X, the row that tells most first.
        """
        check_is_fitted(self)
        x, labels = self._features(X, tasks, reset=False)
        codes = encode_tasks(labels, list(self.tasks_), allow_unknown=False)
        offered = self._offered(codes, task)
        if not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n is {n!r}; ask for one row or more.")
        if not self._predictor.q_w.stochastic:
            raise ValueError(
                "The weights of this model have no uncertainty that a label could lessen; fit method='vmtl'."
            )
        with threads(self.n_threads):
            pools = make_pools(self._predictor, x[offered], codes[offered], self.seed_)
            return offered[self._choose(pools, int(n))]

    def _choose(self, pools: Pools, n: int) -> Array:
        """Numbers of ``n`` rows that are all different."""
        different = sum(pool.different for _, pool in pools.values())
        if n > different:
            raise ValueError(f"n is {n}, but there are {counted(different, 'different row')} to choose from.")
        chosen = []
        with progress_bar("Choosing", n, visible=bool(self.verbose)) as show:
            for place in choose(pools, n):
                chosen.append(place)
                show()
        return np.array(chosen, dtype=np.int64)

    def _offered(self, codes: Array, task: Hashable | None) -> Array:
        """Numbers of the rows that may be chosen."""
        if task is None:
            return np.arange(len(codes))
        known = list(self.tasks_)
        if task not in known:
            raise ValueError(f"Unknown task {task!r}{did_you_mean(task, known)}; the model knows {quoted(known, 20)}.")
        offered = np.flatnonzero(codes == known.index(task))
        if not len(offered):
            raise ValueError(f"X has no rows of task {task!r}; give some to choose from.")
        return offered
