"""The suite by which the default is developed: tables, text, embeddings, counts, pixels and special cases.

    python -m benchmarks.development --peers-only                      # once: they never change
    PYTHONPATH=tree/src python -m benchmarks.development --label base  # the vmtl that Python imports, under a name
    python -m benchmarks.development --label new --only text,embeddings --splits 1
    python -m benchmarks.development --compare base new

``VMTL_DATA`` names the folder with ``data/``. A record is one fit on one thread; what has a record is not run again.
``lost`` is 100 times the logarithm of NLL (RMSE) over that of the best peer, picked on each set in hindsight.
``--half test`` has other splits of text, embeddings, counts and pixels, for what is published: choose nothing by it.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import json
import sys
from pathlib import Path

from benchmarks.development import summary
from benchmarks.development.jobs import forget, plan, run_all
from benchmarks.development.sets import GROUPS, HALVES, DevelopmentSet, development_sets
from benchmarks.development.tools import PEERS
from benchmarks.peers.jobs import read

RECORDS = Path("runs/development.jsonl")


def main(arguments: list[str] | None = None) -> int:
    """Run what has no record, print tables, and return 1 if a job failed."""
    given = parse(arguments)
    sets = _chosen(given)
    splits = range(given.splits)
    labels = [f"vmtl:{label}" for label in (*given.label, *(given.compare or ()))]
    wanted = plan(sets, [] if given.peers_only else labels, splits, given.half)
    if given.again:
        forget(given.records, wanted)
    peers = plan(sets, given.peers, splits, given.half)
    failed = []
    if not given.show and not given.compare:
        failed = run_all([*wanted, *peers], given.records, given.workers, lambda line: print(line, file=sys.stderr))
    table = summary.frame([*wanted, *plan(sets, list(PEERS), splits, given.half)], read(given.records))
    if table.empty:
        print("There are no records yet.", file=sys.stderr)
        return int(bool(failed))
    _print(table, given)
    print("\n".join(failed), file=sys.stderr)
    return int(bool(failed))


def _print(table, given: argparse.Namespace) -> None:  # type: ignore[no-untyped-def]
    found = summary.lost(table)
    if given.compare and len(found):
        print(summary.comparison(found, *(f"vmtl:{label}" for label in given.compare)))
    for tool in dict.fromkeys(found["tool"]) if len(found) and not given.compare else ():
        print(summary.per_set(found, tool))
    print(summary.special_table(found, table))
    rows = summary.groups(found) if len(found) else []
    print(summary.group_table(rows))
    if given.json:
        document = {"sets": json.loads(found.to_json(orient="records")), "groups": rows}
        given.json.write_text(json.dumps(document, indent=1, default=float) + "\n", encoding="utf-8")


def _chosen(given: argparse.Namespace) -> list[DevelopmentSet]:
    known = development_sets(given.half)
    for part in given.sets or ():
        if not any(part in name for name in known):
            raise SystemExit(f"There is no set {part!r}; choose among {', '.join(known)}.")
    chosen = [one for name, one in known.items() if not given.sets or any(part in name for part in given.sets)]
    return [one for one in chosen if not given.only or one.group in given.only]


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])

    def names(text: str) -> list[str]:
        return [name.strip() for name in text.split(",") if name.strip()]

    parser.add_argument(
        "--label", type=names, default=[], help="the name of the vmtl that Python imports; to show: names"
    )
    parser.add_argument("--compare", nargs=2, metavar="LABEL", help="two labels side by side; runs nothing")
    parser.add_argument("--sets", type=names, help="only sets with one of these in their names, separated by commas")
    parser.add_argument("--only", type=names, help=f"only these groups of {', '.join(GROUPS)}")
    parser.add_argument("--splits", type=int, default=1, help="number of splits of every set")
    parser.add_argument(
        "--peers", type=names, default=list(PEERS), help=f"run only these of {', '.join(PEERS)}, or none"
    )
    parser.add_argument("--peers-only", action="store_true", help="do not run vmtl")
    parser.add_argument("--half", choices=HALVES, default="development")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument(
        "--again", action="store_true", help="forget the records of the label first, and make them anew"
    )
    parser.add_argument("--show", action="store_true", help="run nothing: tables of the records there are")
    parser.add_argument("--records", type=Path, default=RECORDS, help="file of the records")
    parser.add_argument("--json", type=Path, help="write sets and groups to this file")
    given = parser.parse_args(arguments)
    given.peers = [peer for peer in given.peers if peer != "none"]
    if any(peer not in PEERS for peer in given.peers):
        parser.error(f"choose peers among {', '.join(PEERS)}")
    if not given.show and len(given.label) > 1:
        parser.error("only one vmtl can be run at a time")
    return given


if __name__ == "__main__":
    sys.exit(main())
