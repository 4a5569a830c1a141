"""Which rows are for training: split documents, and seeded splits that cover every class of every task."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from vmtl._utils.types import Array
from vmtl.data.duplicates import duplicate_groups
from vmtl.data.problem import Problem

#: A class number of a document; the longest fit into 64 bits.
_CLASS_NUMBER = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True, eq=False)
class Split:
    """Sorted row indices ``train`` and ``test``, and the document lines that matched no row."""

    train: Array
    test: Array
    unmatched: tuple[str, ...] = ()


@dataclass(frozen=True)
class SplitDocument:
    """The unique lines of a ``path label`` file, in order; ``n_lines`` counts the repeated ones too."""

    paths: tuple[str, ...]
    labels: tuple[int, ...]
    n_lines: int


def read_path_labels(path: str | Path) -> list[tuple[str, int]]:
    """The ``path label`` lines of a file, in order; a path may hold blanks."""
    lines: list[tuple[str, int]] = []
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text; save it as UTF-8.") from None
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        place, _, label = line.strip().rpartition(" ")
        if not place or not _CLASS_NUMBER.fullmatch(label):
            raise ValueError(f"Line {number} of {path} is {line!r}; write a path, a blank and a class number.")
        lines.append((place.strip(), int(label)))
    return lines


def read_split_document(path: str | Path) -> SplitDocument:
    """Read a file of ``path label`` lines; a repeated line counts once, a path has one label."""
    lines = read_path_labels(path)
    labels: dict[str, int] = {}
    for place, label in lines:
        if labels.setdefault(place, label) != label:
            raise ValueError(f"{path} gives {place!r} a second label; keep one of the two.")
    return SplitDocument(tuple(labels), tuple(labels.values()), len(lines))


def normalised_path(path: object) -> str:
    """A path as documents are compared: forward slashes, underscores for blanks, no leading ``./``."""
    return str(PurePosixPath(str(path).replace("\\", "/").replace(" ", "_")))


def match_paths(problem: Problem, paths: Iterable[str]) -> tuple[Array, tuple[str, ...]]:
    """The rows whose ``problem.paths`` are named, in the order named, and the names that match no row."""
    if problem.paths is None:
        raise ValueError(f"{problem.name} has no paths to match a split document with; use random_split.")
    row_of = {normalised_path(place): row for row, place in enumerate(problem.paths)}
    matches = [(row_of.get(normalised_path(path)), path) for path in paths]
    rows = np.array([row for row, _ in matches if row is not None], dtype=np.intp)
    return rows, tuple(path for row, path in matches if row is None)


def document_split(problem: Problem, folder: str | Path, percent: int, *, unmatched: str = "error") -> Split:
    """Read ``<folder>/<task>/train_<percent>.txt`` and ``test_<percent>.txt`` of every task.

    Lines that match no row raise an error, or with ``unmatched="report"`` are listed in ``Split.unmatched``.

    Parameters
    ----------
    problem : Problem
        The rows to divide.
    folder : path
        Where the documents are, a folder per task.
    percent : int
        Which of the documents.
    unmatched : {"error", "report"}, default="error"
        What to do with lines that match no row.
    """
    if unmatched not in ("error", "report"):
        raise ValueError(f'unmatched is {unmatched!r}; choose "error" or "report".')
    folders = {normalised_path(child.name): child for child in Path(folder).iterdir() if child.is_dir()}
    sides: dict[str, list[Array]] = {"train": [], "test": []}
    missing: list[str] = []
    for name in problem.task_names:
        if normalised_path(name) not in folders:
            raise ValueError(f"{folder} has no folder for task {name!r}, only {sorted(folders)}; check the path.")
        for side, parts in sides.items():
            rows, lost = _document_rows(problem, folders[normalised_path(name)] / f"{side}_{percent}.txt")
            parts.append(rows)
            missing += lost
    if missing and unmatched == "error":
        raise ValueError(
            f"{len(missing)} lines of {folder} match no row of {problem.name}, the first is {missing[0]!r}; "
            'complete the data or pass unmatched="report".'
        )
    train, test = (np.unique(np.concatenate(parts)) for parts in sides.values())
    if both := np.intersect1d(train, test).size:
        raise ValueError(f"{both} rows of {folder} are in training and in test; repair the documents.")
    return Split(train, test, tuple(missing))


def _document_rows(problem: Problem, file: Path) -> tuple[Array, tuple[str, ...]]:
    """The rows that a document names, and its lines that match none."""
    if not file.is_file():
        raise ValueError(f"{file} does not exist; give a percentage that the documents have.")
    document = read_split_document(file)
    rows, lost = match_paths(problem, document.paths)
    _check_labels(problem, rows, document, lost, file)
    return rows, lost


def _check_labels(problem: Problem, rows: Array, document: SplitDocument, lost: Sequence[str], file: Path) -> None:
    gone = set(lost)
    labels = [label for path, label in zip(document.paths, document.labels, strict=True) if path not in gone]
    wrong = np.flatnonzero(problem.y[rows] != np.asarray(labels, dtype=np.int64))
    if wrong.size:
        row = rows[wrong[0]]
        raise ValueError(
            f"{file} gives {problem.paths[row]!r} the class {labels[wrong[0]]} but {problem.name} "  # type: ignore[index]
            f"has {problem.y[row]}; number the classes alike."
        )


def random_split(
    problem: Problem,
    fraction: float,
    seed: int = 0,
    *,
    nested: bool = False,
    keep_duplicates_together: bool = True,
    rows: Array | None = None,
) -> Split:
    """Draw ``fraction`` of every task for training, in proportion to its classes, and test on the rest.

    Every class of a task gets at least one training row; in regression any row may be drawn. Rows of one
    ``problem.groups`` value, or without groups rows with equal bytes, stay on one side.

    Parameters
    ----------
    problem : Problem
        The rows to divide.
    fraction : float in (0, 1)
        The share of every task that is for training.
    seed : int, default=0
        The seed of the draw.
    nested : bool, default=False
        With one seed, training rows of a smaller fraction are among those of a larger one.
    keep_duplicates_together : bool, default=True
        Rows with equal bytes stay on one side, where the problem has no groups.
    rows : array of row numbers, default=None
        Divide only these rows; None is all.
    """
    _check_fraction(fraction)
    chosen = _chosen(problem, rows)
    rng = np.random.default_rng([seed] if nested else [seed, round(fraction * 1e9)])
    group = _groups(problem, chosen, keep_duplicates_together)
    target = problem.y[chosen] if problem.is_classification else np.zeros(len(chosen), dtype=np.intp)
    by_task = (np.flatnonzero(problem.task[chosen] == t) for t in range(problem.n_tasks))
    train_groups = [_prefix(group[rows], target[rows], fraction, rng) for rows in by_task if rows.size]
    train = np.isin(group, np.concatenate(train_groups))
    return Split(chosen[train], chosen[~train])


def _check_fraction(fraction: float) -> None:
    if not 0 < fraction < 1:
        raise ValueError(f"fraction is {fraction}; choose a number between 0 and 1.")


def _chosen(problem: Problem, rows: Array | None) -> Array:
    """Sorted numbers of the rows to divide; None is all."""
    return np.arange(problem.n_rows) if rows is None else np.sort(np.asarray(rows))


def _groups(problem: Problem, rows: Array, keep_duplicates_together: bool) -> Array:
    if problem.groups is not None:
        return np.unique(problem.groups[rows], return_inverse=True)[1]
    if not keep_duplicates_together:
        return np.arange(len(rows))
    return duplicate_groups(problem.X if len(rows) == problem.n_rows else problem.subset(rows).X)


def _prefix(group: Array, target: Array, fraction: float, rng: np.random.Generator) -> Array:
    """The first groups of one task, in an order of which every prefix is stratified: so fractions nest."""
    names, first, size = np.unique(group, return_index=True, return_counts=True)
    label = target[first]
    place = np.empty(len(names))
    for c in np.unique(label):
        of_class = rng.permutation(np.flatnonzero(label == c))
        place[of_class] = (np.arange(len(of_class)) + rng.random()) / len(of_class)
        place[of_class[0]] -= 1  # one of every class comes before all the rest
    order = np.lexsort((rng.random(len(names)), place))
    before = np.cumsum(size[order]) - size[order]
    wanted = max(round(fraction * len(group)), 1)
    keep = (before + size[order] / 2 <= wanted) & (before < wanted)
    return names[order[keep | (place[order] < 0)]]


def kfold(problem: Problem, n_splits: int, seed: int = 0, *, rows: Array | None = None) -> tuple[Split, ...]:
    """Cross-validation folds of ``rows`` (default all): classes of a task dealt evenly, copies together.

    Parameters
    ----------
    problem : Problem
        The rows to divide.
    n_splits : int
        The number of folds.
    seed : int, default=0
        The seed of the draw.
    rows : array of row numbers, default=None
        Divide only these rows; None is all.
    """
    chosen = _chosen(problem, rows)
    group = _groups(problem, chosen, keep_duplicates_together=True)
    names, first = np.unique(group, return_index=True)
    if not 2 <= n_splits <= len(names):
        raise ValueError(f"n_splits is {n_splits}; choose a number from 2 to {len(names)}, the distinct rows.")
    rng = np.random.default_rng([seed, n_splits])
    task = problem.task[chosen[first]]
    label = problem.y[chosen[first]] if problem.is_classification else np.zeros(len(names))
    dealt = np.lexsort((rng.random(len(names)), label, task))
    fold = np.empty(len(names), dtype=np.intp)
    fold[dealt] = (np.arange(len(names)) + rng.integers(n_splits)) % n_splits
    fold_of_row = fold[np.searchsorted(names, group)]
    return tuple(Split(chosen[fold_of_row != k], chosen[fold_of_row == k]) for k in range(n_splits))


def holdout(problem: Problem, fraction: float, seed: int = 0, *, rows: Array | None = None) -> Split:
    """Set ``fraction`` of the rows aside as ``test``; every class of every task stays in ``train``.

    Parameters
    ----------
    problem : Problem
        The rows to divide.
    fraction : float in (0, 1)
        The share of the rows that is set aside.
    seed : int, default=0
        The seed of the draw.
    rows : array of row numbers, default=None
        Divide only these rows; None is all.
    """
    _check_fraction(fraction)
    return random_split(problem, 1 - fraction, seed, rows=rows)
