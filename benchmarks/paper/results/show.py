"""Write what records say: Markdown and HTML per suite, and RESULTS.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from benchmarks.paper.results.figures import suite_figures
from benchmarks.paper.results.layouts import suite_tables
from benchmarks.paper.results.main_table import compare_with_ours
from benchmarks.paper.results.statistics import Paired
from benchmarks.paper.results.table_rows import TableRow, best_row, collect_rows, settings_of
from benchmarks.paper.run.job import DEFAULT
from benchmarks.paper.run.records import Record
from benchmarks.paper.run.suite import Suite
from benchmarks.paper.run.watcher import clock
from benchmarks.text_table import Table, number, signed, to_html, to_markdown

#: Processor time over wall-clock time below which a machine counts as busy with other work.
BUSY = 0.8


def write_suite(suite: Suite, records: Mapping[str, Record], folder: Path) -> tuple[Path, Path]:
    """``<folder>/<suite>.md`` and ``.html``."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = suite_tables(suite, records)
    files = folder / f"{suite.name}.md", folder / f"{suite.name}.html"
    files[0].write_text(to_markdown(tables), encoding="utf-8")
    files[1].write_text(to_html(suite.title, tables, suite_figures(suite, records)), encoding="utf-8")
    return files


def write_figures(suites: Sequence[Suite], records: Mapping[str, Record], folder: Path) -> dict[str, list[Path]]:
    """``<folder>/<suite>-1.svg`` and so on for every figure there is; the files of every suite by its name."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, list[Path]] = {}
    for suite in suites:
        for place, svg in enumerate(suite_figures(suite, records), start=1):
            file = folder / f"{suite.name}-{place}.svg"
            file.write_text(svg, encoding="utf-8")
            files.setdefault(suite.name, []).append(file)
    return files


def results_markdown(
    suites: Sequence[Suite],
    records: Mapping[str, Record],
    command: str,
    figures: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> str:
    """RESULTS.md: what was run and what it cost, who wins where, then every table; ``figures`` are links by suite."""
    used = {job.id: records[job.id] for suite in suites for job in suite.jobs if job.id in records}
    parts = ["# Results", "", *_cost_lines(list(used.values()), command), ""]
    if (verdicts := _verdict_table(suites, records)).rows:
        parts.append(to_markdown([verdicts]))
    for suite in suites:
        parts.append(f"## {suite.title}\n")
        parts += [f"![{suite.title}]({link})\n" for link in figures.get(suite.name, ())]
        parts.append(to_markdown(suite_tables(suite, records), level=3))
    return "\n".join(parts)


def _cost_lines(runs: Sequence[Record], command: str) -> list[str]:
    if not runs:
        return ["Nothing has been run yet."]
    versions = ", ".join(f"{name} {number}" for name, number in sorted(runs[0]["versions"].items()))
    seconds, cpu = (sum(run["cost"][name] for run in runs) for name in ("seconds", "cpu_seconds"))
    peaks = [run["cost"]["peak_mb"] for run in runs if "peak_mb" in run["cost"]]
    memory = f"at most {max(peaks):,.0f} MiB of memory each, " if peaks else ""
    busy = " The machine had other work: seconds are longer than on an idle one." if cpu < BUSY * seconds else ""
    machines = sorted({f"{run['host']['platform']}, {run['host']['machine']}" for run in runs})
    return [
        f"Written by `{command}` from {len(runs)} records; do not edit by hand.",
        f"Each job had one thread: {clock(seconds)} of wall-clock time in all jobs together, {clock(cpu)} of CPU time, "
        f"{memory}on {'; '.join(machines)}.{busy}",
        f"Versions: {versions}.",
        "Accuracy and ECE are in percent; differences are in points. A gain over a row is positive where that row is "
        "worse, also where a lower score is better. Linear rows are scikit-learn's logistic regression or ridge. "
        "A difference counts as sure where its paired 95 % interval leaves out 0.",
    ]


def _verdict_table(suites: Sequence[Suite], records: Mapping[str, Record]) -> Table:
    """Per setting: the default, the best method of the paper, the best linear row, and who is ahead of whom."""
    body = []
    for suite in suites:
        if suite.layout != "methods":
            continue
        rows = [row for row in collect_rows(suite, records) if row.key.selection != "oracle"]
        for setting in settings_of(rows):
            of_setting = [row for row in rows if row.key.setting == setting]
            if (line := _verdict(suite.metric, of_setting)) is not None:
                body.append((f"{setting[0]} {setting[2]:g} % ({setting[1]})", suite.metric, *line))
    columns = (
        "set", "score", "default", "best method of the paper", "gain", "best linear row", "gain",
        "best linear row on the default's features", "gain",
    )  # fmt: skip
    return Table("Who wins", columns, tuple(body), footnotes=(_tally(body),))


def _verdict(metric: str, rows: Sequence[TableRow]) -> list[str] | None:
    own = [r for r in rows if r.key.method == DEFAULT and not r.key.variant]
    ours = next((r for r in own if r.values(metric)), None)
    if ours is None:
        return None
    others = [r for r in rows if not r.key.is_reference and r.key.method != DEFAULT]
    linear = [r for r in rows if r.key.is_reference and "features" not in r.key.variant]
    control = [r for r in rows if r.key.is_reference and "features" in r.key.variant]
    cells = [number(ours.interval(metric).value, metric)]
    for group in (others, linear, control):
        rival = best_row(group, metric)
        preset = f" [{rival.key.preset}]" if rival is not None and rival.key.preset else ""
        cells.append(f"{rival.key.label}{preset} {number(rival.interval(metric).value, metric)}" if rival else "–")
        cells.append(_difference(metric, compare_with_ours(metric, ours, rival)) if rival else "–")
    return cells


def _difference(metric: str, pair: Paired | None) -> str:
    """The paired difference, positive where the default is better, with the words ahead, behind or even."""
    if pair is None:
        return "–"
    gain = pair.difference.value
    verdict = "even" if not pair.sure else "ahead" if gain > 0 else "behind"
    return f"{signed(gain, metric)}, {verdict}"


def _tally(body: Sequence[Sequence[str]]) -> str:
    """How often the default is surely ahead, even or surely behind, against each kind of rival."""
    parts = []
    for name, column in (("the best method of the paper", 4), ("the best linear row", 6), ("the best control row", 8)):
        cells = [line[column] for line in body if line[column] != "–"]
        counts = [sum(cell.endswith(word) for cell in cells) for word in ("ahead", "even", "behind")]
        parts.append(f"{name}: ahead in {counts[0]}, even in {counts[1]}, behind in {counts[2]}")
    return (
        "The default against " + "; ".join(parts) + ". The best row of a group is picked by its mean on the test sets."
    )
