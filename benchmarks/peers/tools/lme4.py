"""lme4 of R (Debian: r-cran-lme4): random intercepts and slopes per task, through Rscript.

A mixed model is for few columns: those with the strongest correlation with the target stay, one for every ten rows,
or every ten of the rarer class, and the strongest three may have slopes per task. R chooses by AIC between
intercepts alone and slopes. Columns that separate classes have no finite coefficient and are left out.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from benchmarks.peers.peer import Peer, Prediction, Shape
from benchmarks.peers.sets import Rows

SCRIPT = Path(__file__).with_suffix(".R")
ROWS_PER_COLUMN, MOST_SLOPES = 10, 3


class Lme4(Peer):
    """It has no likelihood of several classes."""

    key = "lme4"
    title = "lme4, random intercepts and slopes"
    short = "lme4"
    kinds = ("binary", "regression")
    revision = 2

    @classmethod
    def absent(cls) -> str | None:
        return None if _lme4_version() else f"{cls.title} is skipped: Rscript with lme4 is not installed (r-cran-lme4)."

    @classmethod
    def versions(cls) -> dict[str, str]:
        return {"lme4": _lme4_version() or ""}

    def fit_predict(self, train: Rows, test: Rows, shape: Shape, seed: int) -> Prediction:
        scaler = StandardScaler().fit(train.X)
        a, b = scaler.transform(train.X), scaler.transform(test.X)
        n_events = np.bincount(train.y).min() if shape.is_classification else len(train)
        usable = ~separating(a, train.y) if shape.is_classification else np.full(a.shape[1], True)
        kept = np.flatnonzero(usable)[strongest(a[:, usable], train.y, max(1, n_events // ROWS_PER_COLUMN))]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            _write(folder / "train.csv", a[:, kept], train)
            _write(folder / "test.csv", b[:, kept], test)
            family = "binomial" if shape.is_classification else "gaussian"
            command = ["Rscript", "--vanilla", str(SCRIPT), name, family, str(min(MOST_SLOPES, len(kept)))]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"Rscript failed: {done.stderr[-300:]}")
            found = pd.read_csv(folder / "found.csv")
        mean, chosen = found["mean"].to_numpy(), {"columns": len(kept), "slopes": bool(found["slopes"].iloc[0])}
        if shape.is_classification:
            return Prediction(p=np.column_stack([1 - mean, mean]), chosen=chosen)
        return Prediction(mean=mean, std=found["std"].to_numpy(), chosen=chosen)


def strongest(X: np.ndarray, y: np.ndarray, most: int) -> np.ndarray:
    """Columns by falling absolute correlation with y."""
    centred = y - y.mean()
    return np.argsort(-np.abs(X.T @ centred), kind="stable")[:most]


def separating(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(D,) whether a column has two values, and one of them without rows of one of the two classes."""
    found = []
    for column in X.T:
        levels, place = np.unique(column, return_inverse=True)
        found.append(len(levels) == 2 and len(np.unique(2 * place + y)) < 4)
    return np.array(found)


def _write(file: Path, X: np.ndarray, rows: Rows) -> None:
    columns = {f"x{place + 1}": column for place, column in enumerate(X.T)}
    pd.DataFrame({**columns, "task": rows.task, "y": rows.y}).to_csv(file, index=False)


@cache
def _lme4_version() -> str | None:
    if shutil.which("Rscript") is None:
        return None
    ask = "cat(as.character(packageVersion('lme4')))"
    return subprocess.run(["Rscript", "--vanilla", "-e", ask], capture_output=True, text=True).stdout or None
