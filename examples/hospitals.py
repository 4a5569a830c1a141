"""Several hospitals, one model: which treatment a patient gets, and how many days the stay lasts.

    python examples/hospitals.py
    python examples/hospitals.py --csv FOLDER      # only write train.csv, labelled.csv and new.csv there

The patients are synthetic. Eight hospitals belong to two networks whose patients respond alike inside a network
and differently across networks; every hospital has few labelled rows. Columns are raw: numbers, text, gaps.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from vmtl import MultiTaskClassifier, MultiTaskRegressor

HOSPITALS = {"north": ("Alder", "Birch", "Cedar", "Dogwood"), "south": ("Elm", "Fir", "Ginkgo", "Hazel")}
MARKERS = [f"marker_{j}" for j in range(1, 13)]
TREATMENTS = np.array(["discharge", "ward", "surgery", "intensive"])


def make_patients(rows_per_hospital: int, seed: int) -> pd.DataFrame:
    """Patients of all hospitals. How markers act on the treatment and the stay correlates at 0.9 within a network.

    The networks and hospitals are the same for every seed; the seed draws patients.
    """
    nature, rng = np.random.default_rng(7), np.random.default_rng(seed)
    parts = []
    for network, hospitals in HOSPITALS.items():
        common = nature.standard_normal((len(TREATMENTS) + 1, len(MARKERS)))
        for hospital in hospitals:
            own = nature.standard_normal(common.shape)
            weights = np.sqrt(0.9) * common + np.sqrt(0.1) * own
            x = rng.standard_normal((rows_per_hospital, len(MARKERS)))
            score = x @ weights.T + 0.5 * rng.standard_normal((rows_per_hospital, len(weights)))
            patients = pd.DataFrame(x * 10 + 100, columns=MARKERS).round(1)
            patients.insert(0, "hospital", hospital)
            patients["network"] = network
            patients["treatment"] = TREATMENTS[score[:, :-1].argmax(axis=1)]
            patients["days"] = np.maximum(8 + 1.5 * score[:, -1], 0.5).round(1)
            parts.append(patients)
    table = pd.concat(parts, ignore_index=True)
    lost = rng.random((len(table), 2)) < 0.05  # two laboratories sometimes forget a value
    table[MARKERS[:2]] = table[MARKERS[:2]].mask(lost)
    return table.sample(frac=1, random_state=seed, ignore_index=True)


def write_files(folder: Path, rows: int) -> None:
    """What the command line takes: training rows, labelled rows to report on, and rows without an answer."""
    for name, seed, size in (("train", 0, rows), ("labelled", 1, 40), ("new", 2, 3)):
        table = make_patients(size, seed).drop(columns=["network", "days"])
        if name == "new":
            table = table.drop(columns="treatment")
        table.to_csv(folder / f"{name}.csv", index=False)


def compare(estimator: type, target: str, train: pd.DataFrame, test: pd.DataFrame) -> None:
    """Scores per hospital of three ways to learn ``target``, and who learns from whom."""
    columns = ["hospital", *MARKERS]
    scores = {}
    for name, relatedness in (("alone", "none"), ("pooled", "pooled"), ("together", "learned")):
        model = estimator(relatedness, task_column="hospital", missing="impute", random_state=0)
        model.fit(train[columns], train[target])
        scores[name] = model.score_tasks(test[columns], test[target])
    table = pd.DataFrame(scores)
    table.loc["mean"] = table.mean()
    print(table.round(3).to_string(), "\n")
    print(f"who learns from whom ({target}):\n{model.alpha_.round(2).to_string()}\n")
    print(model.uncertainty(test[columns].head(3)).round(3).to_string(), "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Several hospitals, one model.")
    parser.add_argument("--rows", type=int, default=24, help="labelled patients of each hospital")
    parser.add_argument("--test-rows", type=int, default=300, help="patients of each hospital to test on")
    parser.add_argument("--csv", type=Path, help="write CSV files to this folder and stop")
    given = parser.parse_args()
    if given.csv is not None:
        given.csv.mkdir(parents=True, exist_ok=True)
        write_files(given.csv, given.rows)
        print(f"{given.csv}: train.csv, labelled.csv and new.csv")
        return
    train, test = make_patients(given.rows, seed=0), make_patients(given.test_rows, seed=1)
    print(f"treatment, accuracy ({len(train)} labelled patients)")
    compare(MultiTaskClassifier, "treatment", train, test)
    print("days in hospital, R^2")
    compare(MultiTaskRegressor, "days", train, test)


if __name__ == "__main__":
    main()
