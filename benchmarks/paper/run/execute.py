"""One job to one record: load, select, fit, predict, score; always on one thread."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper.run import selection_rules
from benchmarks.paper.run.data import Prepared, prepare
from benchmarks.paper.run.host import Meter, describe_host, one_thread, versions
from benchmarks.paper.run.job import DEFAULT, Job, Options
from benchmarks.paper.run.measures import MEASURES, class_probabilities
from benchmarks.paper.run.records import Record
from vmtl._utils.json_values import JSON, to_json
from vmtl._utils.types import Array
from vmtl.data.problem import Problem
from vmtl.data.subsampling import evenly_spaced
from vmtl.estimators import MultiTaskClassifier, MultiTaskRegressor, VMTLClassifier, VMTLRegressor
from vmtl.estimators.base import BaseTaskEstimator
from vmtl.estimators.classification import BaseTaskClassifier
from vmtl.estimators.metrics.class_metrics import class_scores, per_task
from vmtl.estimators.metrics.real_metrics import real_scores
from vmtl.evaluation.references import REFERENCES, fit_reference
from vmtl.paper.training.training import DivergenceError

#: Significant digits of the numbers in a record.
DIGITS = 7


@dataclass(frozen=True)
class TestPrediction:
    """Predictions for the test rows: p (n, C), or mean and std (n,); and the estimator, if it is one of ours."""

    p: Array | None
    mean: Array | None
    std: Array | None
    model: BaseTaskEstimator | None = None
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
    complete = {**record, "cost": meter.costs(), "host": describe_host()}
    return {name: rounded(to_json(value)) for name, value in complete.items()}


def rounded(value: JSON) -> JSON:
    """The same value with real numbers of ``DIGITS`` significant digits, so that records stay small."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _result(job: Job, prepared: Prepared, meter: Meter) -> Record:
    train, test = prepared.train, prepared.test

    def loss(options: Options, part: Problem, held: Problem) -> float:
        return mean_loss(held, fit_and_predict(job, options, part, held))

    with meter.lap("select_seconds"):
        choice = selection_rules.select(job.selection, job.candidates, train, test, loss, job.seed)
    with meter.lap("fit_and_predict_seconds"):
        prediction = fit_and_predict(job, job.candidates[choice.index], train, test)
    meter.add(fit_seconds=prediction.fit_seconds, seconds_per_step=prediction.seconds_per_step)
    tasks = scores(train, test, prediction)
    chosen = selection_rules.choice_as_data(choice, job.candidates)
    if prediction.chosen is not None:
        chosen["cross_validated"] = prediction.chosen
    extras: dict[str, object] = {}
    if prediction.model is not None:
        extras = {name: MEASURES[name](prediction.model, test) for name in job.measure}
        meter.add(seconds_per_1000_rows=_prediction_time(prediction.model, test))
    return {"selection": {"rule": job.selection, **chosen}, "tasks": tasks, "average": average(tasks), "extras": extras}


def fit_and_predict(job: Job, options: Options, train: Problem, test: Problem) -> TestPrediction:
    """Fit the job's method with ``options`` on ``train`` and predict the rows of ``test``."""
    if job.method not in REFERENCES:
        return _estimate(job.method, options, train, test, job.seed)
    if options.get("features", "raw") == "encoder":
        train, test = _encoded(job, train, test)
    started = time.perf_counter()
    linear = fit_reference(REFERENCES[job.method], train, test, options.get("C"), job.seed)
    seconds = time.perf_counter() - started
    return TestPrediction(linear.p, linear.mean, linear.std, chosen=linear.chosen, fit_seconds=seconds)


