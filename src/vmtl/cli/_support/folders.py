"""Folders of Parquet files on the command line: what their target is, and their prediction file by file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmtl._utils.atomic_files import temporary_prefix
from vmtl._utils.progress_bar import progress_bar
from vmtl._utils.ray_instance import ATTEMPTS, import_ray, start_ray
from vmtl.data.stored.parquet_folder import BLOCK_ROWS, ParquetFolder, parquet_files


def check_engine(table: Path, engine: str | None, workers: int | None, address: str | None) -> None:
    """A file is read whole, by this process."""
    if engine is not None or workers is not None or address is not None:
        raise ValueError(f"{table} is no folder; --engine, --workers and --address are for folders of Parquet files.")


def check_not_given(
    checkpoint: object, folds: object, holdout: object, types: object, encoding: object, sheet: object
) -> None:
    """What a fit of a folder has no use for."""
    if checkpoint is not None:
        raise ValueError("A fit of a folder takes no steps that could be continued; leave out --checkpoint.")
    if folds is not None:
        raise ValueError("A folder has rows enough without further fits; leave out --folds.")
    if holdout is not None:
        raise ValueError("A folder is fitted whole; keep some of its files elsewhere and score them, not --holdout.")
    if types or encoding is not None or sheet is not None:
        raise ValueError("Parquet files know the types of their columns; leave out --type, --encoding and --sheet.")


def has_classes(folder: Path, target: str, kind: str) -> bool:
    """Whether the target of a folder is to be classified: ``kind`` says so, or text, booleans or few whole numbers."""
    import numpy as np
    from pyarrow import types

    from vmtl.datasets.npz import check_kind_of_target
    from vmtl.datasets.table_files import MOST_CLASSES

    check_kind_of_target(kind)
    source = ParquetFolder.open(folder)
    source.features({target: "target"})
    column = source.columns[target]
    if kind != "auto" or not (types.is_integer(column) or types.is_floating(column)):
        return kind != "regression"
    seen: set[float] = set()
    for part in source.parts:
        for _, frame in part.frames([target]):
            values = frame[target].dropna().to_numpy(dtype=np.float64)
            seen.update(np.unique(values).tolist())
            if len(seen) > MOST_CLASSES or bool((values % 1).any()):
                return False
    return True


@dataclass(frozen=True)
class FilePrediction:
    """How one file is predicted, here or by a worker: block by block, and the result is there whole or not at all."""

    model: Path
    folder: Path
    out: Path
    task: str | None
    coverage: float | None
    unknown_task: str | None

    def __call__(self, file: Path) -> int:
        """Predict a file of the folder; the number of its rows."""
        from pyarrow import parquet

        from vmtl.cli._support.loading import load_model

        fitted, target = load_model(self.model, self.unknown_task), self.out / file.relative_to(self.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        half, n_rows, writer = target.with_name(f"{temporary_prefix(target)}tmp"), 0, None
        try:
            for table in self._predicted(fitted, file):
                writer = writer or parquet.ParquetWriter(half, table.schema)
                writer.write_table(table)
                n_rows += len(table)
        except BaseException:
            if writer is not None:
                writer.close()
                half.unlink()
            raise
        if writer is not None:
            writer.close()
            half.replace(target)
        return n_rows

    def _predicted(self, fitted: Any, file: Path) -> Iterator[Any]:
        """The blocks of a file as Arrow tables, with what is predicted in further columns."""
        import pyarrow
        from pyarrow import parquet

        from vmtl.cli._support.loading import rows_of
        from vmtl.cli._support.prediction_columns import all_columns, beside

        with parquet.ParquetFile(file) as source:
            for batch in source.iter_batches(BLOCK_ROWS):
                frame = batch.to_pandas()
                rows = rows_of(file, frame, fitted, self.task)
                columns = all_columns(fitted, rows.X, rows.tasks, self.coverage, file)
                beside(frame.head(0), columns.head(0), file)  # no name is taken
                table = pyarrow.Table.from_batches([batch])
                for name in columns:
                    table = table.append_column(str(name), pyarrow.array(columns[name]))
                yield table


def predict_folder(
    model: Path,
    folder: Path,
    out: Path | None,
    engine: str,
    workers: int | None,
    address: str | None,
    *,
    task: str | None,
    coverage: float | None,
    unknown_task: str | None,
    quiet: bool,
) -> dict[str, Any]:
    """Every file of a folder predicted into a file of the same name below ``out``."""
    from vmtl.cli._support.loading import load_model

    if out is None:
        raise ValueError(f"{folder} is a folder; name another one for the predictions with --out.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out} is there already; name a new or empty folder, so that nothing is overwritten.")
    if unknown_task == "skip":
        raise ValueError("A folder keeps all of its rows, so no task can be skipped; use --unknown-task average.")
    if load_model(model, unknown_task).unknown_task == "similar":
        raise ValueError(
            "A folder is read in pieces, which do not know all rows of a task; use --unknown-task average."
        )
    source = ParquetFolder.open(folder)
    predict = FilePrediction(model.resolve(), folder.resolve(), out.resolve(), task, coverage, unknown_task)
    files = [file.resolve() for file in parquet_files(folder)]
    with progress_bar("Predicting", total=len(files), visible=not quiet) as show:
        n_rows = 0
        for count in _each_file(predict, files, engine, workers, address):
            n_rows += count
            show()
    assert n_rows == source.n_rows
    return {"out": str(out), "rows": n_rows, "files": len(files)}


def _each_file(
    predict: FilePrediction, files: list[Path], engine: str, workers: int | None, address: str | None
) -> Iterator[int]:
    """The rows of every file, once they are predicted; of a Ray cluster in the order in which they come."""
    if engine == "local":
        yield from map(predict, files)
        return
    if engine != "ray":
        raise ValueError(f"Unknown engine {engine!r}; choose local or ray.")
    ray = import_ray()
    with start_ray(ray, workers or 2, address):
        work = ray.remote(num_cpus=1, max_retries=ATTEMPTS)(FilePrediction.__call__)
        running = [work.remote(predict, file) for file in files]
        while running:
            (done,), running = ray.wait(running, num_returns=1)
            try:
                yield ray.get(done)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
