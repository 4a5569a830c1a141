"""How labelled tables are read: which columns are the task and the target, and what the others are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from vmtl.cli._support.column_options import DEFAULT_TARGET, DEFAULT_TASK, named_by_options

if TYPE_CHECKING:
    from vmtl.data.problem import Problem


@dataclass(frozen=True)
class Reading:
    """What the options of a command say about its table; a column that nobody named has its default."""

    task: str | None = None
    target: str | None = None
    kind: str = "auto"
    drop: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    sheet: str | None = None

    @classmethod
    def of_options(
        cls,
        task: str | None,
        target: str | None,
        kind: str,
        drop: Iterable[str] | None,
        types: Iterable[str] | None,
        encoding: str | None,
        sheet: str | None,
    ) -> Reading:
        """The options as they were typed."""
        return cls(task, target, kind, tuple(drop or ()), parse_types(types or ()), encoding, sheet)

    @property
    def task_column(self) -> str:
        return self.task or DEFAULT_TASK

    @property
    def target_column(self) -> str:
        return self.target or DEFAULT_TARGET

    @property
    def assumed(self) -> list[str]:
        """The arguments whose column nobody named."""
        return [name for name in ("task", "target") if getattr(self, name) is None]

    def problem(self, table: Path) -> Problem:
        """The labelled rows of a table that has some."""
        from vmtl.data.column_types import keep_formats
        from vmtl.datasets import read_table

        with named_by_options(self.assumed):
            problem = read_table(
                table,
                self.task_column,
                self.target_column,
                kind=self.kind,
                drop=self.drop,
                types=self.types,
                encoding=self.encoding,
                sheet=self.sheet,
            )
        if not problem.n_rows:
            raise ValueError(f"{table} has no rows; give at least one per task.")
        if hasattr(problem.X, "columns"):
            keep_formats(problem.X)
        if problem.class_names is not None and problem.n_classes == 1:
            only, target = problem.class_names[0], self.target_column
            raise ValueError(
                f"Target {target!r} of {table} is {only!r} in every row; give rows of at least two classes."
            )
        return problem


def parse_types(pairs: Iterable[str]) -> dict[str, str]:
    """``COLUMN=TYPE`` pairs; a column name may hold equals signs, a type does not."""
    from vmtl.data.column_types import COLUMN_TYPES

    types = {}
    for pair in pairs:
        name, equals, kind = pair.rpartition("=")
        if not equals or kind not in COLUMN_TYPES:
            raise ValueError(f"--type {pair!r} is not COLUMN=TYPE with a TYPE among {', '.join(COLUMN_TYPES)}.")
        types[name] = kind
    return types


def remark_on(table: object) -> str:
    """What should be said about how a file was read; empty for most."""
    from vmtl.datasets.frame_files import REMARK

    return str(getattr(table, "attrs", {}).get(REMARK, ""))
