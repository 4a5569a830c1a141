"""A small suite with a paper, references and an oracle, and records with invented numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.paper.run.records import Record
from benchmarks.paper.run.suite import Suite, load_suites

SUITE = """
title = "Golden"
notes = ["The paper: a note on all rows."]
[[paper]]
data = "office-caltech"
fraction = 5
method = "vmtl"
mean = { amazon = 93.7, average = 93.8 }
ci95 = { average = 0.1 }
notes = ["its average is odd."]
[[run]]
data = "office-caltech"
fractions = [5]
split = "paper"
methods = ["default", "bmtl", "vmtl"]
references = ["linear"]
seeds = 3
[[run]]
data = "office-caltech"
fractions = [5]
split = "paper"
methods = ["vmtl"]
selection = "oracle"
seeds = 3
"""
LEVEL = {
    "default": 0.95,
    "bmtl": 0.80,
    "vmtl": 0.95,
    "per_task_linear": 0.90,
    "pooled_linear": 0.93,
    "augmented_linear": 0.94,
}


def golden_suite(folder: Path) -> Suite:
    """The suite, read from a file that is written to ``folder``."""
    (folder / "golden.toml").write_text(SUITE)
    return load_suites(folder / "golden.toml")[0]


def invented_records(suite: Suite) -> dict[str, Record]:
    """Records with invented numbers, a function of the jobs alone."""
    records = {}
    for job in suite.jobs:
        base = LEVEL[job.method] + (0.02 if job.selection == "oracle" else 0)
        tasks = {
            name: {
                "accuracy": base + shift + 0.001 * job.seed,
                "nll": 1 - base,
                "ece": 0.03,
                "n_train": 20,
                "n_test": 500,
            }
            for name, shift in (("amazon", 0.01), ("webcam", -0.01))
        }
        average = {key: float(np.mean([t[key] for t in tasks.values()])) for key in ("accuracy", "nll", "ece")}
        records[job.id] = {
            "id": job.id,
            "job": job.arguments(),
            "status": "done",
            "data": {"file": "features.npz", "n_features": 8, "n_train": 40, "n_test": 1000},
            "versions": {"vmtl": "0"},
            "tasks": tasks,
            "average": average,
            "extras": {},
            "cost": {"fit_seconds": 2.0, "seconds": 3.0, "cpu_seconds": 3.0, "peak_mb": 300.0},
            "host": {"platform": "somewhere", "machine": "some"},
        }
    return records
