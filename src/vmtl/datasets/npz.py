"""Feature files: one ``.npz``, or labels in an ``.npz`` beside features in a memory-mapped ``.npy``."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vmtl._utils.atomic_files import written_atomically
from vmtl._utils.types import Array
from vmtl.data.problem import Problem

KINDS = ("auto", "classification", "regression")


def load_npz(
    path: str | Path,
    *,
    features: str | Path | None = None,
    task: str = "domain",
    target: str = "y",
    kind: str = "auto",
    name: str | None = None,
) -> Problem:
    """Read ``X`` (n, D), ``y``, ``domain`` and, if there, ``domains``, ``classes``, ``paths``, ``groups``.

    Parameters
    ----------
    path : path
        The .npz file.
    features : path, default=None
        A .npy file that takes the place of ``X``; memory-mapped, so it may exceed the memory. Without ``X`` and
        ``features``, the .npy file of the same name beside ``path`` is taken.
    task : str, default="domain"
        The array with the task of each row.
    target : str, default="y"
        The array with the target of each row.
    kind : {"auto", "classification", "regression"}, default="auto"
        ``auto``: classification where ``classes`` is there or the target is no floating-point number.
    name : str, default=None
        The name of the problem; the file's name if None.
    """
    check_kind_of_target(kind)
    file = Path(path)
    arrays = _read_arrays(file, features, needed=(task, target))
    y, class_names = _number_target(arrays[target], arrays.get("classes"), kind)
    index, task_names = _number_names(arrays[task], arrays.get("domains"))
    further = {key: arrays.get(key) for key in ("paths", "groups")}
    return Problem(name or file.stem, arrays["X"], y, index, task_names, class_names, **further)


def check_kind_of_target(kind: str) -> None:
    """One of ``KINDS``."""
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; choose one of {', '.join(KINDS)}.")


def _read_arrays(file: Path, features: str | Path | None, needed: Iterable[str]) -> dict[str, Array]:
    """The arrays of a file by name; ``X`` may be in a .npy file beside it."""
    with np.load(file, allow_pickle=False) as archive:
        arrays: dict[str, Array] = {key: archive[key] for key in archive.files if key != "X" or features is None}
    for key in needed:
        if key not in arrays:
            raise ValueError(f"{file} has no array {key!r}, only {sorted(arrays)}; name it in load_npz.")
    if "X" not in arrays:
        arrays["X"] = open_features(features or file.with_suffix(".npy"))
    return arrays


def open_features(path: str | Path) -> Array:
    """Memory-map a ``.npy`` file of (n, D) features: rows are read from disk when they are used.

    Parameters
    ----------
    path : path
        The .npy file.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no feature file {path}; give an X array or a .npy file.")
    features: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    if features.ndim != 2:
        raise ValueError(f"{path} has shape {features.shape}; features need one row per example.")
    return features


def row_batches(X: Array, size: int = 4096) -> Iterator[Array]:
    """Yield X in float32 copies of ``size`` rows; pages of a memory-mapped X are given back after each.

    Parameters
    ----------
    X : array of shape (n, D)
        Features, in memory or memory-mapped.
    size : int, default=4096
        Rows of one batch.
    """
    pages: object = X
    while isinstance(pages, np.ndarray):
        pages = pages.base
    for start in range(0, len(X), size):
        yield np.array(X[start : start + size], dtype=np.float32)
        if isinstance(pages, mmap.mmap) and hasattr(pages, "madvise"):
            pages.madvise(mmap.MADV_DONTNEED)


def save_npz(problem: Problem, path: str | Path) -> None:
    """Write the arrays that ``load_npz`` reads; the file appears only when it is complete.

    Parameters
    ----------
    problem : Problem
        What to write.
    path : path
        The file to write.
    """
    arrays: dict[str, Any] = {
        "X": np.asarray(problem.X),
        "y": problem.y,
        "domain": problem.task,
        "domains": np.asarray(problem.task_names),
    }
    if problem.class_names is not None:
        arrays["classes"] = np.asarray(problem.class_names)
    arrays |= {key: getattr(problem, key) for key in ("paths", "groups") if getattr(problem, key) is not None}
    with written_atomically(Path(path)) as stream:
        np.savez(stream, **arrays)


def _number_target(y: Array, classes: Array | None, kind: str) -> tuple[Array, tuple[str, ...] | None]:
    is_class = classes is not None or y.dtype.kind != "f" if kind == "auto" else kind == "classification"
    if not is_class:
        return y.astype(np.float32), None
    index, names = _number_names(y, classes)
    return index, names


def _number_names(values: Array, names: Array | None) -> tuple[Array, tuple[str, ...]]:
    """Indices and names: ``values`` index ``names``, or without names are numbered in sorted order."""
    if names is not None:
        return values.astype(np.int64), tuple(str(name) for name in names)
    levels, index = np.unique(values, return_inverse=True)
    return index.astype(np.int64), tuple(str(level) for level in levels)
