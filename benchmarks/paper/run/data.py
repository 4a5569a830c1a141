"""The data sets that suites name: where their files are, how they are split, what stands in for them."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from benchmarks.paper.datasets import load_domainnet, load_imageclef, load_office_caltech, load_office_home
from benchmarks.paper.run.domains import draw_task_groups, load_mnist_domains
from benchmarks.paper.run.job import Job
from vmtl import datasets
from vmtl._utils.types import Array
from vmtl.data.problem import Problem
from vmtl.data.splits import Split, document_split, random_split
from vmtl.data.subsampling import evenly_spaced

#: Rows per task and, at most, tasks, classes and columns of a stand-in or of a smoke run.
SMOKE_ROWS, SMOKE_TASKS, SMOKE_CLASSES, SMOKE_COLUMNS = 40, 6, 6, 32
EMBEDDED = "embedded data"


@dataclass(frozen=True)
class DataSet:
    """A named set.

    files : names below the data folder, the first that is there is read; empty for an embedded set.
    load : file -> Problem; ``draw`` for sets that come with a split: (file, percent, seed) -> both.
    shape : (T, C, D), what a stand-in imitates; C = 1 in regression.
    documents : folder of split documents below the splits folder.
    dealt : tasks are shuffled among the rows of a class: a control, in which no two tasks are related more than others.
    features : what a row is; the file name says more.
    """

    name: str
    shape: tuple[int, int, int]
    features: str
    files: tuple[str, ...] = ()
    load: Callable[[Path], Problem] | None = None
    draw: Callable[[Path, float, int], tuple[Problem, Split]] | None = None
    documents: str | None = None
    dealt: bool = False


@dataclass(frozen=True)
class Prepared:
    """Training and test rows of a job, and words about where they came from."""

    train: Problem
    test: Problem
    origin: dict[str, str | int]


def _image_set(name: str, stem: str, load: Callable[[Path], Problem], shape: tuple[int, int, int]) -> DataSet:
    files = tuple(f"{stem}{kind}.npz" for kind in ("_vgg16", "_effnetlite0", "_efficientnet_lite0", ""))
    return DataSet(name, shape, "image features", files, load, documents=name)


_OFFICE_CALTECH = _image_set("office-caltech", "office_caltech", load_office_caltech, (4, 10, 4096))
DATASETS: dict[str, DataSet] = {
    entry.name: entry
    for entry in (
        _image_set("office-home", "office_home", load_office_home, (4, 65, 4096)),
        _OFFICE_CALTECH,
        replace(_OFFICE_CALTECH, name="office-caltech-dealt", dealt=True),
        _image_set("imageclef", "imageclef", load_imageclef, (4, 12, 4096)),
        _image_set("domainnet", "domainnet", load_domainnet, (6, 345, 4096)),
        DataSet(
            "office-caltech-surf",
            (4, 10, 800),
            "SURF counts",
            ("office_caltech_surf800.npz",),
            datasets.load_npz,
            documents="office-caltech",
        ),
        DataSet("digits3", (3, 10, 256), "pixels", ("digits3_256d.npz",), datasets.load_npz),
        DataSet("school", (139, 1, 28), "table columns", ("school.npz",), datasets.load_school),
        DataSet("mnist-domains", (4, 10, 784), "pixels", ("mnist",), load_mnist_domains),
        DataSet("rotated-mnist", (10, 1, 784), "pixels", ("mnist",), draw=datasets.load_rotated_mnist),
        DataSet("digits-domains", (4, 10, 64), "pixels", load=lambda _: datasets.load_digits_domains()),
        DataSet("task-groups", (12, 4, 20), "synthetic columns", draw=draw_task_groups),
        DataSet(
            "task-groups-without-adversary",
            (11, 4, 20),
            "synthetic columns",
            draw=partial(draw_task_groups, with_adversary=False),
        ),
        DataSet("rotated-digits", (10, 1, 64), "pixels", load=lambda _: datasets.load_rotated_digits()),
    )
}


def get_dataset(name: str) -> DataSet:
    if name not in DATASETS:
        raise ValueError(f"Unknown data set {name!r}; choose one of {', '.join(DATASETS)}.")
    return DATASETS[name]


def find_file(entry: DataSet, root: Path | None) -> Path | None:
    """The set's file below ``root`` or ``root/data``; None where it is not there."""
    for base in (root, root / "data") if root is not None else ():
        for name in entry.files:
            if (base / name).exists():
                return base / name
    return None


def find_documents(entry: DataSet, root: Path | None, splits: Path | None) -> Path | None:
    """The folder of split documents: below ``splits``, or below ``root/splits`` where no folder was given."""
    base = splits if splits is not None else root / "splits" if root is not None else None
    if base is None or entry.documents is None:
        return None
    folder = base / entry.documents
    return folder if folder.is_dir() else None


