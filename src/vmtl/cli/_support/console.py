"""What a command says: tables and JSON on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Iterable, Sequence
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING

import typer

from vmtl._utils.json_values import to_json

if TYPE_CHECKING:
    from rich.table import Table

#: Characters of a line where there is no terminal to ask.
WIDTH = 80
#: Characters of a column besides its cells: a line and a space on either side.
BESIDE = 3
UNKNOWN = "–"


def printable(text: object) -> str:
    """Text without control characters, so that a name in a file cannot drive the terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))


def note(text: str, quiet: bool = False) -> None:
    """A remark for people, on standard error."""
    if not quiet:
        say(text, err=True)


def say(text: str, err: bool = False) -> None:
    """Sentences, a line each; a terminal gets no line that breaks within a word, unless it is an indented command."""
    stream = sys.stderr if err else sys.stdout
    for line in map(printable, text.split("\n")):
        broken = [line]
        if stream.isatty() and not line.startswith(" "):
            broken = wrap(line, get_terminal_size().columns, break_long_words=False, break_on_hyphens=False)
        typer.echo("\n".join(broken), err=err)


def show_json(document: object) -> None:
    """One JSON document on standard output; what is not a finite number becomes null."""
    typer.echo(json.dumps(to_json(document), ensure_ascii=False, indent=2, default=str))


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], split: bool = True) -> None:
    """A table on standard output: text to the left, numbers to the right.

    Where its columns do not fit side by side, they stand in several tables, each with the first column; without
    ``split`` in one, whose long cells are broken into lines.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.text import Text

    filled = [[shown(value) for value in row] for row in rows]
    names = [printable(name) for name in columns]
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    console.print(Text(printable(title), style="bold"))
    widths = [max(map(cell_len, column)) for column in zip(names, *filled, strict=True)]
    for part in side_by_side(widths, console.width) if split else [range(len(names))]:
        console.print(_table([names[place] for place in part], [[row[place] for place in part] for row in filled]))


def side_by_side(widths: Sequence[int], most: int) -> list[list[int]]:
    """Places of columns of these widths, cut into tables of at most ``most`` characters; each begins with the first."""
    parts, left = [[0]], most - 1 - (widths[0] + BESIDE)
    for place, width in enumerate(widths[1:], start=1):
        if width + BESIDE > left and len(parts[-1]) > 1:
            parts.append([0])
            left = most - 1 - (widths[0] + BESIDE)
        parts[-1].append(place)
        left -= width + BESIDE
    return parts


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold")
    for place, name in enumerate(names):
        numeric = place > 0 and all(_is_number(row[place]) for row in rows)
        table.add_column(Text(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def shown(value: object) -> str:
    """A cell: three decimals for real numbers, a dash for what is not known."""
    if isinstance(value, float):
        return f"{value:.3f}" if math.isfinite(value) else UNKNOWN
    return UNKNOWN if value is None else printable(value)


def command_line() -> str:
    """The command as it was typed."""
    return shlex.join(["vmtl", *sys.argv[1:]])


def _is_number(cell: str) -> bool:
    """Whether a cell begins like a number, or is unknown."""
    return cell == UNKNOWN or (cell[:1] in set("0123456789-+.") and cell[-1] not in ";:")
