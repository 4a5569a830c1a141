"""A fit on a folder of Parquet files that need not fit into memory, here or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from vmtl._utils.progress_bar import progress_bar
from vmtl._utils.threads import threads
from vmtl.data.preprocessing import TablePreprocessor
from vmtl.data.stored.crews import Crew, hired
from vmtl.data.stored.owner import Stage
from vmtl.data.stored.parquet_folder import ParquetFolder
from vmtl.data.stored.stored_rows import stored_rows
from vmtl.estimators.inputs.folder_reader import FolderReader
from vmtl.estimators.inputs.folder_scan import Scan, ScanOfBlock, as_sum
from vmtl.estimators.inputs.task_labels import unique_tasks
from vmtl.estimators.inputs.validation import InputValidationMixin
from vmtl.estimators.mixins.all_or_nothing import all_or_nothing
from vmtl.inference.exact import weight_prior
from vmtl.inference.fitted import Fitted
from vmtl.inference.strategy import fit, why_not_in_parts
from vmtl.inference.variational.run import Callbacks
from vmtl.methods import get_method
from vmtl.model.method import Method

if TYPE_CHECKING:
    import pandas as pd

    from vmtl._utils.types import MatrixLike, VectorLike


class FoldersMixin(InputValidationMixin):
    """``fit_parquet``."""

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
        the rows are kept in the folder of temporary files, 2 kB for each.

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
        self._fit_folder(ParquetFolder.open(folder), task, target, drop, (engine, workers, address))
        return self

    def _fit_folder(
        self,
        source: ParquetFolder,
        task: str,
        target: str,
        drop: Sequence[str],
        how: tuple[str, int | None, str | None],
    ) -> None:
        features = source.features({task: "task", target: "target"} | dict.fromkeys(drop, "drop"))
        if not features:
            raise ValueError(f"{source.path} has no columns besides {task!r} and {target!r}; give one to learn from.")
        with all_or_nothing(self), hired(*how, source.parts) as crew:
            if source.n_rows <= weight_prior.MAX_DUAL_ROWS:
                table = _read(source, [*features, task, target])
                self.fit(table[features], table[target], tasks=table[task])
            else:
                self._fit_in_parts(source, crew, task, target, tuple(features))

    def _fit_in_parts(
        self, source: ParquetFolder, crew: Crew, task: str, target: str, features: tuple[str, ...]
    ) -> None:
        method, settings = get_method(self.method), self.settings()
        self._check_parameters()
        reason = why_not_in_parts(method, settings) or self._why_not_here()
        if reason is not None:
            raise ValueError(f"{source.path} cannot be fitted in parts: {reason}; read it and use fit.")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        with threads(self.n_threads), progress_bar("Fitting", visible=bool(self.verbose)) as show:
            show("looking through the folder", 0)
            scan = self._scan(source, crew, task, target, features)
            known = unique_tasks(np.fromiter(scan.tasks, dtype=object, count=len(scan.tasks)))
            self._know_target(scan)
            example = _read(source, [*features, task, target], most=1)
            self._know_columns(example[list(features)], scan)
            reader = FolderReader(self._reader(scan), task, target, features, {name: i for i, name in enumerate(known)})
            counts = torch.tensor([scan.tasks[name] for name in known])
            stage = Stage((*features, task, target), reader)
            rows = stored_rows(crew, stage, counts, reader(example, 0))
            fitted = fit(method, settings, rows, seed, callbacks=Callbacks(before_phase=lambda phase: show(phase, 0)))
        self._keep(fitted, seed, known, method)

    def _why_not_here(self) -> str | None:
        if self.device != "cpu":
            return f"device={self.device!r} holds rows that are all there, and here they come one after the other"
        return "early_stopping keeps rows from training that must be known" if self.early_stopping else None

    def _scan(self, source: ParquetFolder, crew: Crew, task: str, target: str, features: tuple[str, ...]) -> Scan:
        """Tasks and targets of all rows; of the columns, too, where they are text or dates, or gaps are filled."""
        from pyarrow import types

        plain = all(
            types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
            for kind in (source.columns[name] for name in features)
        )
        encoded = () if plain and self.missing == "error" else features
        is_classification = self.__sklearn_tags__().estimator_type == "classifier"
        look = ScanOfBlock(task, target, encoded, is_classification)
        (scan,) = crew.total(Stage((*encoded, task, target), look), as_sum)
        return scan  # type: ignore[no-any-return]

    def _know_columns(self, example: pd.DataFrame, scan: Scan) -> None:
        """The columns of X, by an example, and how they are encoded."""
        self.preprocessor_ = None
        X: MatrixLike = example
        if scan.table.columns:
            self.preprocessor_ = TablePreprocessor(missing=self.missing).fit_summary(scan.table)
            X = self.preprocessor_.transform(example)
        validate_data(self, X, reset=True, dtype=None, ensure_all_finite=False)

    def _reader(self, scan: Scan) -> Self:
        """This estimator with what it knows of columns and targets, and nothing else."""
        reader: Self = clone(self).set_params(verbose=0, task_column=None)
        learned = ("classes_", "y_mean_", "y_scale_", "preprocessor_", "n_features_in_", "feature_names_in_")
        for name in learned:
            if hasattr(self, name):
                setattr(reader, name, getattr(self, name))
        if getattr(self, "class_weight", None) == "balanced":
            n_rows, n_classes = sum(scan.classes.values()), len(scan.classes)
            reader.set_params(class_weight={label: n_rows / (n_classes * n) for label, n in scan.classes.items()})
        return reader

    def _know_target(self, scan: Scan) -> None:
        """The classes of all rows, or mean and deviation of their targets."""
        raise NotImplementedError

    def fit(self, X: MatrixLike, y: VectorLike, *, tasks: VectorLike | None = None) -> Self:
        raise NotImplementedError

    def _keep(self, fitted: Fitted, seed: int, known: list[Hashable], method: Method) -> None:
        raise NotImplementedError


def _read(source: ParquetFolder, columns: list[str], most: int | None = None) -> pd.DataFrame:
    """The rows of a small folder, or at most so many of the first."""
    import pandas as pd

    frames = []
    for part in source.parts:
        for _, frame in part.frames(columns):
            frames.append(frame)
            if most is not None:
                return frame.head(most)
    return pd.concat(frames, ignore_index=True)
