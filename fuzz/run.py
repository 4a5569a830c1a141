"""Run fuzz targets for a while and say what came out: ``python fuzz/run.py --seconds 60 [TARGET ...]``.

Exit code 1 if an input failed; it is then in ``fuzz/findings``, and its traceback on standard error.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
TARGETS = ("model_file", "request_body", "csv_table", "parquet_table", "split_document")
FINDINGS = HERE / "findings"
#: Megabytes of a process, and seconds of one input, that count as a finding.
MOST_MEMORY, LONGEST = 4096, 30


class Outcome(NamedTuple):
    """What a run of one target was."""

    target: str
    inputs: int
    branches: int
    findings: int
    log: str


def fuzz(target: str, seconds: int, keep: Path | None) -> Outcome:
    """Run one target; what it finds on its way is kept in the folder ``keep``, if there is one."""
    FINDINGS.mkdir(exist_ok=True)
    before = set(FINDINGS.glob(f"{target}-*"))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    harness = [sys.executable, str(HERE / "harness.py"), target]
    corpus = HERE / "corpus" / target
    with tempfile.TemporaryDirectory() as place:
        work = keep / target if keep else Path(place) / "work"
        seeds = Path(place) / "seeds"
        work.mkdir(parents=True, exist_ok=True)
        prepared = subprocess.run([*harness, "--seeds", str(seeds)], env=environment, capture_output=True, text=True)
        if prepared.returncode:
            return Outcome(target, 0, 0, 1, prepared.stderr)
        options = {
            "max_total_time": seconds,
            "rss_limit_mb": MOST_MEMORY,
            "timeout": LONGEST,
            "max_len": 2**17,
            "artifact_prefix": f"{FINDINGS}/{target}-",
            "print_final_stats": 1,
        }
        told = [f"-{name}={value}" for name, value in options.items()]
        folders = [str(folder) for folder in (work, seeds, corpus) if folder.is_dir()]
        done = subprocess.run(
            [*harness, *told, *folders], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    found = len(set(FINDINGS.glob(f"{target}-*")) - before)
    inputs = re.search(r"number_of_executed_units: (\d+)", done.stdout)
    branches = re.findall(r"\bcov: (\d+)", done.stdout)
    log = f"{done.stdout}\nexit code {done.returncode}"
    failed = found or int(done.returncode != 0)
    return Outcome(target, int(inputs[1]) if inputs else 0, max(map(int, branches), default=0), failed, log)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"some of {', '.join(TARGETS)}; default all")
    parser.add_argument("--seconds", type=int, default=60, help="how long each runs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many run at once")
    parser.add_argument("--keep", type=Path, help="a folder for the inputs that reach new code")
    asked = parser.parse_args()
    if unknown := set(asked.targets) - set(TARGETS):
        parser.error(f"there is no target {', '.join(sorted(unknown))}; choose from {', '.join(TARGETS)}")
    targets = asked.targets or TARGETS
    with ThreadPoolExecutor(asked.jobs) as pool:
        outcomes = list(pool.map(lambda target: fuzz(target, asked.seconds, asked.keep), targets))
    print("| target | inputs | branches reached | findings |\n|---|---|---|---|")
    for outcome in outcomes:
        print(f"| {outcome.target} | {outcome.inputs:,} | {outcome.branches:,} | {outcome.findings} |")
        if outcome.findings:
            print(outcome.log[-6000:], file=sys.stderr)
    return int(any(outcome.findings for outcome in outcomes))


if __name__ == "__main__":
    raise SystemExit(main())
