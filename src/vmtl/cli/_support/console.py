"""What a command says: tables and JSON on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Iterable, Sequence

import typer

from vmtl._utils.json_values import to_json


def printable(text: object) -> str:
    """Text without control characters, so that a name in a file cannot drive the terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))


def note(text: str, quiet: bool = False) -> None:
    """A remark for people, on standard error."""
    if not quiet:
        typer.echo(printable(text), err=True)


def show_json(document: object) -> None:
    """One JSON document on standard output; what is not a finite number becomes null."""
    typer.echo(json.dumps(to_json(document), ensure_ascii=False, indent=2, default=str))


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table on standard output: text to the left, numbers to the right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    filled = [list(row) for row in rows]
    table = Table(header_style="bold")
    for place, name in enumerate(columns):
        numeric = place > 0 and all(_is_number(row[place]) for row in filled)
        table.add_column(Text(printable(name)), justify="right" if numeric else "left", overflow="fold")
    for row in filled:
        table.add_row(*(Text(shown(value)) for value in row))
    width = None if sys.stdout.isatty() else 120
    console = Console(width=width)
    console.print(Text(printable(title), style="bold"))
    console.print(table)


def shown(value: object) -> str:
    """A cell: three decimals for real numbers, a dash for what is not known."""
    if isinstance(value, float):
        return f"{value:.3f}" if math.isfinite(value) else "-"
    return "-" if value is None else printable(value)


def command_line() -> str:
    """The command as it was typed."""
    return shlex.join(["vmtl", *sys.argv[1:]])


def _is_number(cell: object) -> bool:
    """Whether a cell is a number, or text that begins like one."""
    return not isinstance(cell, str) or (cell[:1] in set("0123456789-+.") and cell[-1] not in ";:")
