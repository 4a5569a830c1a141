"""Columns that somebody named and that a table does not have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from vmtl._utils.messages import did_you_mean, quoted

#: Columns of a table that a message lists.
MOST_LISTED = 20


class MissingColumnsError(ValueError):
    """A table lacks columns; ``absent`` says of each by which argument it was named.

    The message is for Python; the command line says the same with its options.
    """

    def __init__(self, table: str | Path, absent: Mapping[str, str], there: Iterable[object]) -> None:
        self.table, self.absent, self.there = table, dict(absent), [str(column) for column in there]
        super().__init__(f"{self.facts()} {choose_with(f'the argument {name}' for name in self.arguments)}")

    @property
    def arguments(self) -> list[str]:
        """The arguments that named them, each once."""
        return list(dict.fromkeys(self.absent.values()))

    def facts(self) -> str:
        """What is not there, and what is."""
        wrong = ", ".join(f"{column!r}{did_you_mean(column, self.there)}" for column in self.absent)
        noun = "column" if len(self.absent) == 1 else "columns"
        return f"{self.table} has no {noun} {wrong}. Its columns: {quoted(self.there, most=MOST_LISTED)}."


def check_columns(table: str | Path, named: Mapping[str, str], there: Iterable[object]) -> None:
    """All columns that are ``named``, each with the argument that names it, are ``there``."""
    columns = list(there)
    absent = {column: argument for column, argument in named.items() if column not in columns}
    if absent:
        raise MissingColumnsError(table, absent, columns)


def choose_with(ways: Iterable[str]) -> str:
    """``Choose one with the argument task and one with the argument target.``"""
    return f"Choose {' and '.join(f'one with {way}' for way in ways)}."
