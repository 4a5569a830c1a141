"""What labels are worth if ``suggest`` chooses the rows, beside the same number chosen at random or by uncertainty.

    python -m benchmarks.labelling --data DIR --seeds 12     # DIR as for the suites; for office-caltech

Half of the rows are for testing. Of the other half a few at random are labelled and a model is fitted; then a batch of
labels is added in three ways and the model fitted again: the rows that ``suggest`` names, as many at random, and those
whose prediction has the largest epistemic uncertainty. One seed is one draw of all of this, the same for all ways;
differences are paired, with 95 % intervals over seeds.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd

from vmtl import MultiTaskClassifier, MultiTaskRegressor, Problem
from vmtl._utils.progress_bar import progress_bar
from vmtl.datasets import load_digits_domains, load_npz, load_rotated_digits
from vmtl.evaluation.intervals import of_mean

#: Data set, labelled rows at the start, labels added.
SETS = {"digits": (60, 40), "office-caltech": (60, 40), "rotated-digits": (100, 50)}
WAYS = ("suggest", "random", "uncertain")


def load(name: str, folder: Path | None) -> Problem:
    if name == "digits":
        return load_digits_domains()
    if name == "rotated-digits":
        return load_rotated_digits()
    if folder is None:
        raise SystemExit(f"{name} needs --data or VMTL_DATA.")
    return load_npz(folder / "data" / "office_caltech_surf800.npz")


def first_rows(problem: Problem, pool: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """At random, but every task has two or more."""
    tasks = problem.tasks[pool]
    least = [rng.choice(np.flatnonzero(tasks == task), 2, replace=False) for task in np.unique(tasks)]
    rest = rng.permutation(np.setdiff1d(np.arange(len(pool)), np.concatenate(least)))
    return pool[np.concatenate([*least, rest[: max(0, size - 2 * len(least))]])]


def fit(problem: Problem, rows: np.ndarray, seed: int) -> MultiTaskClassifier | MultiTaskRegressor:
    kind = MultiTaskClassifier if problem.is_classification else MultiTaskRegressor
    part = problem.subset(rows)
    return kind(random_state=seed).fit(part.X, part.labels, tasks=part.tasks)


def one_seed(problem: Problem, seed: int, start: int, added: int) -> dict[str, float]:
    """The score on the test rows before, and after each way: accuracy or R^2 over all rows."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(problem.n_rows)
    pool, test = order[: len(order) // 2], problem.subset(order[len(order) // 2 :])
    labelled = first_rows(problem, pool, start, rng)
    known = np.unique(problem.tasks[labelled])
    test = test.subset(np.flatnonzero(np.isin(test.tasks, known)))
    rest = np.setdiff1d(pool, labelled)
    rest = rest[np.isin(problem.tasks[rest], known)]
    model, offered = fit(problem, labelled, seed), problem.subset(rest)
    scores = {"before": model.score(test.X, test.labels, tasks=test.tasks)}
    uncertainty = model.uncertainty(offered.X, tasks=offered.tasks)["epistemic"].to_numpy()
    chosen = {
        "suggest": model.suggest(offered.X, offered.tasks, added),
        "random": rng.choice(len(rest), added, replace=False),
        "uncertain": np.argsort(-uncertainty, kind="stable")[:added],
    }
    for way, rows in chosen.items():
        after = fit(problem, np.concatenate([labelled, rest[rows]]), seed)
        scores[way] = after.score(test.X, test.labels, tasks=test.tasks)
    return scores


def shown(values: np.ndarray) -> str:
    mean = of_mean(values)
    return f"{mean.value:.4f} [{mean.low:.4f}, {mean.high:.4f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description="What labels are worth if `suggest` chooses the rows.")
    parser.add_argument("--data", type=Path, default=os.environ.get("VMTL_DATA"), help="folder with data/")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--out", type=Path, help="a CSV for the score of every seed")
    given = parser.parse_args()
    records = []
    for name in given.sets:
        problem, (start, added) = load(name, given.data and Path(given.data)), SETS[name]
        with progress_bar(name, given.seeds, unit="seeds") as show:
            for seed in range(given.seeds):
                records.append({"set": name, "seed": seed} | one_seed(problem, seed, start, added))
                show()
        table = pd.DataFrame([record for record in records if record["set"] == name])
        print(f"{name}: {start} labels, then {added} more; {len(table)} seeds; before {table['before'].mean():.4f}")
        for way in WAYS:
            print(f"  {way:9} {shown(table[way].to_numpy())}")
        for way in WAYS[1:]:
            print(f"  suggest minus {way}: {shown((table['suggest'] - table[way]).to_numpy())}", flush=True)
        if given.out is not None:
            pd.DataFrame(records).to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
