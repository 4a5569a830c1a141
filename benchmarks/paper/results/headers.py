"""The lines above and below a table that say where its numbers come from."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.paper.results.table_rows import TableRow
from benchmarks.paper.run.suite import Suite
from vmtl._utils.messages import first_few

PAPER_FEATURES = "VGG16"
#: The unique lines of the paper's Office-Caltech documents, as percent of 2,533 images.
TRUE_PERCENT = {5: "78 images, 3.1 %", 10: "151 images, 6.0 %", 20: "300 images, 11.8 %"}


def header_lines(suite: Suite, rows: Sequence[TableRow]) -> tuple[str, ...]:
    """Data, features, splits, seeds, selection and reduced steps of the rows."""
    runs = [run for row in rows for run in row.runs.values()]
    lines = [suite.header] if suite.header else []
    if not runs:
        return (*lines, "No job of this table has been run yet.")
    files = sorted({f"{run['data']['file']} ({run['data']['n_features']} features)" for run in runs})
    sizes = sorted({f"{run['data']['n_train']} / {run['data']['n_test']}" for run in runs})
    key = rows[0].key
    lines.append(f"Rows from {', '.join(files)}; training / test rows: {first_few(sizes)}.")
    if any(run["job"]["source"] == "stand-in" for run in runs):
        lines.append("SYNTHETIC STAND-IN: the data folder lacks this set; these numbers only show that the suite runs.")
    elif any(run["job"]["smoke"] for run in runs):
        lines.append("SMOKE RUN: a few rows and steps; these numbers only show that the suite runs.")
    elif suite.paper and not any("vgg16" in file for file in files):
        lines.append(f"The paper's features are {PAPER_FEATURES}; other features move every number.")
    if key.split == "paper" and key.data.startswith("office-caltech") and int(key.fraction) in TRUE_PERCENT:
        lines.append(f"Documents called {key.fraction:g} % hold {TRUE_PERCENT[int(key.fraction)]} once each.")
    lines.append(_protocol(rows))
    return tuple(lines)


def _protocol(rows: Sequence[TableRow]) -> str:
    seeds = sorted({seed for row in rows for seed in row.runs})
    rules = sorted({row.key.selection for row in rows if not row.key.is_reference})
    what = "seeds" if rows[0].key.split == "paper" else "random splits"
    how_many = f"{len(seeds)} {what}" if len(seeds) != 1 else f"One {what[:-1]}"
    steps = sorted(
        {
            f"{options.get('preset', 'paper')} with max_steps = {options['max_steps']:,}"
            for row in rows
            for run in row.runs.values()
            for options in run["job"]["candidates"]
            if "max_steps" in options
        }
    )
    text = f"{how_many}; selection: {', '.join(rules) or 'none'}; ± is the 95 % t-interval over {what}."
    return f"{text} Shorter training than the preset's own: {'; '.join(steps)}." if steps else text


def missing_note(rows: Sequence[TableRow]) -> list[str]:
    """What was asked for and has not been run, row by row, and what diverged."""
    wanted = sum(row.n_wanted for row in rows)
    missing = wanted - sum(len(row.runs) for row in rows)
    notes = []
    if missing and missing == wanted:
        notes = [f"None of its {wanted} jobs has a record."]
    elif missing:
        short: dict[tuple[int, int], list[str]] = {}
        for row in rows:
            if len(row.runs) < row.n_wanted:
                name = row.key.label if row.key.is_reference else row.key.label_and_preset
                short.setdefault((len(row.runs), row.n_wanted), []).append(name)
        parts = [f"{done} of {asked} runs of {', '.join(names)}" for (done, asked), names in sorted(short.items())]
        notes = [f"{missing} jobs of this table have no record yet; there are {'; '.join(parts)}."]
    return notes + [f"{row.key.label_and_preset}: {row.diverged} runs diverged." for row in rows if row.diverged]
