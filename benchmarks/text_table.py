"""A table is data: title, header lines, columns, rows of text, footnotes. Here is how it becomes text."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

from vmtl.evaluation.intervals import Interval

PERCENT = {"accuracy", "accuracy_seen", "accuracy_unseen", "accuracy_harmonic", "ece"}


@dataclass(frozen=True)
class Table:
    """Cells are text already; ``rows`` have one cell per column."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    header: tuple[str, ...] = ()
    footnotes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.title}: a row has {len(row)} cells for {len(self.columns)} columns.")


def number(value: float | None, metric: str) -> str:
    """Percent with one decimal, else four significant digits; a dash for nothing."""
    if value is None or math.isnan(value):
        return "–"
    return f"{100 * value:.1f}" if metric in PERCENT else f"{value:.4g}"


def signed(value: float, metric: str) -> str:
    """A difference with its sign."""
    return f"{100 * value:+.1f}" if metric in PERCENT else f"{value:+.3g}"


def with_interval(interval: Interval, metric: str) -> str:
    """Mean ± half width of the 95 % interval."""
    if math.isnan(interval.half):
        return number(interval.value, metric)
    return f"{number(interval.value, metric)} ± {number(interval.half, metric)}"


def to_markdown(tables: Sequence[Table], level: int = 2) -> str:
    """GitHub-flavoured Markdown; a table without rows is its header and its footnotes."""
    parts = []
    for table in tables:
        lines = [f"{'#' * level} {table.title}", "", *_spaced(table.header)]
        if table.rows:
            lines += [_line(table.columns), _line(["---"] * len(table.columns)), *map(_line, table.rows), ""]
        lines += [f"- {note}" for note in table.footnotes] + [""] * bool(table.footnotes)
        parts.append("\n".join(lines))
    return "\n".join(parts)


def _spaced(lines: Sequence[str]) -> list[str]:
    return [part for line in lines for part in (line, "")]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; color: #1b1b1b; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1rem 0; } svg { max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { body { background: #16181d; color: #e6e6e6; } th, td { border-color: #3a3d45; }
figure { background: #fff; } }
"""


def to_html(title: str, tables: Sequence[Table], figures: Sequence[str] = ()) -> str:
    """One self-contained page; ``figures`` are SVG documents."""
    body = [f"<h1>{html.escape(title)}</h1>", *(f"<figure>{svg}</figure>" for svg in figures)]
    for table in tables:
        body.append(f"<h2>{html.escape(table.title)}</h2>")
        body += [f"<p>{html.escape(line)}</p>" for line in table.header]
        head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in table.columns)
        rows = "".join(_html_row(row) for row in table.rows)
        body.append(f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
        if table.footnotes:
            body.append("<ul>" + "".join(f"<li>{html.escape(note)}</li>" for note in table.footnotes) + "</ul>")
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title>'
    )
    return (
        f'<!doctype html><html lang="en"><head>{head}<style>{STYLE}</style></head><body>{"".join(body)}</body></html>\n'
    )


def _html_row(row: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
