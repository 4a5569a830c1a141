"""One job to one record: load, select, fit, predict, score; always on one thread."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from vmtl._utils.types import Array
from vmtl.bench.run import selection_rules
from vmtl.bench.run.attack import attacked, input_gradient
from vmtl.bench.run.data import Prepared, prepare
from vmtl.bench.run.host import Meter, describe_host, one_thread, versions
from vmtl.bench.run.job import Job, Options
from vmtl.bench.run.records import Record
from vmtl.data.problem import Problem
from vmtl.estimators import MultiTaskClassifier, MultiTaskRegressor
from vmtl.evaluation.metrics import accuracy, class_scores, per_task, real_scores
from vmtl.evaluation.references import REFERENCES, fit_reference
from vmtl.inference.variational.training import DivergenceError

#: Noise levels of the attack, in standard deviations of the features.
LEVELS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3)
#: Points of a loss curve that a record keeps.
CURVE_POINTS = 60


@dataclass(frozen=True)
class Found:
    """Predictions for the test rows: p (n, C), or mean and std (n,); and the estimator, if it is one of ours."""

    p: Array | None
    mean: Array | None
    std: Array | None
    model: Any = None
    chosen: Options | None = None
    seconds_per_step: float | None = None
    fit_seconds: float | None = None


def execute(job: Job, root: Path | None, splits: Path | None) -> Record:
    """Run a job; a fit that diverges is a result too and is recorded as such."""
    with one_thread(), Meter() as meter:
        prepared = prepare(job, root, splits)
        record: Record = {
            "id": job.id,
            "job": job.arguments(),
            "preset": job.preset,
            "data": {**prepared.origin, "n_train": prepared.train.n_rows, "n_test": prepared.test.n_rows},
            "versions": versions(),
        }
        try:
            record |= {"status": "done", **_result(job, prepared, meter)}
        except DivergenceError as error:
            record |= {"status": "diverged", "error": str(error), "tasks": {}, "average": {}}
    whole: Record = plain({**record, "cost": meter.costs(), "host": describe_host()})
    return whole


def _result(job: Job, prepared: Prepared, meter: Meter) -> Record:
    train, test = prepared.train, prepared.test

    def loss(options: Options, part: Problem, held: Problem) -> float:
        return mean_loss(held, predict(job, options, part, held))

    with meter.lap("select_seconds"):
        choice = selection_rules.select(job.selection, job.candidates, train, test, loss, job.seed)
    with meter.lap("fit_and_predict_seconds"):
        found = predict(job, job.candidates[choice.index], train, test)
    meter.add(fit_seconds=found.fit_seconds, seconds_per_step=found.seconds_per_step)
    tasks = scores(train, test, found)
    chosen = selection_rules.describe(choice, job.candidates)
    if found.chosen is not None:
        chosen["cross_validated"] = found.chosen
    extras = {name: MEASURES[name](found, test) for name in job.measure if found.model is not None}
    if found.model is not None:
        meter.add(seconds_per_1000_rows=_prediction_time(found.model, test))
    return {"selection": {"rule": job.selection, **chosen}, "tasks": tasks, "average": average(tasks), "extras": extras}


def predict(job: Job, options: Options, train: Problem, test: Problem) -> Found:
    """Fit the job's method with ``options`` on ``train`` and predict the rows of ``test``."""
    if job.method not in REFERENCES:
        return _estimate(job.method, options, train, test, job.seed)
    if options.get("features", "raw") == "encoder":
        train, test = _encoded(job, str(options.get("preset", "default")), train, test)
    started = time.perf_counter()
    found = fit_reference(REFERENCES[job.method], train, test, options.get("C"), job.seed)
    seconds = time.perf_counter() - started
    return Found(found.p, found.mean, found.std, chosen=found.chosen, fit_seconds=seconds)


def _estimate(method: str, options: Options, train: Problem, test: Problem, seed: int) -> Found:
    kind: Any = MultiTaskClassifier if train.is_classification else MultiTaskRegressor
    model = kind(method=method, random_state=seed, n_threads=1, **options)
    steps: list[float] = []
    started = time.perf_counter()
    model.fit(train.X, train.labels, tasks=train.tasks, callback=lambda progress: steps.append(time.perf_counter()))
    seconds = time.perf_counter() - started
    per_step = (steps[-1] - steps[0]) / (len(steps) - 1) if len(steps) > 1 else None
    known: dict[str, Any] = {"model": model, "seconds_per_step": per_step, "fit_seconds": seconds}
    if train.is_classification:
        return Found(class_probabilities(model, test), None, None, **known)
    mean, std = model.predict(test.X, tasks=test.tasks, return_std=True)
    return Found(None, mean, std, **known)


def class_probabilities(model: Any, test: Problem, X: Any = None) -> Array:
    """(n, C) in the problem's numbering of classes; a class that no training row has gets 0."""
    p = np.zeros((test.n_rows, test.n_classes))
    column = [(test.class_names or ()).index(name) for name in model.classes_]
    p[:, column] = model.predict_proba(test.X if X is None else X, tasks=test.tasks)
    return p