def _estimate(method: str, options: Options, train: Problem, test: Problem, seed: int) -> TestPrediction:
    steps: list[float] = []
    watch: Options = {}
    if method == DEFAULT:
        kind: Any = MultiTaskClassifier if train.is_classification else MultiTaskRegressor
    else:
        kind = VMTLClassifier if train.is_classification else VMTLRegressor
        options = {"method": method, **options}
        watch = {"callback": lambda progress: steps.append(time.perf_counter())}
    model: BaseTaskEstimator = kind(random_state=seed, n_threads=1, **options)
    started = time.perf_counter()
    model.fit(train.X, train.labels, tasks=train.tasks, **watch)
    seconds = time.perf_counter() - started
    per_step = (steps[-1] - steps[0]) / (len(steps) - 1) if len(steps) > 1 else None
    if isinstance(model, BaseTaskClassifier):
        p, mean, std = class_probabilities(model, test), None, None
    else:
        p, (mean, std) = None, model.predict(test.X, tasks=test.tasks, return_std=True)
    return TestPrediction(p, mean, std, model, seconds_per_step=per_step, fit_seconds=seconds)


#: The last default whose features were asked for, by what it was fitted to: three control rows follow each other.
_last_encoder: dict[tuple[str, int], BaseTaskEstimator] = {}


def _encoded(job: Job, train: Problem, test: Problem) -> tuple[Problem, Problem]:
    """Both sides with the features of the default, fitted on the training rows, in place of the raw ones."""
    rows = sha256(np.ascontiguousarray(train.X).tobytes() + train.y.tobytes() + train.task.tobytes()).hexdigest()
    key = (rows, job.seed)
    if key not in _last_encoder:
        model = _estimate(DEFAULT, {}, train, train.subset(np.arange(1)), job.seed).model
        assert model is not None
        _last_encoder.clear()
        _last_encoder[key] = model
    encode = _last_encoder[key].transform
    train, test = (replace(side, X=encode(side.X, tasks=side.tasks)) for side in (train, test))
    return train, test


#: Steps of every fit in a smoke run.
SMOKE_STEPS = 4


def scores(train: Problem, test: Problem, prediction: TestPrediction) -> dict[str, dict[str, float]]:
    """Scores of every task by name, with its numbers of training and test rows."""
    counts = np.bincount(train.task, minlength=train.n_tasks)

    def score(rows: Array) -> dict[str, float]:
        t, y = int(test.task[rows[0]]), test.y[rows]
        sizes = {"n_train": int(counts[t]), "n_test": len(rows)}
        if prediction.p is not None:
            seen = np.bincount(train.y[train.task == t], minlength=train.n_classes) > 0
            return {**class_scores(y, prediction.p[rows], seen), **sizes}
        assert prediction.mean is not None
        assert prediction.std is not None
        return {**real_scores(y, prediction.mean[rows], prediction.std[rows]), **sizes}

    return dict(zip(test.task_names, per_task(test.task, test.n_tasks, score), strict=True))


def average(tasks: dict[str, dict[str, float]]) -> dict[str, float]:
    """The mean over tasks of every score, over the tasks where it is defined."""
    names = dict.fromkeys(name for values in tasks.values() for name in values if not name.startswith("n_"))
    defined = {name: [v[name] for v in tasks.values() if math.isfinite(v.get(name, math.nan))] for name in names}
    return {name: float(np.mean(values)) for name, values in defined.items() if values}


def mean_loss(held: Problem, prediction: TestPrediction) -> float:
    """NLL, or squared error in regression, averaged over rows."""
    if prediction.p is not None:
        return float(-np.log(np.maximum(prediction.p[np.arange(held.n_rows), held.y], 1e-12)).mean())
    assert prediction.mean is not None
    return float(np.square(held.y - prediction.mean).mean())


def _prediction_time(model: BaseTaskEstimator, test: Problem) -> float:
    """Seconds per 1,000 test rows, the better of two calls on up to 1,000 rows of all tasks."""
    sample = test.subset(evenly_spaced(test.n_rows, 1000))
    times = []
    for _ in range(2):
        started = time.perf_counter()
        model.predict(sample.X, tasks=sample.tasks)
        times.append(time.perf_counter() - started)
    return 1000 * min(times) / sample.n_rows
