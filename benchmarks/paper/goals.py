"""What the defaults have to reach, and where they stand: one line per goal, from records alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.paper.results.main_table import hurt_tasks
from benchmarks.paper.results.statistics import paired
from benchmarks.paper.results.table_rows import TableRow, best_row, collect_rows, settings_of
from benchmarks.paper.run.job import DEFAULT
from benchmarks.paper.run.records import Record
from benchmarks.paper.run.suite import Suite

#: Training rows up to which the time of a default fit has a goal.
SMALL_FIT_ROWS = 500


@dataclass(frozen=True)
class Goal:
    """What, the goal in words, the measured value (None: not measurable yet), and whether it is reached."""

    what: str
    goal: str
    value: float | None
    reached: bool | None
    detail: str = ""


@dataclass(frozen=True)
class Setting:
    """One data set at one fraction: the row of the default and the rows that it is compared with."""

    data: str
    fraction: float
    metric: str
    ours: TableRow
    references: list[TableRow]
    controls: list[TableRow]

    def gain(self, others: Sequence[TableRow], metric: str | None = None) -> float | None:
        """The default minus the best of ``others``, positive is better; in regression percent of their error."""
        metric = metric or self.metric
        rival = best_row(others, metric)
        if rival is None or not self.ours.values(metric):
            return None
        ours, theirs = self.ours.interval(metric).value, rival.interval(metric).value
        if metric in ("accuracy",):
            return 100 * (ours - theirs)
        return 100 * (theirs - ours) / theirs if metric == "rmse" else theirs - ours


def find_settings(suites: Sequence[Suite], records: Mapping[str, Record]) -> list[Setting]:
    """The settings of all "methods" suites for which the default has been run."""
    settings = []
    for suite in suites:
        rows = collect_rows(suite, records)
        for data, split, fraction in settings_of(rows) if suite.layout == "methods" else ():
            own = [row for row in rows if (row.key.data, row.key.split, row.key.fraction) == (data, split, fraction)]
            linear = [row for row in own if row.key.is_reference]
            ours = next((r for r in own if r.key.method == DEFAULT and not r.key.variant and r.runs), None)
            if ours is not None:
                settings.append(
                    Setting(
                        data,
                        fraction,
                        suite.metric,
                        ours,
                        [row for row in linear if row.key.variant == "C by CV"],
                        [row for row in linear if "features" in row.key.variant],
                    )
                )
    return settings


def set_means(settings: Sequence[Setting], value: Callable[[Setting], float | None]) -> dict[str, float]:
    """A set's value is the mean over its settings."""
    pairs = [(setting.data, value(setting)) for setting in settings]
    names = dict.fromkeys(name for name, number in pairs if number is not None)
    return {
        name: float(np.mean([number for other, number in pairs if other == name and number is not None]))
        for name in names
    }


def measure_goals(suites: Sequence[Suite], records: Mapping[str, Record]) -> list[Goal]:
    """All goals, in the order in which they are usually read."""
    settings = find_settings(suites, records)
    classes = [setting for setting in settings if setting.metric == "accuracy"]
    reals = [setting for setting in settings if setting.metric == "rmse"]
    gains = set_means(classes, lambda setting: setting.gain(setting.references))
    control = set_means(classes, lambda setting: setting.gain(setting.controls))
    errors = set_means(reals, lambda setting: setting.gain(setting.references))
    return [
        _goal(
            "accuracy over the best linear row, mean over sets", gains, ">= +2.3 points", np.mean, lambda v: v >= 2.3
        ),
        _goal("worst set", gains, ">= -0.1 points", min, lambda v: v >= -0.1),
        _goal(
            "accuracy over the best linear row on the default's features",
            control,
            ">= +0.5 points",
            np.mean,
            lambda v: v >= 0.5,
        ),
        *_likelihood_goals(settings),
        _transfer_goal(settings),
        _goal("RMSE under the best linear row, mean over sets", errors, ">= 2 %", np.mean, lambda v: v >= 2),
        _goal("worst regression set", errors, ">= -0.5 %", min, lambda v: v >= -0.5),
        *_relatedness_goals(suites, records),
        _time_goal(settings),
    ]


def _goal(
    what: str,
    values: Mapping[str, float],
    goal: str,
    summary: Callable[[list[float]], float],
    good: Callable[[float], bool],
    form: str = "+.2f",
) -> Goal:
    if not values:
        return Goal(what, goal, None, None)
    value = float(summary(list(values.values())))
    return Goal(what, goal, value, good(value), ", ".join(f"{name} {v:{form}}" for name, v in values.items()))


