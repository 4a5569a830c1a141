"""The defaults against every method and against what a user would type: tables, then goals.

    python -m benchmarks.paper.accuracy --data DIR --out runs/accuracy [--workers 2] [--json FILE] [--smoke]

Runs the jobs of ``accuracy.toml`` that have no record yet; stopped and started again it goes on. ``--show`` runs
nothing and reads the records there are; ``--write`` puts the tables into docs/linear-models.md and docs/defaults.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks import DOCS
from benchmarks.pages import write_block
from benchmarks.paper.comparison import comparison_table
from benchmarks.paper.goals import Goal, find_settings, measure_goals
from benchmarks.paper.results.layouts import suite_tables
from benchmarks.paper.run.engines import Place, get_engine
from benchmarks.paper.run.records import load_records
from benchmarks.paper.run.runner import resolve, run_suites
from benchmarks.paper.run.suite import load_suites, narrow
from benchmarks.paper.run.watcher import Watcher
from benchmarks.text_table import Table, to_markdown


def goal_table(goals: list[Goal]) -> Table:
    """Measured values beside the goals."""
    words = {True: "yes", False: "no", None: "not measured"}
    rows = [(g.what, g.goal, "–" if g.value is None else f"{g.value:.3g}", words[g.reached], g.detail) for g in goals]
    return Table("Goals of the defaults", ("what", "goal", "measured", "reached", "by set"), tuple(rows))


def main(arguments: list[str] | None = None) -> int:
    """Run, print, and return 1 if a job failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    known = Path(os.environ["VMTL_DATA"]) if os.environ.get("VMTL_DATA") else None
    where = "folder with the data sets, or with data/ and splits/; default the variable VMTL_DATA"
    parser.add_argument("--data", type=Path, default=known, help=where)
    parser.add_argument("--splits", type=Path, help="folder with split documents; default DATA/splits")
    parser.add_argument("--out", type=Path, default=Path("runs/accuracy"), help="folder of the records")
    parser.add_argument("--workers", type=int, default=2, help="jobs at the same time, one thread each")
    parser.add_argument("--engine", choices=("local", "ray"), default="local")
    parser.add_argument("--only", action="append", default=[], help="only this data set; may be repeated")
    parser.add_argument("--json", type=Path, help="write goals and tables to this file too")
    parser.add_argument("--smoke", action="store_true", help="a few rows and steps of everything")
    parser.add_argument("--show", action="store_true", help="run nothing: tables of the records there are")
    parser.add_argument(
        "--write", action="store_true", help="write the tables into docs/linear-models.md and docs/defaults.md"
    )
    given = parser.parse_args(arguments)
    place = Place(given.data, given.splits)
    read = [narrow(suite, given.only) for suite in load_suites("accuracy")]
    suites = resolve([suite for suite in read if suite.jobs], place, given.smoke)
    failed = False
    if not given.show:
        engine = get_engine(given.engine, given.workers)
        failed = bool(run_suites(suites, engine, place, given.out, Watcher(), _report).failed)
    records = load_records(given.out).records
    tables = [table for suite in suites for table in suite_tables(suite, records)]
    goals = measure_goals(suites, records)
    print(to_markdown([*tables, goal_table(goals)]))
    if given.json is not None:
        content = {"goals": [asdict(goal) for goal in goals], "tables": [asdict(table) for table in tables]}
        given.json.write_text(json.dumps(content, indent=1), encoding="utf-8")
    if given.write:
        linear = comparison_table(find_settings(suites, records))
        write_block(DOCS / "linear-models.md", "comparison", to_markdown([linear], level=3))
        write_block(DOCS / "defaults.md", "goals", to_markdown([goal_table(goals)], level=3))
    return int(failed)


def _report(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
