"""docs/claims.md: what the paper claims, and what our records say about it.

    python -m benchmarks.paper.claims [--out benchmarks/paper/records] [--write]

``claim_list`` has the claims, ``claim_statistics`` what is read from a record, ``claim_verdicts`` the rule. The place
that decides a claim is written beside it, and every other place is shown too. A claim that was added after looking at
records says so.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks import DOCS, ROOT
from benchmarks.paper.claims.claim_list import CLAIMS
from benchmarks.paper.claims.claim_statistics import STATISTICS, Record
from benchmarks.paper.claims.claim_verdicts import Finding, Place, deciding, judge, place_of
from benchmarks.paper.run.records import load_records
from benchmarks.paper.run.suite import PaperRow, load_suites
from vmtl.evaluation.intervals import Interval
from vmtl.paper.methods import METHODS

RECORDS = ROOT / "benchmarks" / "paper" / "records"
PAGE = DOCS / "claims.md"
TABLES = ("office_caltech", "bayesian_zw", "priors", "mixing_weights", "draws", "entropy_ratio")
#: Set, preset, share and split that decide where a claim does not say otherwise.
DECIDING = ("office-caltech", "paper", 5.0, "paper")
INTRODUCTION = """# Claims

Written by `benchmarks/paper/claims` from {n} records in `benchmarks/paper/records`; do not edit by hand.

**To be run again.** The records of VMTL and VMTL-AC are of the preset `paper` without dropout in the prior of z, and
those of `released` are of mixing weights that could not leave even ones. Both have been corrected since.

What the paper says, and what our runs say about it. Each claim has one place that decides, named in the table: where
nothing else is said that is preset `paper` on Office-Caltech, the paper's split at 5 %, with features of
EfficientNet-Lite0 where the paper has VGG16's. {lengths}