def _likelihood_goals(settings: Sequence[Setting]) -> list[Goal]:
    """How often the default's test NLL is better than the best linear row's, and the mean calibration error."""
    gains = [gain for s in settings if (gain := s.gain(s.references, "nll")) is not None]
    share = 100 * sum(gain > 0 for gain in gains) / len(gains) if gains else None
    errors = set_means(settings, lambda s: s.ours.interval("ece").value if s.ours.values("ece") else None)
    detail = f"{sum(gain > 0 for gain in gains)} of {len(gains)} settings"
    return [
        Goal(
            "test NLL better than the best linear row's, % of settings",
            ">= 90 %",
            share,
            None if share is None else share >= 90,
            detail,
        ),
        _goal("ECE, mean over sets", errors, "<= 0.05", np.mean, lambda v: v <= 0.05, ".3f"),
    ]


def _transfer_goal(settings: Sequence[Setting]) -> Goal:
    """Tasks that are worse off than with a linear model of their own."""
    hurt = []
    tested = False
    for setting in settings:
        alone = next((row for row in setting.references if row.key.method == "per_task_linear" and row.runs), None)
        if alone is not None:
            tested = True
            worse = hurt_tasks(setting.metric, setting.ours, alone)
            hurt += [f"{setting.data} {setting.fraction:g} % {task}" for task in worse]
    what = "tasks with negative transfer, Holm-corrected"
    return Goal(what, "0", float(len(hurt)), not hurt, ", ".join(hurt)) if tested else Goal(what, "0", None, None)


def _relatedness_goals(suites: Sequence[Suite], records: Mapping[str, Record]) -> list[Goal]:
    """Mixing weights on the synthetic groups, and what their adversary costs the other tasks."""
    rows = {row.key.data: row for suite in suites if suite.layout == "mixing" for row in collect_rows(suite, records)}
    full, without = rows.get("task-groups"), rows.get("task-groups-without-adversary")
    inside, adversary, lost = math.nan, math.nan, math.nan
    if full is not None and full.runs:
        shares = [
            _shares(run["extras"]["mixing"]) for run in full.runs.values() if "alpha" in run["extras"].get("mixing", {})
        ]
        if shares:
            inside, adversary = (float(np.mean(values)) for values in zip(*shares, strict=True))
        if without is not None and without.runs:
            a, b = _others(full), _others(without)
            comparison = paired(b, a)
            lost = 100 * comparison.difference.value if comparison is not None else math.nan
    lines = (
        ("alpha inside the right group", ">= 0.9", inside, inside >= 0.9),
        ("alpha that the adversarial task gets", "<= 0.05", adversary, adversary <= 0.05),
        ("points that the others lose by the adversary", "<= 0.2", lost, lost <= 0.2),
    )
    return [Goal(w, g, None, None) if math.isnan(v) else Goal(w, g, v, ok) for w, g, v, ok in lines]


def _shares(mixing: Mapping[str, list[list[float]]]) -> tuple[float, float]:
    """Mean weight of grouped tasks on their own group, and of all others on the adversarial task."""
    alpha, group = np.asarray(mixing["alpha"]), [str(name).rsplit("_", 1)[0] for name in mixing["tasks"]]
    same = np.array([[a == b for b in group] for a in group])
    grouped = np.array([name.startswith("group") for name in group])
    hostile = np.array([name == "adversarial" for name in group])
    return float((alpha * same).sum(axis=1)[grouped].mean()), float(alpha[~hostile][:, hostile].sum(axis=1).mean())


def _others(row: TableRow) -> dict[object, float]:
    """Mean accuracy without the adversarial task, by seed."""
    return {
        seed: float(np.mean([s["accuracy"] for name, s in run["tasks"].items() if not name.startswith("adversarial")]))
        for seed, run in row.runs.items()
    }


def _time_goal(settings: Sequence[Setting]) -> Goal:
    """Processor time of the whole job: what an idle core takes, however busy the machine was."""
    times = [
        run["cost"]["cpu_seconds"]
        for setting in settings
        for run in setting.ours.runs.values()
        if run["data"]["n_train"] <= SMALL_FIT_ROWS
    ]
    what = f"longest default fit and prediction up to {SMALL_FIT_ROWS} rows, processor s on one thread"
    return Goal(what, "<= 10 s", max(times), max(times) <= 10) if times else Goal(what, "<= 10 s", None, None)
