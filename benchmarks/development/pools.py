"""Where the rows of a set come from: files of the folder ``VMTL_DATA``, bundled data and simulations."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np


@dataclass(frozen=True, eq=False)
class Pool:
    """All rows of a data set: X (n, D), task (n,) and y (n,) classes, or numbers."""

    X: np.ndarray
    task: np.ndarray
    y: np.ndarray


def folder() -> Path:
    """The folder with ``data/``."""
    if not os.environ.get("VMTL_DATA"):
        raise SystemExit("VMTL_DATA must name the folder that has data/.")
    return Path(os.environ["VMTL_DATA"]) / "data"


@cache
def arrays(name: str) -> Pool:
    """An ``.npz`` with X, y and domain, features as they are."""
    with np.load(folder() / f"{name}.npz") as data:
        y = data["y"]
        y = y.astype(np.float64 if y.dtype.kind == "f" else np.int64)
        return Pool(data["X"].astype(np.float64), data["domain"].astype(np.int64), y)


@cache
def texts(name: str) -> Pool:
    """Counts as log(1 + count), rows of unit length."""
    pool = arrays(name)
    return Pool(unit_rows(np.log1p(pool.X)), pool.task, pool.y)


@cache
def mnist() -> Pool:
    """MNIST's 10,000 test images, pixels in [0, 1], no tasks."""
    X = _idx("t10k-images-idx3-ubyte.gz", 16).reshape(-1, 784) / 255
    return Pool(X, np.zeros(len(X), dtype=np.int64), _idx("t10k-labels-idx1-ubyte.gz", 8).astype(np.int64))


def _idx(name: str, header: int) -> np.ndarray:
    return np.frombuffer(gzip.decompress((folder() / "mnist" / name).read_bytes()), np.uint8, offset=header)


@cache
def tilted_digits() -> Pool:
    from vmtl.datasets import load_digits_domains

    problem = load_digits_domains()
    return Pool(np.asarray(problem.X, dtype=np.float64), problem.task, problem.y)


def dealt(pool: Pool, n_tasks: int, rng: np.random.Generator) -> Pool:
    """The same rows, dealt to tasks at random."""
    return Pool(pool.X, rng.integers(n_tasks, size=len(pool.y)), pool.y)


def pairs(pool: Pool) -> Pool:
    """Five tasks of two digits: 0 or 1, 2 or 3, ...; the class says which of the two. Tasks have little in common."""
    return Pool(pool.X, pool.y // 2, pool.y % 2)


def unit_rows(X: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(length > 0, length, 1)


def simulated_embeddings(n_classes: int, signal: float, rng: np.random.Generator) -> Pool:
    """Class means in 256 dimensions, their changes per task, noise and twenty strong directions that say nothing."""
    n_tasks, n_columns, per_cell = 3, 256, 12 + 400 // n_classes
    task, y = _cells(n_tasks, n_classes, per_cell)
    changes = 0.4 * rng.normal(size=(n_tasks, n_classes, n_columns))
    means = signal * (rng.normal(size=(n_classes, n_columns)) + changes)
    nuisance = rng.normal(size=(len(y), 20)) @ rng.normal(size=(20, n_columns)) / np.sqrt(20)
    return Pool(unit_rows(means[task, y] + 0.9 * rng.normal(size=(len(y), n_columns)) + 2.7 * nuisance), task, y)


def simulated_texts(n_classes: int, signal: float, rng: np.random.Generator) -> Pool:
    """Ten to fifty words by Zipf's law; some are more or less likely in a class, in a task, or in a class of a task."""
    n_tasks, n_words, per_cell = 3, 1500, 12 + 400 // n_classes
    task, y = _cells(n_tasks, n_classes, per_cell)
    usual = -np.log(np.arange(n_words) + 10.0)

    def changes(n: int, share: float, size: float) -> np.ndarray:
        return size * rng.normal(size=(n, n_words)) * (rng.random((n, n_words)) < share)

    of_cell = changes(n_classes, 0.1, 1.5)[None] + np.stack([changes(n_classes, 0.03, 1.5) for _ in range(n_tasks)])
    logits = usual + changes(n_tasks, 0.2, 1.5)[:, None] + signal * of_cell
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    lengths = rng.integers(10, 51, size=len(y))
    counts = np.stack([rng.multinomial(n, p[t, c]) for n, t, c in zip(lengths, task, y, strict=True)])
    return Pool(unit_rows(np.log1p(counts)), task, y)


def _cells(n_tasks: int, n_classes: int, per_cell: int) -> tuple[np.ndarray, np.ndarray]:
    task, y = np.divmod(np.repeat(np.arange(n_tasks * n_classes), per_cell), n_classes)
    return task, y
