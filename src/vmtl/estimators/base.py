"""What all estimators share: they validate, encode, and leave the rest to collaborators."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted
from torch import Tensor

from vmtl._utils.json_values import Document
from vmtl._utils.progress_bar import ShowProgress, progress_bar
from vmtl._utils.threads import check_threads, threads
from vmtl._utils.types import Array, MatrixLike, VectorLike
from vmtl.data.rows import Rows
from vmtl.estimators import model_file
from vmtl.estimators.all_or_nothing import all_or_nothing
from vmtl.estimators.conformal import ConformalPredictor
from vmtl.estimators.folds import check_folds, fold_numbers, scores_by_folds
from vmtl.estimators.inputs.feature_table import index_of, row_slices, take_rows
from vmtl.estimators.inputs.row_reading import read_rows, read_training_rows, row_labels, split_tasks
from vmtl.estimators.inputs.target_encoding import TargetEncoder
from vmtl.estimators.inputs.task_column import check_task_column
from vmtl.estimators.inputs.task_labels import encode_tasks, task_values, unique_tasks
from vmtl.estimators.inputs.training_rows import make_rows
from vmtl.estimators.inputs.unknown_tasks import RowTasks, UnknownRows, UnknownTasks
from vmtl.estimators.prediction import TaskPredictor
from vmtl.estimators.relatedness_tables import RelatednessTables
from vmtl.estimators.suggestions import offered_rows, suggest_rows
from vmtl.results.left_out_scores import LeftOutScores
from vmtl.results.relatedness import TaskStructure

if TYPE_CHECKING:
    import pandas as pd

    from vmtl.estimators.inputs.folder_scan import Scan

#: Labelled rows that were not in training: X, y and their tasks, which a model of one task does not need.
CalibrationRows: TypeAlias = "tuple[MatrixLike, VectorLike] | tuple[MatrixLike, VectorLike, VectorLike | None]"
UnknownTask: TypeAlias = Literal["error", "average", "similar"]
Missing: TypeAlias = Literal["error", "impute"]


@dataclass(frozen=True, eq=False)
class FitJob:
    """What a system receives of the estimator that calls it."""

    rows: Rows
    tasks: list[Hashable]
    seed: int
    show: ShowProgress


#: Fits a job; also gives the seed, which an interrupted run may have brought along.
Run: TypeAlias = "Callable[[FitJob], tuple[Any, int]]"


def _is_gp(estimator: BaseTaskEstimator) -> bool:
    """Fitted Gaussian processes take further rows and tasks, and suggest rows to label."""
    return estimator._system == "gp"


class BaseTaskEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The common part of classifiers and regressors of several tasks.

    A fitted estimator holds the fitted model of its system (``vmtl.gp`` or ``vmtl.paper``), the encoder of its targets,
    and what it learned of the columns of X.
    """

    #: The routing of scikit-learn passes ``tasks`` on, without being asked to.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"tasks": True}
    __metadata_request__predict: ClassVar[dict[str, bool]] = {"tasks": True}
    __metadata_request__transform: ClassVar[dict[str, bool]] = {"tasks": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"tasks": True}

    #: What ``unknown_task`` may be.
    _unknown_task_choices: ClassVar[tuple[str, ...]] = ("error", "average")
    #: What fits the rows: ``vmtl.gp`` or ``vmtl.paper``.
    _system: ClassVar[Literal["gp", "paper"]]

    task_column: Hashable | None
    unknown_task: UnknownTask
    missing: Missing
    n_threads: int | None
    verbose: int
    random_state: int | np.random.RandomState | None

    tasks_: Array
    seed_: int
    metadata_: dict[str, Any]
    _fitted: Any
    _encoder: TargetEncoder

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = False
        tags.transformer_tags.preserves_dtype = []
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    # -- fitting ---------------------------------------------------------------------------------------

    def fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        *,
        tasks: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Fit all tasks together.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Training rows of all tasks. Columns of a DataFrame may hold numbers, text and dates.
        y : array-like of shape (n,)
            Their targets.
        tasks : array-like of shape (n,) or a single label, default=None
            The task of each row, any hashable label; a single label is the task of all rows. None for one task, or
            with ``task_column``.
        sample_weight : array-like of shape (n,), default=None
            How much each row counts; a row of weight 2 is a row twice.

        Returns
        -------
        self
            The fitted estimator; after an error it is as it was before.
        """
        with all_or_nothing(self):
            self._fit(X, y, tasks, sample_weight, self._run)
        return self

    def _fit(
        self, X: MatrixLike, y: VectorLike, tasks: VectorLike | None, sample_weight: VectorLike | None, run: Run
    ) -> None:
        self._check_parameters()
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None.")
        x, labels = self._read_training_rows(X, y, tasks)
        weight = _check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True)
        known = unique_tasks(labels)
        codes = encode_tasks(labels, known, allow_unknown=False)
        encoder, y, weight = self._learn_encoder(y, weight)
        total = np.bincount(codes, weights=weight, minlength=len(known))
        if (total <= 0).any():
            raise ValueError(f"Task {known[int(total.argmin())]!r} has no rows with a positive sample_weight; drop it.")
        self._fit_rows(self._make_rows(x, y, codes, weight, len(known), encoder), known, encoder, run)

    def _fit_rows(self, rows: Rows, tasks: list[Hashable], encoder: TargetEncoder, run: Run) -> None:
        """Fit rows, and keep what a fit leaves behind."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        with threads(self.n_threads), progress_bar("Fitting", visible=bool(self.verbose)) as show:
            show("", 0)
            fitted, self.seed_ = run(FitJob(rows, tasks, seed, show))
        self._fitted = fitted
        self._keep_tasks(tasks)
        self._keep_encoder(encoder)
        self.metadata_ = {}

    def _run(self, job: FitJob) -> tuple[Any, int]:
        """Fit by the system of this estimator."""
        raise NotImplementedError

    def _learn_encoder(self, y: VectorLike, sample_weight: Array) -> tuple[TargetEncoder, Array, Array]:
        """The encoder of training targets, the encoded targets (n,), and the weights (n,) of their rows."""
        raise NotImplementedError

    def _encoder_of_scan(self, scan: Scan) -> TargetEncoder:
        """The encoder of the targets of a folder."""
        raise NotImplementedError

    def _keep_encoder(self, encoder: TargetEncoder) -> None:
        """Keep the encoder, and what of it is public."""
        raise NotImplementedError

    def _keep_tasks(self, tasks: Sequence[Hashable]) -> None:
        self.tasks_ = np.empty(len(tasks), dtype=object)
        self.tasks_[:] = tasks

    def _check_parameters(self) -> None:
        """Parameters that all estimators have."""
        check_choice("unknown_task", self.unknown_task, self._unknown_task_choices)
        check_choice("missing", self.missing, ("error", "impute"))
        check_threads(self.n_threads)
        check_task_column(self.task_column)

    def _make_rows(self, x: Array, y: Array, codes: Array, weight: Array, n_tasks: int, encoder: TargetEncoder) -> Rows:
        return make_rows(x, y, codes, weight, n_tasks, encoder)

    # -- reading rows ----------------------------------------------------------------------------------

    def _read_training_rows(self, X: MatrixLike, y: VectorLike, tasks: VectorLike | None) -> tuple[Array, Array]:
        return read_training_rows(self, X, y, tasks)

    def _read_rows(self, X: MatrixLike, tasks: VectorLike | None) -> tuple[Array, Array]:
        return read_rows(self, X, tasks)

    def _read_known(self, X: MatrixLike, tasks: VectorLike | None) -> tuple[Array, Array]:
        """Rows (n, D) and the numbers of their tasks (n,), which must all be known."""
        x, labels = self._read_rows(X, tasks)
        return x, encode_tasks(labels, list(self.tasks_), allow_unknown=False)

    def _read_row_tasks(self, X: MatrixLike, tasks: VectorLike | None, unknown: UnknownTasks) -> tuple[Array, RowTasks]:
        """Rows (n, D) and their tasks, of which some may be ``unknown``."""
        x, labels = self._read_rows(X, tasks)
        codes = encode_tasks(labels, list(self.tasks_), allow_unknown=self.unknown_task != "error")
        return x, unknown.row_tasks(labels, codes)

    def _unknown_tasks(self, parts: Iterable[tuple[MatrixLike, VectorLike | None]]) -> UnknownTasks:
        """The unknown tasks of some rows, given part by part."""
        if self.unknown_task != "similar":
            return UnknownTasks.average(len(self.tasks_))
        seen = UnknownRows()
        for X, tasks in parts:
            x, labels = self._read_rows(X, tasks)
            unknown = encode_tasks(labels, list(self.tasks_), allow_unknown=True) < 0
            if unknown.any():
                seen.add(labels[unknown], x[unknown])
        if not seen.parts:
            return UnknownTasks.average(len(self.tasks_))
        with threads(self.n_threads):
            return seen.similar(self._fitted.unknown_weights)

    def _in_parts(self, X: MatrixLike, tasks: VectorLike | None, predict: Callable[[Array, RowTasks], Array]) -> Array:
        """``predict`` (rows, their tasks) of all rows, part by part: only one part is ever converted or copied."""
        check_is_fitted(self)
        slices = row_slices(X)
        n_rows = slices[-1].stop
        labels = None if tasks is None or len(slices) == 1 else task_values(tasks, n_rows)

        def parts() -> Iterator[tuple[MatrixLike, VectorLike | None]]:
            if len(slices) == 1:
                yield X, tasks
                return
            for part in slices:
                yield take_rows(X, part), None if labels is None else labels[part]

        unknown = self._unknown_tasks(parts())
        with threads(self.n_threads):
            values = [predict(*self._read_row_tasks(*part, unknown)) for part in parts()]
        return values[0] if len(values) == 1 else np.concatenate(values)

    def _row_codes(self, X: MatrixLike, tasks: VectorLike | None) -> Array:
        """(n,) the number of the task of each row, -1 for an unknown one that is allowed."""
        return np.maximum(self._in_parts(X, tasks, lambda x, row_tasks: row_tasks.codes), -1)

    def read_rows(self, X: MatrixLike, *, tasks: VectorLike | None = None) -> tuple[Array, RowTasks]:
        """Rows as the model reads them, for ``predict_rows``.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        tasks : array-like of shape (n,) or a single label, default=None
            The task of each row.

        Returns
        -------
        ndarray of shape (n, K), RowTasks
            Numbers, and the tasks of their rows.
        """
        check_is_fitted(self)
        return self._read_row_tasks(X, tasks, self._unknown_tasks([(X, tasks)]))

    def predict_rows(self, x: Array, tasks: RowTasks) -> list[Array]:
        """Predictions of rows that ``read_rows`` has read: probabilities, or mean and deviation.

        Parameters
        ----------
        x : ndarray of shape (n, K)
            Rows.
        tasks : RowTasks
            Their tasks.
        """
        raise NotImplementedError

    # -- predicting ------------------------------------------------------------------------------------

    @property
    def _predictor(self) -> TaskPredictor:
        return TaskPredictor(self._fitted)

    def predict(self, X: MatrixLike, *, tasks: VectorLike | None = None) -> Any:
        raise NotImplementedError

    def transform(self, X: MatrixLike, *, tasks: VectorLike | None = None) -> Array:
        """The features that the model makes of every row, for use with other models.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to transform.
        tasks : array-like of shape (n,) or a single label, default=None
            The task of each row; not needed for one task, or where ``task_column`` names a column of X.

        Returns
        -------
        ndarray of shape (n, K)
            Kernel principal components; of the paper's methods the means of z.
        """
        return self._in_parts(X, tasks, lambda x, row_tasks: self._predictor.features(x, row_tasks))

    def fit_transform(
        self,
        X: MatrixLike,
        y: VectorLike,
        *,
        tasks: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Array:
        """Fit, and transform the training rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Training rows of all tasks.
        y : array-like of shape (n,)
            Their targets.
        tasks : array-like of shape (n,) or a single label, default=None
            The task of each row.
        sample_weight : array-like of shape (n,), default=None
            How much each row counts.

        Returns
        -------
        ndarray of shape (n, K)
            As of ``transform``.
        """
        return self.fit(X, y, tasks=tasks, sample_weight=sample_weight).transform(X, tasks=tasks)

    @property
    def _n_features_out(self) -> int:
        """K, for ``get_feature_names_out``."""
        row, task = np.zeros((1, self.n_features_in_)), np.zeros(1, dtype=np.int64)
        return int(self._fitted.features(row, task).shape[1])

    def unknown_task_weights(self, X: MatrixLike, *, tasks: VectorLike | None = None) -> pd.DataFrame:
        """With whose weights the tasks of X that were not in training are predicted.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Rows to predict.
        tasks : array-like of shape (n,) or a single label, default=None
            The task of each row; not needed where ``task_column`` names a column of X.

        Returns
        -------
        DataFrame
            One row per unknown task, one column per known one; rows sum to 1. They are even with
            ``unknown_task="average"``.
        """
        import pandas as pd

        check_is_fitted(self)
        unknown = self._unknown_tasks([(X, tasks)])
        _, labels = self._read_rows(X, tasks)
        codes = encode_tasks(labels, list(self.tasks_), allow_unknown=self.unknown_task != "error")
        numbers = dict(zip(labels.tolist(), unknown.row_tasks(labels, codes).codes.tolist(), strict=True))
        numbers = {name: -1 - code for name, code in numbers.items() if code < 0}
        return pd.DataFrame(
            unknown.weights[list(numbers.values())],
            index=pd.Index(list(numbers), tupleize_cols=False),
            columns=self._relatedness.names(),
        )

    # -- scores ----------------------------------------------------------------------------------------

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
        tasks : array-like of shape (n,) or a single label, default=None
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
        _, tasks = split_tasks(self, X, tasks, None)
        labels = row_labels(self, tasks, len(np.asarray(y)))
        names = unique_tasks(labels)
        codes = encode_tasks(labels, names, allow_unknown=False)
        scores = [score(np.flatnonzero(codes == t)) for t in range(len(names))]
        return pd.Series(scores, index=pd.Index(names, tupleize_cols=False), name=metric)

    def _scorer(
        self, X: MatrixLike, y: VectorLike, tasks: VectorLike | None, metric: str | None
    ) -> Callable[[Array], float]:
        """Row numbers -> the score of these rows."""
        raise NotImplementedError

    # -- conformal prediction --------------------------------------------------------------------------

    def has_left_out_scores(self, coverage: float = 0.9) -> bool:
        """Whether intervals or sets can promise this coverage without ``calibration``.

        Parameters
        ----------
        coverage : float, default=0.9
            How often the target is to be inside.

        Returns
        -------
        bool
            False for models without left-out predictions, and where training rows were fewer than coverage /
            (1 - coverage).
        """
        check_is_fitted(self)
        scores = self._fitted.left_out
        return scores is not None and ConformalPredictor(scores, len(self.tasks_)).can_promise(coverage)

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

        Where rows are few, left-out rows of one fit look too good: its hyperparameters were chosen with them.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            The training rows.
        y : array-like of shape (n,)
            Their targets.
        tasks : array-like of shape (n,) or a single label, default=None
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
        x, labels = self._read_rows(X, tasks)
        check_folds(folds, len(x))
        codes = encode_tasks(labels, list(self.tasks_), allow_unknown=False)
        weight = _check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True)
        score = scores_by_folds(self, X, y, labels, sample_weight, fold_numbers(codes, folds, self.seed_))
        scores = LeftOutScores(*(torch.from_numpy(values) for values in (score, codes, weight)))
        self._fitted = replace(self._fitted, left_out=scores)
        return self

    def _conformal(self, calibration: CalibrationRows | None) -> ConformalPredictor:
        scores = self._fitted.left_out if calibration is None else self._calibration_scores(*calibration)
        if scores is None:
            raise ValueError(
                "This model has no left-out predictions; call cross_calibrate with its training rows, or pass "
                "calibration=(X, y, tasks), labelled rows that were not in training."
            )
        return ConformalPredictor(scores, len(self.tasks_))

    def _calibration_scores(self, X: MatrixLike, y: VectorLike, tasks: VectorLike | None = None) -> LeftOutScores:
        """The scores of labelled rows that the model has not seen."""
        _, codes = self._read_known(X, tasks)
        score = torch.from_numpy(self._nonconformity(X, y, tasks))
        return LeftOutScores(score, torch.from_numpy(codes), torch.ones(len(score), dtype=torch.float64))

    def _nonconformity(self, X: MatrixLike, y: VectorLike, tasks: VectorLike | None) -> Array:
        """(n,) how strange the targets are to the model, in float64."""
        raise NotImplementedError

    # -- further rows ----------------------------------------------------------------------------------

    @available_if(_is_gp)  # type: ignore[untyped-decorator]
    def add_task(
        self, X: MatrixLike, y: VectorLike, *, task: Hashable, sample_weight: VectorLike | None = None
    ) -> Self:
        """Learn one more task from its rows and from what the other tasks know, without fitting again.

        The other tasks keep their predictions, and kernel, features and hyperparameters stay as they were inferred. A
        task of a known name gets more rows: what is known of it so far counts as well as these.

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
        label = task_values([task], 1)[0]
        rows = self._rows_of_task(X, y, label, sample_weight)
        known = list(self.tasks_)
        with threads(self.n_threads):
            if label in known:
                self._fitted = self._fitted.add_rows(known.index(label), rows, self.seed_)
            else:
                self._fitted = self._fitted.add_task(rows, self.seed_)
                self._keep_tasks([*known, label])
        return self

    def _rows_of_task(self, X: MatrixLike, y: VectorLike, label: Hashable, sample_weight: VectorLike | None) -> Rows:
        """The rows of one task, checked."""
        n_rows = _count(X)
        if n_rows == 0:
            raise ValueError(f"X has no rows; give at least one of task {label!r}.")
        x, _ = self._read_rows(X, [label] * n_rows)
        n_targets = 0 if y is None else len(np.asarray(y))
        if n_targets != n_rows:
            raise ValueError(f"y has {n_targets} targets but X has {n_rows} rows; give one per row.")
        weight = _check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True)
        target, weight = self._encoder.encode(y, weight)
        if label not in list(self.tasks_):
            self._warn_of_one_class(label, target[weight > 0])
        return self._make_rows(x, target, np.zeros(n_rows, dtype=np.int64), weight, 1, self._encoder)

    def _warn_of_one_class(self, label: Hashable, target: Array) -> None:
        if self._encoder.n_classes > 1 and len(np.unique(target)) == 1:
            only = self.classes_.tolist()[int(target[0])]
            warnings.warn(
                f"All rows of task {label!r} are of class {only!r}; what it predicts of other classes is what the "
                "other tasks know.",
                stacklevel=4,
            )

    @available_if(_is_gp)  # type: ignore[untyped-decorator]
    def suggest(
        self, X: MatrixLike, tasks: VectorLike | None = None, n: int = 10, *, task: Hashable | None = None
    ) -> Array:
        """The unlabelled rows whose labels would tell most about the labels of all others.

        Rows are chosen one after the other, each given those before it, so that they do not repeat each other.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, D)
            Rows that could be labelled.
        tasks : array-like of shape (n_rows,) or a single label, default=None
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
        x, codes = self._read_known(X, tasks)
        offered = offered_rows(codes, list(self.tasks_), task)
        with threads(self.n_threads):
            return suggest_rows(self._fitted, x, codes, offered, n, seed=self.seed_, visible=bool(self.verbose))

    @available_if(_is_gp)  # type: ignore[untyped-decorator]
    def fit_parquet(
        self,
        folder: str | Path,
        *,
        task: str,
        target: str,
        drop: Sequence[str] = (),
        engine: str = "local",
        workers: int | None = None,
        address: str | None = None,
    ) -> Self:
        """Fit all tasks of a folder of Parquet files together, reading some thousand rows at a time.

        The model is the one that ``fit`` finds on all rows, to rounding; of more than two million, nearly. Features of
        the rows are kept in the folder of temporary files, up to 4 kB for each.

        Parameters
        ----------
        folder : path
            Where the files are, also in folders below it; all have the same columns.
        task : str
            The column that says which task a row belongs to.
        target : str
            The column to predict.
        drop : sequence of str, default=()
            Columns to leave out, such as a row number.
        engine : {"local", "ray"}, default="local"
            Read the files in this process, or by workers of a Ray cluster that own some of them each.
        workers : int, default=None
            Processes of the Ray cluster; None is 2 on this machine, or all processors of the cluster at ``address``.
        address : str, default=None
            A Ray cluster whose machines all see the folder; None starts one on this machine.

        Returns
        -------
        self
            The fitted estimator; after an error it is as it was before.
        """
        from vmtl.data.stored.crews import hired
        from vmtl.data.stored.parquet_folder import ParquetFolder
        from vmtl.estimators.parquet_fit import FolderColumns, read_in_parts

        source = ParquetFolder.open(folder)
        columns = FolderColumns.of(source, task, target, drop)
        with all_or_nothing(self), hired(engine, workers, address, source.parts) as crew:
            if columns.fits_into_memory:
                table = columns.read()
                return self.fit(table[list(columns.features)], table[target], tasks=table[task])
            self._check_parameters()
            with threads(self.n_threads):
                found = read_in_parts(self, columns, crew)
            self._fit_rows(found.rows, found.tasks, found.encoder, self._run)
        return self

    # -- saving ----------------------------------------------------------------------------------------

    def save(self, path: str | Path, *, metadata: Mapping[str, object] | None = None) -> None:
        """Write the fitted model to one file: safetensors with a JSON header, never pickle.

        ``vmtl.load`` reads it; predictions are the same to the bit.

        Parameters
        ----------
        path : path
            The file to write; it appears only when it is complete.
        metadata : dict, default=None
            Anything JSON can hold that should travel with the model; ``load`` gives it as ``metadata_``.
        """
        check_is_fitted(self)
        model_file.save(self, path, self.metadata_ if metadata is None else metadata)

    def _load_fitted(self, document: Document, tensors: dict[str, Tensor], path: str) -> Any:
        """The fitted model of a file, from its own tensors."""
        raise NotImplementedError

    def _file_facts(self) -> dict[str, object]:
        """What a model file holds beside what all estimators have."""
        return {}

    # -- what was learned ------------------------------------------------------------------------------

    @property
    def _relatedness(self) -> RelatednessTables:
        return RelatednessTables(self._fitted.structure, self.tasks_)

    @property
    def alpha_(self) -> pd.DataFrame:
        """DataFrame (T, T): row t says how much task t takes from each other task's classifier.

        Thousands of tasks have no table of all pairs; ``teachers`` says from whom one of them learns.
        """
        return self._relatedness.mixing_weights("alpha")

    @property
    def beta_(self) -> pd.DataFrame:
        """DataFrame (T, T): the same for the representation."""
        return self._relatedness.mixing_weights("beta")

    @property
    def sharing_(self) -> pd.Series:
        """Series (T,): r_t, how strongly each task follows its mixture; 0 is on its own, also if it has no mixture."""
        return self._relatedness.sharing()

    @property
    def alpha_interval_(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Two DataFrames (T, T): between them lie 90 % of what the training rows leave possible for ``alpha_``.

        Narrow about even weights, the map is flat; wide, the rows cannot tell.
        """
        return self._relatedness.interval("alpha")

    @property
    def beta_interval_(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The same for ``beta_``."""
        return self._relatedness.interval("beta")

    @property
    def sharing_interval_(self) -> pd.DataFrame:
        """DataFrame (T, 2) with the columns ``low`` and ``high``: the same for ``sharing_``."""
        return self._relatedness.sharing_interval()

    @property
    def positions_(self) -> pd.DataFrame:
        """DataFrame (T, Q): where the tasks lie by their representations, the longest axis first.

        Squared distances are in units of the variance within classes; there is no column where no task stands out.
        """
        return self._relatedness.positions()

    def teachers(self, task: Hashable, n: int = 10) -> pd.Series:
        """From whom one task learns most: its largest mixing weights of w, falling, for any number of tasks.

        Parameters
        ----------
        task : label of a task
            Who learns, one of ``tasks_``.
        n : int, default=10
            Teachers at most.

        Returns
        -------
        Series of shape (n,)
            Their part in what the task takes over, by their names; all T - 1 of them sum to 1.
        """
        check_is_fitted(self)
        return self._relatedness.teachers(task, n)

    @property
    def structure_(self) -> TaskStructure | None:
        """Who learns from whom, as tensors; None of a model whose tasks share nothing."""
        structure: TaskStructure | None = self._fitted.structure
        return structure

    @property
    def hyperparameters_(self) -> Any:
        """What was inferred besides the weights, as a dataclass."""
        return self._fitted.hyperparameters

    @property
    def _is_classifier(self) -> bool:
        return bool(self.__sklearn_tags__().estimator_type == "classifier")

    def _frame(self, X: MatrixLike, **columns: Array) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(columns, index=index_of(X))


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """One of the values that a parameter may have."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")


def _count(X: MatrixLike) -> int:
    """Rows of X."""
    shape: tuple[int, ...] = getattr(X, "shape", None) or np.shape(X)
    if not shape:
        raise ValueError(f"X must be a table of rows and columns; got {X!r}.")
    return shape[0]
