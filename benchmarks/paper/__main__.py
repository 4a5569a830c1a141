"""Run suites, show their tables, list them: ``python -m benchmarks.paper run results``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.paper.run.suite import SUITES, load_suites, narrow, shrink
from vmtl.cli._support.errors import GuardedGroup

app = typer.Typer(help="Reproduce the paper's tables and figures.", cls=GuardedGroup, no_args_is_help=True)

Suites = Annotated[list[Path], typer.Argument(help="Suite files, or names of benchmarks/paper/suites.")]
Data = Annotated[
    Path | None, typer.Option(envvar="VMTL_DATA", help="Folder with the data sets, or with data/ and splits/.")
]
Splits = Annotated[Path | None, typer.Option(help="Folder with split documents; default DATA/splits.")]
Out = Annotated[Path, typer.Option(help="Folder of the records; a stopped run goes on from it.")]
Smoke = Annotated[bool, typer.Option("--smoke", help="A few rows and steps; stand-ins where data is missing.")]
DataSets = Annotated[list[str] | None, typer.Option("--only", help="Only this data set; may be repeated.")]
Fractions = Annotated[list[float] | None, typer.Option("--fraction", help="Only this percentage; may be repeated.")]


@app.command()
def run(
    suites: Suites,
    data: Data = None,
    splits: Splits = None,
    engine: Annotated[str, typer.Option(help="local or ray.")] = "local",
    workers: Annotated[int, typer.Option(help="Jobs at the same time, one thread each.")] = 2,
    address: Annotated[str | None, typer.Option(help="Address of a Ray cluster.")] = None,
    out: Out = Path("runs"),
    smoke: Smoke = False,
    only: DataSets = None,
    fraction: Fractions = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress table.")] = False,
) -> None:
    """Compute every job of the suites that has no record yet, and write their tables."""
    from benchmarks.paper.results.show import write_suite
    from benchmarks.paper.run.engines import Place, get_engine
    from benchmarks.paper.run.records import load_records
    from benchmarks.paper.run.runner import resolve, run_suites
    from benchmarks.paper.run.watcher import Watcher

    def report(text: str) -> None:
        typer.echo(text, err=True)

    place = Place(data, splits)
    read = [narrow(suite, only or (), fraction or ()) for file in suites for suite in load_suites(file)]
    wanted = resolve([suite for suite in read if suite.jobs], place, smoke)
    outcome = run_suites(wanted, get_engine(engine, workers, address), place, out, Watcher(not quiet), report)
    records = load_records(out).records
    for suite in wanted:
        typer.echo(str(write_suite(suite, records, out / "tables")[0]))
    stand_ins = sorted({job.data for suite in wanted for job in suite.jobs if job.source == "stand-in"})
    if stand_ins:
        report(f"Synthetic stand-ins took the place of {', '.join(stand_ins)}: the numbers mean nothing.")
    counts = f"{outcome.done_before} found done, {outcome.computed} computed, {len(outcome.failed)} failed"
    report(f"{outcome.total} jobs: {counts}.")
    if outcome.failed:
        raise typer.Exit(1)


@app.command()
def show(
    suites: Suites,
    data: Data = None,
    splits: Splits = None,
    out: Out = Path("runs"),
    smoke: Smoke = False,
    only: DataSets = None,
    fraction: Fractions = None,
    results_md: Annotated[Path | None, typer.Option(help="Also write this file, with all suites in it.")] = None,
    figures: Annotated[Path | None, typer.Option(help="Folder for the figures of that file, as SVG.")] = None,
) -> None:
    """Print the suites' tables from the records in OUT, and write them as Markdown and HTML to OUT/tables."""
    from benchmarks.paper.results.layouts import suite_tables
    from benchmarks.paper.results.show import results_markdown, write_figures, write_suite
    from benchmarks.paper.run.records import load_records
    from benchmarks.text_table import to_markdown

    read = [narrow(suite, only or (), fraction or ()) for file in suites for suite in load_suites(file)]
    read = [suite for suite in read if suite.jobs]
    wanted = shrink(read, data, splits) if smoke else read
    loaded = load_records(out)
    for problem in loaded.problems:
        typer.echo(problem, err=True)
    for suite in wanted:
        typer.echo(to_markdown(suite_tables(suite, loaded.records)))
        write_suite(suite, loaded.records, out / "tables")
    if results_md is not None:
        command = f"python -m benchmarks.paper show {' '.join(map(str, suites))} --out {out} --results-md {results_md}"
        drawn = write_figures(wanted, loaded.records, figures) if figures is not None else {}
        links = {
            name: [Path(os.path.relpath(file, results_md.parent)).as_posix() for file in files]
            for name, files in drawn.items()
        }
        results_md.write_text(results_markdown(wanted, loaded.records, command, links), encoding="utf-8")


@app.command(name="list")
def list_suites(
    folder: Annotated[Path, typer.Argument(help="Folder of suite files.")] = SUITES,
    out: Out = Path("runs"),
) -> None:
    """List the suites of a folder: title, jobs, and how many have a record."""
    from benchmarks.paper.run.records import load_records

    done = load_records(out).records
    for file in sorted(folder.glob("*.toml")):
        for suite in load_suites(file):
            ids = {job.id for job in suite.jobs}
            typer.echo(f"{file}  {suite.title}: {len(ids)} jobs, {len(ids & done.keys())} done")


if __name__ == "__main__":
    app(prog_name="python -m benchmarks.paper")
