"""The default beside what a user would type, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.paper.goals import Setting
from benchmarks.paper.results.table_rows import TableRow, best_row
from benchmarks.text_table import Table


def comparison_table(settings: Sequence[Setting]) -> Table:
    """One line per setting: the best linear row, the best on the default's features, and the default."""
    columns = ("set, training rows", "best of three", "same on the default's features", "default", "gain", "NLL")
    return Table("The default beside linear models", columns, tuple(_line(setting) for setting in settings))


def _line(setting: Setting) -> tuple[str, ...]:
    split = ", the paper's split" if setting.ours.key.split == "paper" else ""
    gain = setting.gain(setting.references)
    unit = " %" if setting.metric == "rmse" else ""
    metrics = [
        _shown(best_row(rows, setting.metric), setting.metric) for rows in (setting.references, setting.controls)
    ]
    rival = best_row(setting.references, "nll")
    likelihood = "–" if rival is None else f"{_shown(rival, 'nll')} to {_shown(setting.ours, 'nll')}"
    return (
        f"{setting.data}, {setting.fraction:g} %{split}",
        *metrics,
        _shown(setting.ours, setting.metric),
        "–" if gain is None else f"{gain:+.1f}{unit}",
        likelihood,
    )


def _shown(row: TableRow | None, metric: str) -> str:
    if row is None or not row.values(metric):
        return "–"
    mean = row.interval(metric).value
    return f"{100 * mean:.1f}" if metric == "accuracy" else f"{mean:.3g}"