def missing_data(job: Job, root: Path | None, splits: Path | None) -> str | None:
    """A sentence about what the job needs and lacks, or None."""
    entry = get_dataset(job.data)
    if entry.files and find_file(entry, root) is None:
        wanted = f"{entry.files[-1]}" if len(entry.files) == 1 else f"{entry.files[-1]} (written by `vmtl features`)"
        return f"{root or 'No --data folder'} has no {entry.name}; put {wanted} there, or run with --smoke."
    if job.split == "paper" and find_documents(entry, root, splits) is None:
        return f"The split documents {entry.documents or entry.name} are not there; give their folder as --splits."
    return None


@lru_cache(maxsize=4)
def _whole(name: str, file: Path | None) -> Problem:
    load = get_dataset(name).load
    assert load is not None
    return load(file if file is not None else Path())


def prepare(job: Job, root: Path | None, splits: Path | None) -> Prepared:
    """The rows of a job: its set, or the stand-in that the job names, divided."""
    entry = get_dataset(job.data)
    if job.source == "stand-in":
        problem = stand_in(entry)
        split = random_split(problem, 0.3, job.seed)
        origin: dict[str, str | int] = {"file": "synthetic stand-in", "features": "synthetic"}
        return _parts(problem, split, origin, job.smoke)
    if reason := missing_data(job, root, splits):
        raise FileNotFoundError(reason)
    file = find_file(entry, root)
    if entry.draw is not None:
        problem, split = entry.draw(file or Path(), job.fraction, job.seed)
    else:
        problem = _whole(job.data, file)
        split = _split(job, problem, find_documents(entry, root, splits))
    if entry.dealt:
        problem = deal_tasks(problem, split, job.seed)
    origin = {"file": EMBEDDED if file is None else file.name, "features": entry.features}
    return _parts(problem, split, origin, job.smoke)


def _split(job: Job, problem: Problem, documents: Path | None) -> Split:
    if job.split == "paper" and documents is not None:
        return document_split(problem, documents, int(job.fraction))
    return random_split(problem, job.fraction / 100, job.seed)


def _parts(problem: Problem, split: Split, origin: dict[str, str | int], smoke: bool) -> Prepared:
    train_rows, test_rows = split.train, split.test
    if smoke:
        train_rows, test_rows = (_some_of_every_task(problem, rows) for rows in (train_rows, test_rows))
    train, test = problem.subset(train_rows), problem.subset(test_rows)
    digest = zlib.crc32(np.ascontiguousarray(train.X).tobytes() + train.y.tobytes())
    origin |= {"train_digest": f"{digest:08x}", "n_features": int(train.X.shape[1]), "n_classes": problem.n_classes}
    return Prepared(train, test, origin)


def deal_tasks(problem: Problem, split: Split, seed: int) -> Problem:
    """The problem with tasks shuffled among the rows of every class, training and test rows apart."""
    task, rng = problem.task.copy(), np.random.default_rng(seed)
    for side in (split.train, split.test):
        for label in np.unique(problem.y[side]):
            rows = side[problem.y[side] == label]
            task[rows] = rng.permutation(task[rows])
    return replace(problem, task=task)


def _some_of_every_task(problem: Problem, rows: Array) -> Array:
    """At most ``SMOKE_ROWS`` evenly spaced rows of every task."""
    by_task = (rows[problem.task[rows] == t] for t in range(problem.n_tasks))
    return np.sort(np.concatenate([part[evenly_spaced(len(part), SMOKE_ROWS)] for part in by_task]))


def stand_in(entry: DataSet) -> Problem:
    """Synthetic rows with the set's tasks, classes and columns, each cut down to a few.

    Class centres shared by the tasks, a shift per task, noise; in regression a shared linear map plus noise.
    """
    tasks, classes, columns = (min(n, most) for n, most in zip(entry.shape, _CAPS, strict=True))
    rng = np.random.default_rng(zlib.crc32(entry.name.encode()))
    task = np.repeat(np.arange(tasks), SMOKE_ROWS)
    noise = rng.standard_normal((len(task), columns))
    shift = 0.5 * rng.standard_normal((tasks, columns))
    y = np.tile(np.arange(SMOKE_ROWS) % max(classes, 2), tasks)
    X = noise + shift[task] + (rng.standard_normal((classes, columns))[y] if classes > 1 else 0.0)
    target = y if classes > 1 else X @ rng.standard_normal(columns) + 0.1 * rng.standard_normal(len(task))
    return Problem(
        name=f"{entry.name} (stand-in)",
        X=X.astype(np.float32),
        y=target if classes > 1 else target.astype(np.float32),
        task=task,
        task_names=tuple(f"task_{t}" for t in range(tasks)),
        class_names=tuple(f"class_{c}" for c in range(classes)) if classes > 1 else None,
    )


_CAPS = (SMOKE_TASKS, SMOKE_CLASSES, SMOKE_COLUMNS)