A claim is **confirmed** where the 95 % intervals of the difference lie above 0, **refuted** where they lie below, and
**undecided** otherwise. There are two intervals, and both must agree: over seeds (t, paired by seed; with two or three
seeds it is wide), and for accuracies on the paper's split over test rows, since all seeds see the same {rows} rows
(paired by row, as in McNemar's test). "As good as, to one point" is confirmed where the intervals lie above minus one
point. One seed decides nothing, and neither do seeds that all give the same number. {claims} claims at 95 % make about
two false ones; nothing is corrected for that.
Accuracies are in percent, differences in points, positive where the paper is right. "Elsewhere" counts the other places
of the second table: confirmed / refuted / undecided.
"""
COLLAPSE = """
## What the paper does not say

With the paper's r = 1 a task's prior is made of the other tasks' posteriors and of nothing else, and the classifiers of
the tasks become one ([The collapse](presets.md#the-collapse)):

![Spread of the classifiers between tasks, KL_w and alpha over training, by the weight of KL_w.](images/collapse.svg)

{table}

Means over seeds on Office-Caltech 5 %, preset `paper`. Spread is the root mean square distance of the tasks'
classifiers from their mean, over the size of that mean; "labels that change" counts test labels that are others if
every task has the first task's classifier.
"""


def paper_rows() -> dict[tuple[str, float, str, str, str], PaperRow]:
    """The paper's own numbers, by set, share, method, variant and metric."""
    suites = [suite for name in TABLES for suite in load_suites(f"table_{name}")]
    return {(r.data, r.fraction, r.method, r.variant, r.metric): r for suite in suites for r in suite.paper}


def printed(finding: Finding, rows: dict[tuple[str, float, str, str, str], PaperRow]) -> str:
    """The difference that the paper prints for the same set and share, or else for Office-Home."""
    claim, place = finding.claim, finding.place
    if claim.worse is None or claim.control or claim.fractions:
        return "–"
    for data in dict.fromkeys((place.data, "office-home")):
        sides = [
            rows.get((data, place.fraction, row.method, row.variant, claim.metric))
            for row in (claim.better, claim.worse)
        ]
        if all(side is not None and "average" in side.mean for side in sides):
            difference = sides[0].mean["average"] - sides[1].mean["average"]
            return f"{difference:+.3g}" + ("" if data == place.data else f" ({data})")
    return "–"


def shown(interval: Interval | None) -> str:
    """[low, high]."""
    if interval is None or math.isnan(interval.low):
        return "–"
    return f"[{interval.low:+.2g}, {interval.high:+.2g}]"


def cells(finding: Finding) -> tuple[str, ...]:
    """Verdict, both sides, the difference and its intervals."""
    ours = f"{finding.better:.4g}" + ("" if finding.claim.worse is None else f" against {finding.worse:.4g}")
    return (
        finding.verdict, ours, f"{finding.over_seeds.value:+.3g}", shown(finding.over_seeds), shown(finding.over_rows),
        str(finding.seeds),
    )  # fmt: skip


def line(values: tuple[str, ...]) -> str:
    return f"| {' | '.join(values)} |"


def in_short(judged: list[list[Finding]]) -> list[str]:
    """One line per claim."""
    head = (
        "claim",
        "verdict",
        "ours",
        "difference",
        "over seeds",
        "over test rows",
        "seeds",
        "data",
        "paper",
        "elsewhere",
    )
    rows, lines = paper_rows(), [line(head), line(("---",) * len(head))]
    for claim, findings in zip(CLAIMS, judged, strict=True):
        main = deciding(claim, findings)
        counts = Counter(finding.verdict for finding in findings if finding is not main)
        elsewhere = " / ".join(str(counts[verdict]) for verdict in ("confirmed", "refuted", "undecided"))
        metric = "" if claim.metric == "accuracy" else f" ({claim.metric})"
        if main is None:
            lines.append(line((claim.text + metric, "not run", *["–"] * 5, "no records", "–", elsewhere)))
        else:
            values = (*cells(main), str(main.place), printed(main, rows), elsewhere)
            lines.append(line((claim.text + metric, *values)))
    return lines


def everywhere(judged: list[list[Finding]]) -> list[str]:
    """One line per claim and place."""
    head = ("claim", "data", "verdict", "ours", "difference", "over seeds", "over test rows", "seeds")
    lines = [line(head), line(("---",) * len(head))]
    return lines + [line((f.claim.text, str(f.place), *cells(f))) for findings in judged for f in findings]


def collapse(records: list[Record]) -> str:
    """How different the classifiers still are, by method and length."""
    groups: dict[tuple[Place, str], list[Record]] = {}
    for record in records:
        place, options = place_of(record), set(record["job"]["candidates"][0]) - {"preset", "max_steps"}
        at_place = (place.data, place.preset, place.fraction) == ("office-caltech", "paper", 5.0)
        if at_place and not options and "classifiers" in record["extras"]:
            groups.setdefault((place, record["job"]["method"]), []).append(record)
    head = ("method", "steps", "seeds", "accuracy", "spread of w", "labels that change", "KL_w, nats", "largest alpha")
    lines = [line(head), line(("---",) * len(head))]
    for (place, method), runs in sorted(groups.items(), key=lambda group: (group[0][1], group[0][0].steps or 10**9)):
        spread, changed = (np.mean([r["extras"]["classifiers"][name] for r in runs]) for name in ("spread", "changed"))
        accuracy = 100 * np.mean([record["average"]["accuracy"] for record in runs])
        kl_w = np.mean([record["extras"]["history"]["kl_w"][-1] for record in runs])
        alphas = [value for r in runs if (value := STATISTICS["largest alpha of a task"].read(r)) is not None]
        alpha = f"{np.mean(alphas):.2f}" if alphas else "–"
        steps, of = f"{place.steps or 15_000:,}", f"{changed:.0f} of {runs[0]['data']['n_test']:,}"
        values = (METHODS[method].name, steps, str(len(runs)), f"{accuracy:.1f}", f"{spread:.3f}", of)
        lines.append(line((*values, f"{kl_w:.3g}" if kl_w else "–", alpha)))
    return "\n".join(lines)


def lengths(records: list[Record]) -> str:
    """Sentences about the lengths of training that the records of preset paper have, and what the length changes."""
    short = "It trains 1,500 steps, a tenth of the paper's, with all schedules compressed."
    moved = changes_of_length(records)
    if not moved:
        return f"{short} No run has all 15,000 steps."
    name = max(moved, key=lambda method: abs(moved[method][1] - moved[method][0]))
    before, after = moved.pop(name)
    rest = max((abs(after - before) for before, after in moved.values()), default=0.0)
    return (
        f"{short} {len(moved) + 1} methods also ran all 15,000, with at least one of the seeds (the table after the "
        f"next says which): {name} has {after:.1f} % then instead of {before:.1f}, the others move by at most "
        f"{rest:.1f} points."
    )


def changes_of_length(records: list[Record]) -> dict[str, tuple[float, float]]:
    """Mean accuracy in percent with 1,500 and with all steps, on the seeds that have both, by the method's name."""
    runs: dict[str, dict[int, dict[int, float]]] = {}
    for record in records:
        place, job = place_of(record), record["job"]
        plain = set(job["candidates"][0]) <= {"preset", "max_steps"}
        if plain and (place.data, place.preset, place.fraction, place.split) == DECIDING and place.steps in (0, 1500):
            by_length = runs.setdefault(METHODS[job["method"]].name, {})
            by_length.setdefault(place.steps, {})[job["seed"]] = 100 * record["average"]["accuracy"]
    both = {name: lengths for name, lengths in runs.items() if len(lengths) == 2}
    return {
        name: tuple(float(np.mean([of[n][s] for s in of[0].keys() & of[1500].keys()])) for n in (1500, 0))
        for name, of in both.items()
        if of[0].keys() & of[1500].keys()
    }


def page(records: list[Record]) -> str:
    """The page as Markdown."""
    judged = [judge(claim, records) for claim in CLAIMS]
    rows = max((r["data"]["n_test"] for r in records if place_of(r).split == "paper"), default=0)
    parts = [INTRODUCTION.format(n=len(records), rows=f"{rows:,}", claims=len(CLAIMS), lengths=lengths(records))]
    parts += ["\n".join(in_short(judged)), COLLAPSE.format(table=collapse(records))]
    parts += ["## Every place", "\n".join(everywhere(judged))]
    return "\n".join(part.strip() + "\n" for part in parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RECORDS, help="The folder of records.")
    parser.add_argument("--write", action="store_true", help="Write docs/claims.md instead of printing it.")
    arguments = parser.parse_args()
    text = page(list(load_records(arguments.out).records.values()))
    if arguments.write:
        PAGE.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
