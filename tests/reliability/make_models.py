"""Write the small model files that later versions must still load, each beside the predictions it gave.

    python tests/reliability/make_models.py tests/reliability/models-0.1.0

Run once per released version, into a folder of its own; never overwrite the files of a released version.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from vmtl import MultiTaskClassifier, MultiTaskRegressor, __version__


def table(n: int, seed: int) -> pd.DataFrame:
    """A table with numbers, text, dates and gaps."""
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 10, n)
    age[::7] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "ward": rng.choice(["A", "B", "ü"], n),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
            "clinic": np.array(["east", "west", "north"])[np.arange(n) % 3],
        }
    )


def numbers(n: int, seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=(n, 4))


def write(folder: Path, name: str, model: Any, rows: Any, tasks: Any = None) -> None:
    model.save(folder / f"{name}.vmtl")
    classifier = hasattr(model, "predict_proba")
    expected = model.predict_proba(rows, tasks=tasks) if classifier else model.predict(rows, tasks=tasks)
    document = {
        "version": __version__,
        "estimator": type(model).__name__,
        "rows": np.asarray(rows).tolist()
        if not hasattr(rows, "columns")
        else json.loads(rows.to_json(date_format="iso", double_precision=15)),
        "tasks": None if tasks is None else np.asarray(tasks).tolist(),
        "expected": np.asarray(expected, dtype=float).tolist(),
        "labels": [str(label) for label in model.predict(rows, tasks=tasks)] if classifier else None,
    }
    (folder / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    X, tasks = numbers(30, 0), np.arange(30) % 3
    y = np.array(["no", "yes"])[(X[:, 0] + 0.2 * tasks > 0).astype(int)]
    target = 100 + 20 * X[:, 1] + tasks
    test, test_tasks = numbers(6, 1), np.arange(6) % 3
    common: dict[str, Any] = {"max_steps": 20, "random_state": 0}
    write(folder, "classifier", MultiTaskClassifier(**common).fit(X, y, tasks=tasks), test, test_tasks)
    write(folder, "regressor", MultiTaskRegressor(**common).fit(X, target, tasks=tasks), test, test_tasks)
    rows, wards = table(30, 2), np.array([0, 1])[np.arange(30) % 2]
    options: dict[str, Any] = {**common, "task_column": "clinic", "missing": "impute", "encoder": "linear"}
    write(folder, "table", MultiTaskClassifier(latent_dim=4, **options).fit(rows, wards), table(6, 3))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