#: The last VMTL whose features were asked for, by what it was fitted to: three control rows follow each other.
_last_encoder: dict[tuple[str, str, int], Any] = {}


def _encoded(job: Job, preset: str, train: Problem, test: Problem) -> tuple[Problem, Problem]:
    """Both sides with VMTL's encoder features, fitted on the training rows, in place of the raw ones."""
    rows = sha256(np.ascontiguousarray(train.X).tobytes() + train.y.tobytes() + train.task.tobytes()).hexdigest()
    key = (preset, rows, job.seed)
    if key not in _last_encoder:
        steps = {"max_steps": SMOKE_STEPS} if job.smoke else {}
        options, one_row = {"preset": preset, **steps}, train.subset(np.arange(1))
        _last_encoder.clear()
        _last_encoder[key] = _estimate("vmtl", options, train, one_row, job.seed).model
    encode = _last_encoder[key].encode
    train, test = (replace(side, X=encode(side.X, tasks=side.tasks)) for side in (train, test))
    return train, test


#: Steps of every fit in a smoke run.
SMOKE_STEPS = 4


def scores(train: Problem, test: Problem, found: Found) -> dict[str, dict[str, float]]:
    """Scores of every task by name, with its numbers of training and test rows."""
    counts = np.bincount(train.task, minlength=train.n_tasks)

    def score(rows: Array) -> dict[str, float]:
        t, y = int(test.task[rows[0]]), test.y[rows]
        sizes = {"n_train": int(counts[t]), "n_test": len(rows)}
        if found.p is not None:
            seen = np.bincount(train.y[train.task == t], minlength=train.n_classes) > 0
            return {**class_scores(y, found.p[rows], seen), **sizes}
        assert found.mean is not None
        assert found.std is not None
        return {**real_scores(y, found.mean[rows], found.std[rows]), **sizes}

    return dict(zip(test.task_names, per_task(test.task, test.n_tasks, score), strict=True))


def average(tasks: dict[str, dict[str, float]]) -> dict[str, float]:
    """The mean over tasks of every score, over the tasks where it is defined."""
    names = dict.fromkeys(name for values in tasks.values() for name in values if not name.startswith("n_"))
    found = {name: [v[name] for v in tasks.values() if math.isfinite(v.get(name, math.nan))] for name in names}
    return {name: float(np.mean(values)) for name, values in found.items() if values}


def mean_loss(held: Problem, found: Found) -> float:
    """NLL, or squared error in regression, averaged over rows."""
    if found.p is not None:
        return float(-np.log(np.maximum(found.p[np.arange(held.n_rows), held.y], 1e-12)).mean())
    assert found.mean is not None
    return float(np.square(held.y - found.mean).mean())


def _prediction_time(model: Any, test: Problem) -> float:
    """Seconds per 1,000 test rows, the better of two calls on up to 1,000 rows of all tasks."""
    sample = test.subset(np.linspace(0, test.n_rows - 1, min(test.n_rows, 1000)).astype(int))
    times = []
    for _ in range(2):
        started = time.perf_counter()
        model.predict(sample.X, tasks=sample.tasks)
        times.append(time.perf_counter() - started)
    return 1000 * min(times) / sample.n_rows


def _history(found: Found, test: Problem) -> dict[str, Any]:
    """The loss terms, averaged over tasks, at up to ``CURVE_POINTS`` steps."""
    table = found.model.history_.groupby("step").mean(numeric_only=True)
    kept = table.iloc[np.unique(np.linspace(0, len(table) - 1, min(len(table), CURVE_POINTS)).astype(int))]
    total = kept["nll"] + kept["kl_scale_z"] * kept["kl_z"]
    terms = {name: kept[name].tolist() for name in ("nll", "kl_z", "kl_w")}
    return {"step": kept.index.tolist(), **terms, "nll_and_kl_z": total.tolist()}


def _mixing(found: Found, test: Problem) -> dict[str, Any]:
    """alpha and beta as lists of rows, and the tasks that index them."""
    model = found.model
    tables = {"alpha": model.alpha_, "beta": model.beta_} if model.method_.mixes else {}
    return {"tasks": list(model.tasks_), **{name: table.to_numpy().tolist() for name, table in tables.items()}}


def _attack(found: Found, test: Problem) -> dict[str, Any]:
    """Accuracy of every task under the fast gradient sign method at every noise level."""
    gradient = input_gradient(found.model, test)
    curves: dict[str, list[float]] = {name: [] for name in test.task_names}
    for level in LEVELS:
        p = class_probabilities(found.model, test, attacked(test, gradient, level))
        for t, name in enumerate(test.task_names):
            own = test.task == t
            curves[name].append(accuracy(test.y[own], p[own]))
    return {"levels": list(LEVELS), "accuracy": curves}


MEASURES = {"history": _history, "mixing": _mixing, "attack": _attack}


def plain(value: Any) -> Any:
    """Numbers, text, lists and dicts that JSON has; nan and infinity become None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
