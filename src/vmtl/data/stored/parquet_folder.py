"""A folder of Parquet files as one table: its columns, and the parts that it can be read in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmtl._utils.missing_columns import check_columns
from vmtl._utils.missing_extra import require

if TYPE_CHECKING:
    import pandas as pd

#: Rows that are read together.
BLOCK_ROWS = 20_000


@dataclass(frozen=True)
class Part:
    """A row group of a file."""

    file: Path
    group: int
    first: int  # number of its first row in the folder
    n_rows: int

    def frames(self, columns: Sequence[str]) -> Iterator[tuple[int, pd.DataFrame]]:
        """The rows, block by block, each with the number of its first row."""
        from pyarrow import ArrowException, parquet

        first = self.first
        try:
            with parquet.ParquetFile(self.file) as file:
                for batch in file.iter_batches(BLOCK_ROWS, row_groups=[self.group], columns=list(columns)):
                    yield first, batch.to_pandas()
                    first += len(batch)
        except (ArrowException, OSError) as error:
            reason = " ".join(str(error).split())[:200].rstrip(".")
            raise ValueError(f"{self.file} cannot be read as Parquet ({reason}); write it again.") from error

    @property
    def n_blocks(self) -> int:
        return -(-self.n_rows // BLOCK_ROWS)


@dataclass(frozen=True)
class ParquetFolder:
    """The files of a folder, in the order of their names; all have the same columns."""

    path: Path
    files: tuple[Path, ...]
    parts: tuple[Part, ...]
    columns: dict[str, Any]  # names and Arrow types

    @classmethod
    def open(cls, path: str | Path) -> ParquetFolder:
        """Look at all files, without reading a row."""
        require("tables", "Parquet", "pyarrow")
        from pyarrow import ArrowException, parquet

        folder = Path(path)
        files = parquet_files(folder)
        parts: list[Part] = []
        columns: dict[str, Any] = {}
        first = 0
        for file in files:
            try:
                described, schema = parquet.read_metadata(file), parquet.read_schema(file)
            except (ArrowException, OSError) as error:
                reason = " ".join(str(error).split())[:200].rstrip(".")
                raise ValueError(f"{file} cannot be read as Parquet ({reason}); write it again.") from error
            there = dict(zip(schema.names, schema.types, strict=True))
            _check_alike(columns or there, there, files[0], file)
            columns = columns or there
            for group in range(described.num_row_groups):
                n_rows = described.row_group(group).num_rows
                parts += [Part(file, group, first, n_rows)] if n_rows else []
                first += n_rows
        if not parts:
            raise ValueError(f"The Parquet files of {folder} have no rows; give at least one per task.")
        return cls(folder, tuple(files), tuple(parts), columns)

    @property
    def n_rows(self) -> int:
        return sum(part.n_rows for part in self.parts)

    def features(self, named: dict[str, str]) -> list[str]:
        """The columns without the ``named`` ones, which must be there; the arguments that name them are said, too."""
        check_columns(self.path, named, self.columns)
        return [column for column in self.columns if column not in named]


def parquet_files(folder: Path) -> list[Path]:
    """All Parquet files of a folder and below it, by name; hidden ones, which may be half written, do not count."""
    if folder.is_file():
        raise ValueError(f"{folder} is a file; give the folder that holds the Parquet files.")
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}; check the path.")
    found = (file for file in folder.rglob("*.parquet") if file.is_file())
    files = sorted(file for file in found if not _is_hidden(file.relative_to(folder)))
    if not files:
        raise ValueError(f"{folder} has no Parquet files; give a folder with files that end in .parquet.")
    return files


def _is_hidden(path: Path) -> bool:
    """Whether a file, or a folder that it lies in, has a name that begins with a dot or an underscore."""
    return any(name.startswith((".", "_")) for name in path.parts)


def _check_alike(columns: dict[str, Any], there: dict[str, Any], first: Path, file: Path) -> None:
    """The same columns of the same types in every file."""
    differ = set(columns) ^ set(there)
    if differ:
        name = min(differ)
        one, other = (file, first) if name in there else (first, file)
        raise ValueError(f"{one} has a column {name!r} that {other} does not have; give all files the same columns.")
    for name, kind in there.items():
        if kind != columns[name]:
            raise ValueError(
                f"Column {name!r} is {columns[name]} in {first} but {kind} in {file}; give all files the same types."
            )
