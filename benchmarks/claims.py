"""docs/claims.md: what the paper claims, and what our records say about it.

    python benchmarks/claims.py --out runs/ [--write]

A claim compares two rows of our records on the same set, fraction and preset, seed by seed. It is confirmed where the
95 % t-interval of the mean difference lies above 0, refuted where it lies below, and undecided otherwise or where no
records are. Nothing is chosen after looking: every set and fraction on which both rows have records counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vmtl.bench.run.records import load_records
from vmtl.evaluation.intervals import of_mean

PAGE = Path(__file__).resolve().parents[1] / "docs" / "claims.md"
Record = Mapping[str, Any]
#: Differences are in points of accuracy; scores of which less is better are turned round.
LESS_IS_BETTER = {"nmse", "rmse", "nll"}


@dataclass(frozen=True)
class Row:
    """The jobs of one row of a table: a method and the options that make it this row."""

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """``better`` has the higher score, says the paper."""

    text: str
    better: Row
    worse: Row
    metric: str = "accuracy"


def ablation(**options: Any) -> Row:
    return Row("vmtl", options)


BOTH = ablation(bayesian_z=True, bayesian_w=True)
CLAIMS = (
    Claim("VMTL beats learning every task alone (STL)", Row("vmtl"), Row("stl")),
    Claim("VMTL beats hard sharing (BMTL)", Row("vmtl"), Row("bmtl")),
    Claim("VMTL beats Bayesian hard sharing (VBMTL)", Row("vmtl"), Row("vbmtl")),
    Claim("VMTL beats Bakker and Heskes", Row("vmtl"), Row("bakker")),
    Claim("VMTL beats MRN (Long et al.)", Row("vmtl"), Row("long")),
    Claim("VMTL beats Kendall et al.", Row("vmtl"), Row("kendall")),
    Claim("VMTL beats Qian et al.", Row("vmtl"), Row("qian")),
    Claim("VMTL beats pooling (not in the paper)", Row("vmtl"), Row("pooled")),
    Claim("VMTL-AC is as good as VMTL or better", Row("vmtl_ac"), Row("vmtl")),
    Claim("z and w Bayesian beat z alone", BOTH, ablation(bayesian_z=True, bayesian_w=False)),
    Claim("z and w Bayesian beat w alone", BOTH, ablation(bayesian_z=False, bayesian_w=True)),
    Claim("Gumbel-Softmax beats learnable weights", ablation(mixing="gumbel"), ablation(mixing="learnable")),
    Claim("Gumbel-Softmax beats even weights", ablation(mixing="gumbel"), ablation(mixing="mean")),
    Claim("Different weights for z and w beat the same", ablation(tie_mixing=False), ablation(tie_mixing=True)),
    Claim("More draws help: L = M = 100 beats 1", ablation(n_z=100, n_w=100), ablation(n_z=1, n_w=1)),
    Claim("Wrong predictions are less sure, more so than in VBMTL", Row("vmtl"), Row("vbmtl"), "entropy_ratio"),
    Claim("VMTL has the lower error on Rotated MNIST than BMTL", Row("vmtl"), Row("bmtl"), "nmse"),
)


@dataclass(frozen=True)
class Finding:
    """A claim on one set, fraction and preset."""

    claim: Claim
    where: str
    better: float
    worse: float
    difference: float
    half: float
    seeds: int

    @property
    def verdict(self) -> str:
        """By the interval alone; one seed has none."""
        if self.seeds < 2 or not self.half < abs(self.difference):
            return "undecided"
        return "confirmed" if self.difference > 0 else "refuted"


def place(record: Record) -> tuple[Any, ...]:
    """Where a row stands: set, fraction, split, preset and its steps."""
    job = record["job"]
    steps = job["candidates"][0].get("max_steps")
    return job["data"], job["fraction"], job["split"], record["preset"], steps


def scores(records: Iterable[Record], row: Row, metric: str) -> dict[tuple[Any, ...], dict[int, float]]:
    """The score of every seed at every place; a row that leaves the preset as it is has no other options."""
    by_place: dict[tuple[Any, ...], dict[int, float]] = {}
    for record in records:
        job = record["job"]
        options = {k: v for k, v in job["candidates"][0].items() if k not in ("preset", "max_steps")}
        plain = record["status"] == "done" and not job["smoke"] and len(job["candidates"]) == 1
        if plain and job["method"] == row.method and options == dict(row.options) and metric in record["average"]:
            by_place.setdefault(place(record), {})[job["seed"]] = record["average"][metric]
    return by_place


def judge(claim: Claim, records: list[Record]) -> list[Finding]:
    """The claim wherever both of its rows have records of the same seeds."""
    better, worse = (scores(records, row, claim.metric) for row in (claim.better, claim.worse))
    sign, unit = (-1 if claim.metric in LESS_IS_BETTER else 1), (100 if claim.metric == "accuracy" else 1)
    findings = []
    for where in sorted(better.keys() & worse.keys(), key=str):
        seeds = sorted(better[where].keys() & worse[where].keys())
        if not seeds:
            continue
        a, b = (unit * np.array([side[where][seed] for seed in seeds]) for side in (better, worse))
        interval = of_mean(sign * (a - b))
        data, fraction, _, preset, steps = where
        name = f"{data} {fraction:g} %, {preset}" + (f", {steps:,} steps" if steps else "")
        half = float(interval.half)
        findings.append(Finding(claim, name, float(a.mean()), float(b.mean()), float(interval.value), half, len(seeds)))
    return findings


def page(records: list[Record]) -> str:
    """The page as Markdown."""
    lines = [
        "# Claims",
        "",
        "Written by `benchmarks/claims.py` from records; do not edit by hand. A line is a claim of the paper on one of",
        "our sets: confirmed where the 95 % t-interval of the paired difference over seeds lies above 0, refuted where",
        "it lies below, else undecided. Accuracy is in percent. Features are ours, see [here](reproduction.md).",
        "",
        "| claim | verdict | ours | difference | seeds | data |",
        "|---|---|---|---|---|---|",
    ]
    for claim in CLAIMS:
        findings = judge(claim, records)
        if not findings:
            lines.append(f"| {claim.text} | undecided | – | – | – | no records |")
        for f in findings:
            ours, half = f"{f.better:.4g} against {f.worse:.4g}", "–" if f.seeds < 2 else f"{f.half:.2g}"
            cells = (claim.text, f.verdict, ours, f"{f.difference:+.3g} ± {half}", str(f.seeds), f.where)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="The folder of records.")
    parser.add_argument("--write", action="store_true", help="Write docs/claims.md instead of printing it.")
    arguments = parser.parse_args()
    text = page(list(load_records(arguments.out).records.values()))
    if arguments.write:
        PAGE.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
