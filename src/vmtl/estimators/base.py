"""What both estimators share: fitting, predicting, saving and loading."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
import torch
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from vmtl._utils.progress_bar import progress_bar
from vmtl._utils.threads import threads
from vmtl._utils.types import Array, MatrixLike, VectorLike
from vmtl.config.settings import Settings
from vmtl.data.rows import Rows
from vmtl.estimators.inputs.feature_table import check_prediction, index_of
from vmtl.estimators.inputs.task_labels import encode_tasks, unique_tasks
from vmtl.estimators.inputs.unknown_tasks import RowTasks
from vmtl.estimators.mixins.adding import AddingMixin
from vmtl.estimators.mixins.all_or_nothing import all_or_nothing
from vmtl.estimators.mixins.fitted_attributes import FittedAttributesMixin
from vmtl.estimators.mixins.folders import FoldersMixin
from vmtl.estimators.mixins.guarantees import GuaranteesMixin
from vmtl.estimators.mixins.saving import SavingMixin
from vmtl.estimators.mixins.scoring import ScoringMixin
from vmtl.estimators.mixins.suggesting import SuggestingMixin
from vmtl.estimators.parameters import DTYPES
from vmtl.inference.fitted import Fitted
from vmtl.inference.prediction import Predictor
from vmtl.inference.strategy import fit
from vmtl.inference.variational.checkpoints import Checkpoint, fingerprint
from vmtl.inference.variational.early_stopping import hold_out
from vmtl.inference.variational.run import Callbacks
from vmtl.inference.variational.training import DivergenceError, Hook, Progress
from vmtl.methods import get_method
from vmtl.model.method import Method

if TYPE_CHECKING:
    import pandas as pd

Prediction = TypeVar("Prediction")


class BaseMultiTask(
    FittedAttributesMixin, SavingMixin, ScoringMixin, GuaranteesMixin, SuggestingMixin, AddingMixin, FoldersMixin
):
    """The estimators' common part."""

    __metadata_request__fit = {"checkpoint": UNUSED, "callback": UNUSED}  # noqa: RUF012

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = False
        return tags

    # -- fitting ---------------------------------------------------------------------------------------

    def _encode_target(self, y: VectorLike, sample_weight: Array) -> tuple[Array, Array, int]:
        raise NotImplementedError

    def fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        *,
        tasks: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        checkpoint: str | Path | None = None,
        callback: Callable[[Progress], None] | None = None,
    ) -> Self:
        """Fit all tasks together.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Training rows of all tasks. Columns of a DataFrame may hold numbers, text and dates.
        y : array-like of shape (n,)
            Their targets.
        tasks : array-like of shape (n,), default=None
            The task of each row, any hashable label; None for one task, or with ``task_column``.
        sample_weight : array-like of shape (n,), default=None
            How much each row counts; a row of weight 2 is a row twice.
        checkpoint : path, default=None
            A folder from which an interrupted call continues.
        callback : callable, default=None
            Called with the ``Progress`` of each step.

        Returns
        -------
        self
            The fitted estimator; after an error it is as it was before.
        """
        with all_or_nothing(self):
            self._fit(X, y, tasks, sample_weight, checkpoint, callback)
        return self

    def _fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        tasks: VectorLike | None,
        sample_weight: VectorLike | None,
        checkpoint: str | Path | None,
        callback: Callable[[Progress], None] | None,
    ) -> None:
        method, settings = get_method(self.method), self.settings()
        self._check_parameters()
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None.")
        x, labels = self._features(X, tasks, y=y, reset=True)
        weight = _check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True)
        known = unique_tasks(labels)
        codes = encode_tasks(labels, known, allow_unknown=False)
        y, weight, n_classes = self._encode_target(y, weight)
        total = np.bincount(codes, weights=weight, minlength=len(known))
        if (total <= 0).any():
            raise ValueError(f"Task {known[int(total.argmin())]!r} has no rows with a positive sample_weight; drop it.")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rows = self._rows(x, y, codes, weight, len(known), n_classes)
        with threads(self.n_threads):
            try:
                run = self._train(method, settings, rows, seed, checkpoint, callback, (x, y, codes, weight))
            except DivergenceError as error:
                task = None if error.task is None else repr(known[error.task])
                raise DivergenceError(error.step, error.term, error.task, task) from None
        self._keep(*run, known, method)

    def _keep(self, fitted: Fitted, seed: int, known: list[Hashable], method: Method) -> None:
        """What a fit leaves behind; ``known`` = the tasks."""
        self.tasks_ = np.empty(len(known), dtype=object)
        self.tasks_[:] = known
        self._fitted, self.seed_ = fitted, seed
        self.method_, self.settings_ = method, fitted.model.settings
        self._predictor = self._make_predictor(fitted)

    def _rows(self, x: Array, y: Array, codes: Array, weight: Array, n_tasks: int, n_classes: int) -> Rows:
        dtype, device = DTYPES[self.dtype], torch.device(self.device)
        is_classification = self.__sklearn_tags__().estimator_type == "classifier"

        def tensor(value: Array, kind: torch.dtype) -> torch.Tensor:
            return torch.as_tensor(np.require(value, requirements=["C", "W"]), dtype=kind, device=device)

        return Rows(
            tensor(x, dtype),
            tensor(y, torch.int64 if is_classification else dtype),
            tensor(codes, torch.int64),
            tensor(weight, dtype),
            n_tasks,
            n_classes,
            is_classification,
        )

    def _train(
        self,
        method: Method,
        settings: Settings,
        rows: Rows,
        seed: int,
        checkpoint: str | Path | None,
        callback: Callable[[Progress], None] | None,
        arrays: tuple[Array, ...],
    ) -> tuple[Fitted, int]:
        """The fitted model and the seed it came from, which an interrupted run's checkpoint may have chosen."""
        hooks: list[Hook] = []
        keeper: Checkpoint | None = None
        if checkpoint is not None:
            kind = {"estimator": type(self).__name__, "dtype": self.dtype, "early_stopping": bool(self.early_stopping)}
            run = fingerprint({"method": asdict(method), **settings.to_json(), **kind}, list(arrays))
            keeper = Checkpoint(checkpoint, run, seed, free_seed=self.random_state is None)
            hooks.append(keeper)
        if callback is not None:
            hooks.append(lambda trainer, progress: callback(progress))
        with keeper or nullcontext(), progress_bar("Fitting", visible=bool(self.verbose)) as show:
            show("", 0)
            hooks.append(lambda trainer, progress: show(_terms(progress), progress.step, progress.total, "Training"))
            if keeper is not None:  # that of the interrupted run, unless the user chose one
                seed = keeper.seed
            train, held_out = hold_out(rows, seed) if self.early_stopping else (rows, None)
            callbacks = Callbacks(None if keeper is None else keeper.resume, hooks, lambda phase: show(phase, 0))
            return fit(method, settings, train, seed, held_out=held_out, callbacks=callbacks), seed

    # -- predicting ------------------------------------------------------------------------------------

    def _make_predictor(self, fitted: Fitted) -> Predictor:
        return Predictor(fitted.feature_map, fitted.model, self.settings_.predictive, self.seed_, fitted.forest)

    def _predict_known(
        self,
        x: Array,
        tasks: RowTasks,
        predict: Callable[[Array, Array], Prediction],
        average: Callable[[list[Prediction], Array], Prediction],
    ) -> Prediction:
        """Predict each row under its task; rows of unknown tasks under all that have a weight, averaged."""
        with threads(self.n_threads):
            prediction = predict(x, np.maximum(tasks.codes, 0))
            for rows, weights in tasks.unknown():
                used = np.flatnonzero(weights)
                parts = [predict(x[rows], np.full(len(rows), t)) for t in used]
                for name, values in vars(average(parts, weights[used])).items():
                    getattr(prediction, name)[rows] = values
        check_prediction(vars(prediction).values(), x)
        return prediction

    def predict(self, X: MatrixLike, *, tasks: VectorLike | None = None) -> Array:
        raise NotImplementedError

    def encode(self, X: MatrixLike, *, tasks: VectorLike | None = None) -> Array:
        """The mean representation of every row, for use with other models.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to encode.
        tasks : array-like of shape (n,), default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.

        Returns
        -------
        ndarray of shape (n, K)
            The mean of z.
        """

        def means(x: Array, codes: Array) -> SimpleNamespace:
            return SimpleNamespace(z=self._predictor.features(x, codes))

        def average(parts: list[SimpleNamespace], weights: Array) -> SimpleNamespace:
            return SimpleNamespace(z=np.average([part.z for part in parts], axis=0, weights=weights))

        return self._in_parts(X, tasks, lambda x, row_tasks: self._predict_known(x, row_tasks, means, average).z)

    def unknown_task_weights(self, X: MatrixLike, *, tasks: VectorLike | None = None) -> pd.DataFrame:
        """With whose weights the tasks of X that were not in training are predicted.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        tasks : array-like of shape (n,), default=None
            The task of each row; not needed where ``task_column`` names a column of X.

        Returns
        -------
        DataFrame
            One row per unknown task, one column per known one; rows sum to 1. They are even with
            ``unknown_task="average"``.
        """
        import pandas as pd

        check_is_fitted(self)
        strangers = self._strangers([(X, tasks)])
        _, labels = self._features(X, tasks, reset=False)
        row_tasks = strangers.row_tasks(labels, encode_tasks(labels, list(self.tasks_), self.unknown_task != "error"))
        unknown = dict(zip(labels.tolist(), row_tasks.codes.tolist(), strict=True))
        unknown = {name: code for name, code in unknown.items() if code < 0}
        table = strangers.weights[[-1 - code for code in unknown.values()]]
        return pd.DataFrame(table, index=pd.Index(list(unknown), tupleize_cols=False), columns=self._names())

    def _frame(self, X: MatrixLike, **columns: Array) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(columns, index=index_of(X))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")


def _terms(progress: Progress) -> str:
    """The terms of the objective at a step, for the progress bar."""
    return f"loss {progress.loss:.3f}  kl_z {progress.kl_z:.3g}  kl_w {progress.kl_w:.3g}"
