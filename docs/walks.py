"""What one call runs, recorded from a real one: the call sequences of docs/architecture.md."""

from __future__ import annotations

import inspect
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

#: Packages that every other one uses; their functions are not steps.
GROUND = ("_utils", "data", "results")


@dataclass(frozen=True)
class Step:
    """A function that was called, and how deep below the first one."""

    where: str  # dotted name below ``vmtl``
    depth: int

    @property
    def package(self) -> str:
        return self.where.partition(".")[0]

    @property
    def what(self) -> str:
        """The first sentence of its docstring."""
        text = inspect.getdoc(_resolve(self.where)) or ""
        return " ".join(text.split("\n\n")[0].split()).replace("``", "").partition(". ")[0].rstrip(".:")


@dataclass(frozen=True)
class Walk:
    """A call, where it begins, and which of the functions on its way are opened to show what they call."""

    run: Callable[[], Callable[[], object]]  # prepares, and returns the call that is recorded
    root: str
    opened: tuple[str, ...]
    hidden: tuple[str, ...] = ()


def rows() -> dict[str, Any]:
    """Sixty rows of three tasks, and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return {"X": X, "y": (X[:, 0] > 0).astype(int), "tasks": np.arange(60) % 3}


def fit_default() -> Callable[[], object]:
    from vmtl import MultiTaskClassifier

    return lambda: MultiTaskClassifier(random_state=0).fit(**rows())


def fit_paper() -> Callable[[], object]:
    from vmtl import VMTLClassifier

    return lambda: VMTLClassifier(max_steps=2, random_state=0).fit(**rows())


def predict() -> Callable[[], object]:
    from vmtl import MultiTaskClassifier

    given = rows()
    model = MultiTaskClassifier(random_state=0).fit(**given)
    return lambda: model.predict_proba(given["X"], tasks=given["tasks"])


def fit_table() -> Callable[[], object]:
    from typer.testing import CliRunner

    from vmtl.cli import app

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder, "train.csv")
            lines = [f"{n % 3},{'ab'[n % 2]},{n * 0.5},{'xyz'[n % 3]}" for n in range(30)]
            table.write_text("\n".join(["site,outcome,dose,ward", *lines]), encoding="utf-8")
            options = ["--task", "site", "--target", "outcome", "--out", str(table.with_suffix(".vmtl"))]
            done = CliRunner().invoke(app, ["fit", str(table), *options])
            assert done.exit_code == 0, done.output

    return run


ESTIMATOR = "estimators.base.BaseTaskEstimator"
#: Small helpers of the input validation, and slopes that torch asks for.
HIDDEN = (
    "estimators.all_or_nothing.all_or_nothing",
    "estimators.inputs.task_labels.unique_tasks",
    "estimators.inputs.task_labels.encode_tasks",
    "estimators.inputs.unknown_tasks.RowTasks.unknown",
    "estimators.prediction._check_finite",
    "gp.fitted._parts",
    "paper.likelihoods.sampled_loss._SampledLoss.backward",
    "paper.priors.row_bound._RowBound.backward",
)
WALKS = {
    "fit": Walk(
        fit_default,
        f"{ESTIMATOR}.fit",
        (
            f"{ESTIMATOR}._fit",
            f"{ESTIMATOR}._fit_rows",
            "estimators.multi_task.MultiTaskClassifier._run",
            "estimators.multi_task.fit_gp",
            "gp.fit.fit",
        ),
        ("gp.fit.search_rows", "gp.forest.is_forest_useful"),
    ),
    "paper": Walk(
        fit_paper,
        "estimators.variational.VMTLClassifier.fit",
        (
            f"{ESTIMATOR}._fit",
            f"{ESTIMATOR}._fit_rows",
            "estimators.variational_fit.VariationalFit.run",
            "paper.fit.fit",
            "paper.training.run.train_model",
            "paper.training.training.Trainer.run",
            "paper.training.training.Trainer._one_step",
            "paper.training.training.Trainer._terms",
        ),
        ("paper.training.training.check_weights", "estimators.variational_fit.settings_of", "paper.methods.get_method"),
    ),
    "predict": Walk(
        predict,
        "estimators.classification.BaseTaskClassifier.predict_proba",
        (
            f"{ESTIMATOR}._in_parts",
            "estimators.prediction.TaskPredictor.probabilities",
            "estimators.prediction.TaskPredictor._predict",
            "gp.fitted.FittedGP.probabilities",
            "gp.fitted.FittedGP._probabilities",
        ),
        (f"{ESTIMATOR}._unknown_tasks", "estimators.inputs.feature_table.row_slices", f"{ESTIMATOR}._predictor"),
    ),
}
#: Where a table becomes numbers: functions in the order in which they are first called.
TABLE = (
    "cli.fit.fit",
    "datasets.table_files.read_table",
    "datasets.frame_files.read_frame",
    "data.column_types.column_format",
    f"{ESTIMATOR}.fit",
    "data.preprocessing.TablePreprocessor.fit",
    "data.preprocessing.TablePreprocessor.transform",
)
#: The packages that a walk passes through. A fit comes back to the estimator, which keeps the labels.
PASSED = {
    "fit": ["estimators", "gp", "estimators"],
    "paper": ["estimators", "paper", "estimators"],
    "predict": ["estimators", "gp"],
}


def record(call: Callable[[], object]) -> list[tuple[str, str]]:
    """Every function of vmtl with the one that called it, in the order of their first calls."""
    pairs: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and (name := _name(frame)):
            caller = frame.f_back
            while caller is not None and not _name(caller):
                caller = caller.f_back
            pairs.setdefault((_name(caller) if caller else "", name))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return list(pairs)


def _name(frame: FrameType) -> str:
    """The dotted name below ``vmtl``; inner functions belong to the outer ones, the bodies of classes to nobody."""
    module = frame.f_globals.get("__name__", "")
    name = frame.f_code.co_qualname.partition(".<locals>")[0]
    is_function = frame.f_code.co_flags & inspect.CO_NEWLOCALS and "<" not in name
    return f"{module.removeprefix('vmtl.')}.{name}" if module.startswith("vmtl.") and is_function else ""


@cache
def steps(name: str) -> tuple[Step, ...]:
    """What the walk of this name calls, depth first."""
    walk = WALKS[name]
    children: dict[str, list[str]] = {}
    for caller, called in record(walk.run()):
        children.setdefault(caller, []).append(called)

    def below(where: str, depth: int, seen: set[str]) -> list[Step]:
        found = []
        for child in children.get(where, []):
            if child in seen or child.startswith(tuple(f"{package}." for package in GROUND)):
                continue
            seen.add(child)
            step = Step(child, depth)
            private = child.rpartition(".")[2].startswith("__") and not child.endswith("__call__")
            if child in walk.opened or not (private or child in walk.hidden or child in HIDDEN or not step.what):
                found.append(step)
                if child in walk.opened:
                    found += below(child, depth + 1, seen)
        return found

    return (Step(walk.root, 0), *below(walk.root, 1, {walk.root}))


def _resolve(where: str) -> object:
    """The function of a dotted name."""
    parts = where.split(".")
    for size in range(len(parts) - 1, 0, -1):
        try:
            value: object = import_module(".".join(["vmtl", *parts[:size]]))
        except ModuleNotFoundError:
            continue
        for part in parts[size:]:
            value = getattr(value, part)
        return value
    raise ValueError(where)
