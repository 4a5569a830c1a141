"""A model's predictions on labelled rows, and their scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vmtl._utils.messages import did_you_mean, quoted
from vmtl._utils.types import Array, MatrixLike, VectorLike
from vmtl.estimators.base import BaseTaskEstimator
from vmtl.estimators.classification import BaseTaskClassifier
from vmtl.estimators.inputs.task_labels import task_values, unique_tasks
from vmtl.estimators.metrics import class_metrics, real_metrics
from vmtl.estimators.metrics.real_metrics import COVERAGE
from vmtl.estimators.regression import BaseTaskRegressor
from vmtl.evaluation.intervals import Interval, of_root_mean, of_share


@dataclass(frozen=True, eq=False)
class Evidence:
    """Predictions on n labelled rows of T tasks; not the marginal likelihood that ``vmtl.inference`` calls evidence.

    y : (n,) class numbers, or real targets; task : (n,) index into ``tasks``.
    p : (n, C) probabilities, None in regression; mean, std : (n,) of the prediction, None in classification.
    total, epistemic : (n,) the uncertainty of each row.
    positive : which of two classes is the event.
    covered, extent : (n,) whether the 90 % interval or set holds the target, and its width or number of classes; None
        for a model without left-out predictions.
    """

    tasks: tuple[str, ...]
    classes: tuple[str, ...] | None
    task: Array
    y: Array
    p: Array | None
    mean: Array | None
    std: Array | None
    total: Array
    epistemic: Array
    positive: int = 1
    covered: Array | None = None
    extent: Array | None = None

    @property
    def measure(self) -> str:
        """The name of the main score."""
        return "accuracy" if self.p is not None else "RMSE"

    @cached_property
    def loss(self) -> Array:
        """(n,) what the main score averages: 1 where the class is wrong, or the squared error."""
        if self.p is not None:
            return np.asarray(self.p.argmax(axis=1) != self.y, dtype=float)
        assert self.mean is not None
        return np.asarray(np.square(self.mean - self.y))

    @cached_property
    def wrong(self) -> Array:
        """(n,) rows whose prediction is wrong: another class, or an error above the median error."""
        return np.asarray(self.loss > (0 if self.p is not None else np.median(self.loss)))

    def rows(self, t: int) -> Array:
        return np.flatnonzero(self.task == t)

    def mean_score(self) -> float:
        """Accuracy or RMSE, averaged over the tasks that have rows."""
        losses = np.array([self.loss[self.rows(t)].mean() for t in self.present])
        return float(np.mean(1 - losses if self.p is not None else np.sqrt(losses)))

    def score(self, rows: Array) -> Interval:
        """Accuracy or RMSE of some rows, with its interval."""
        return of_share(self.loss[rows] == 0) if self.p is not None else of_root_mean(self.loss[rows])

    def scores(self, rows: Array) -> dict[str, float]:
        """Every further score of some rows."""
        y = self.y[rows]
        if self.p is not None:
            p = self.p[rows]
            ranks = {"auc": class_metrics.auc(y, p), "balanced_accuracy": class_metrics.balanced_accuracy(y, p)}
            scores = class_metrics.class_scores(y, p)
            last = scores.pop("entropy_ratio")
            ranks["f1"] = class_metrics.f1(y, p, self.positive)
            further = {"ece_perfect": perfect_ece(p), "entropy_ratio": last}
            return {**ranks, **scores, **further, **self._guarantee(rows, "set_size")}
        assert self.mean is not None
        assert self.std is not None
        mean, std = self.mean[rows], self.std[rows]
        explained = {"r2": real_metrics.r2(y, mean), "mae": real_metrics.mae(y, mean)}
        further = {**real_metrics.real_scores(y, mean, std), "coverage": real_metrics.coverage(y, mean, std)}
        return {**explained, **further, **self._guarantee(rows, "interval_width")}

    def _guarantee(self, rows: Array, extent: str) -> dict[str, float]:
        """How often the 90 % intervals or sets hold the target, and how large they are on average."""
        if self.covered is None or self.extent is None:
            return {}
        return {"covered": float(self.covered[rows].mean()), extent: float(self.extent[rows].mean())}

    def mean_scores(self) -> dict[str, float]:
        """Every score averaged over the tasks that have it; nan where none has."""
        of_tasks = [{self.measure.lower(): self.score(r).value, **self.scores(r)} for r in map(self.rows, self.present)]
        known = {name: [s[name] for s in of_tasks if np.isfinite(s[name])] for name in of_tasks[0]}
        return {name: float(np.mean(values)) if values else float("nan") for name, values in known.items()}

    @property
    def present(self) -> list[int]:
        """The tasks that have rows here."""
        return [t for t in range(len(self.tasks)) if (self.task == t).any()]


def perfect_ece(p: Array, repeats: int = 200) -> float:
    """The mean calibration error on as many rows if ``p`` were true: labels are drawn from it, with a fixed seed.

    Parameters
    ----------
    p : array of shape (n, C)
        Probabilities of the classes.
    repeats : int, default=200
        How often labels are drawn.
    """
    rng, top, confidence = np.random.default_rng(0), p.argmax(axis=1), p.max(axis=1)
    drawn = (np.where(rng.random(len(p)) < confidence, top, -1) for _ in range(repeats))
    return float(np.mean([class_metrics.ece(y, p) for y in drawn]))


def gather(
    model: BaseTaskEstimator,
    X: MatrixLike,
    y: Array,
    tasks: VectorLike | None = None,
    positive: object = None,
) -> Evidence:
    """Predict labelled rows; ``y`` and ``tasks`` as the model knows them, None for a model of one task.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    X : array-like, sparse matrix or DataFrame of shape (n, D)
        Labelled rows.
    y : array of shape (n,)
        Their targets, as the model knows them.
    tasks : array-like of shape (n,), default=None
        Their tasks, as the model knows them; None for a model of one task.
    positive : label, default=None
        Which of two classes is the event; the last of ``classes_`` if None.
    """
    tasks = task_values([model.tasks_[0]] * len(y) if tasks is None else tasks, len(y))
    known = list(model.tasks_) + [name for name in unique_tasks(tasks) if name not in set(model.tasks_)]
    place = {name: index for index, name in enumerate(known)}
    uncertainty = model.uncertainty(X, tasks=tasks)
    common: dict[str, Any] = {
        "tasks": tuple(map(str, known)),
        "task": np.array([place[name] for name in tasks], dtype=np.int64),
        "total": uncertainty["total"].to_numpy(),
        "epistemic": uncertainty["epistemic"].to_numpy(),
    }
    if isinstance(model, BaseTaskRegressor):
        return _of_values(model, X, y, tasks, common)
    assert isinstance(model, BaseTaskClassifier)
    return _of_classes(model, X, y, tasks, positive, common)


def _of_values(model: BaseTaskRegressor, X: MatrixLike, y: Array, tasks: Array, common: dict[str, Any]) -> Evidence:
    mean, std = model.predict(X, tasks=tasks, return_std=True)
    targets = np.asarray(y, dtype=float)
    if model.has_left_out_scores(COVERAGE):
        low, high = model.predict_interval(X, tasks=tasks, coverage=COVERAGE).to_numpy().T
        common |= {"covered": (low <= targets) & (targets <= high), "extent": high - low}
    return Evidence(classes=None, y=targets, p=None, mean=mean, std=std, **common)


def _of_classes(
    model: BaseTaskClassifier, X: MatrixLike, y: Array, tasks: Array, positive: object, common: dict[str, Any]
) -> Evidence:
    p = model.predict_proba(X, tasks=tasks)
    labels = tuple(map(str, model.classes_))
    code = {label: index for index, label in enumerate(labels)}
    codes = np.array([code[str(label)] for label in y], dtype=np.int64)
    event = _event(positive, code)
    if model.has_left_out_scores(COVERAGE):
        inside = model.predict_set(X, tasks=tasks, coverage=COVERAGE).to_numpy()
        common |= {"covered": inside[np.arange(len(codes)), codes], "extent": inside.sum(axis=1).astype(float)}
    return Evidence(classes=labels, y=codes, p=p, mean=None, std=None, positive=event, **common)


def _event(positive: object, code: dict[str, int]) -> int:
    """The number of the class that is the event."""
    if positive is None:
        return 1
    if len(code) != 2 or str(positive) not in code:
        hint = f"{quoted(list(code))}" if len(code) == 2 else f"two classes, and this model has {len(code)}"
        raise ValueError(f"The event {positive!r}{did_you_mean(positive, code)} must be one of {hint}.")
    return code[str(positive)]
