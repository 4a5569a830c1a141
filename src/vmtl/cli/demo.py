"""``vmtl demo``: two embedded problems, learned with learned sharing and without; a model and its page."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmtl._utils.missing_extra import require
from vmtl.cli._support.console import command_line, note, show_json, show_table
from vmtl.cli._support.options import Debug, Json, Quiet

if TYPE_CHECKING:
    from vmtl.data.problem import Problem
    from vmtl.estimators import MultiTaskEstimator
    from vmtl.evaluation import Evidence
    from vmtl.report import Control

#: What a user would otherwise type, and what the tool does without learned sharing; other rows tell less.
RIVALS = ("none", "pooled", "per_task_linear", "pooled_linear")
#: What every problem is there for. Of four problems that were scored, these two show both cases.
MEANT = {
    "digits_questions": "Tasks that contradict each other: is the digit odd, or is it five or more, each asked of "
    "three scanners. All rows as one task mix the questions up; the tool is not told which task asks what.",
    "digits_domains": "Tasks that are alike: which digit it is, at four tilts of the scanner. From whom a task learns "
    "matters little here; every task alone has too few rows.",
}


@dataclass(frozen=True)
class Trial:
    """One problem: a fitted model, predictions by it and by others on the test rows, and links by chance."""

    problem: Problem
    n_train: int
    model: MultiTaskEstimator
    evidence: Evidence
    others: dict[str, Evidence]
    control: Control

    @property
    def best_first(self) -> dict[str, Evidence]:
        """Everything that was fitted, by its mean score."""
        every = {"learned": self.evidence, **self.others}
        return dict(sorted(every.items(), key=lambda item: -item[1].mean_score()))


def demo(
    out: Annotated[Path, typer.Option(help="The model file to write.")] = Path("demo.vmtl"),
    page: Annotated[Path, typer.Option(help="The page on that model to write.")] = Path("demo.html"),
    seed: Annotated[int, typer.Option(min=0, help="Which rows are for training.")] = 0,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Learn two embedded problems with sharing, alone and as one task; save a model and its page; under a minute.

    Both are of scikit-learn's bundled digits: in one the tasks contradict each other, in the other they are alike.
    """
    from vmtl.cli._support.files import check_output

    require("report", "The demonstration", "matplotlib", "jinja2", "markupsafe")
    check_output(out)
    check_output(page, out)
    started = time.perf_counter()
    trials = run_trials(seed, visible=not (quiet or json))
    save(trials[0], out, page)
    if json:
        document = {"model": str(out), "page": str(page), "seed": seed}
        show_json({**document, "problems": [as_json(trial) for trial in trials]})
        return
    for trial in trials:
        show_scores(trial, quiet)
    note(what_next(out, page, time.perf_counter() - started), quiet)


def run_trials(seed: int, visible: bool) -> list[Trial]:
    """Both embedded problems, with a progress bar that is there before PyTorch is."""
    from vmtl._utils.progress_bar import progress_bar

    with progress_bar("Fits", visible=visible) as done:
        done("loading PyTorch and the digits", 0)
        from vmtl.datasets import load_digits_domains, load_digits_questions

        plan = ((load_digits_questions(), 0.1), (load_digits_domains(), 0.05))
        done(plan[0][0].name, 0, len(plan) * (3 + len(RIVALS)))
        return [run_trial(problem, share, seed, done) for problem, share in plan]


def run_trial(problem: Problem, share: float, seed: int, done: Callable[[str], None]) -> Trial:
    """Fit ``share`` of the rows with learned sharing and in every other way, and predict the others."""
    from vmtl import MultiTaskClassifier
    from vmtl.data.splits import random_split
    from vmtl.evaluation import Labelled, compare, gather
    from vmtl.report import fit_control

    split = random_split(problem, share, seed)
    train, test = (
        Labelled(side.X, side.labels, side.tasks) for side in (problem.subset(split.train), problem.subset(split.test))
    )
    model = MultiTaskClassifier(n_threads=1, random_state=seed).fit(train.X, train.y, tasks=train.tasks)
    evidence = gather(model, test.X, test.y, test.tasks)
    done(f"{problem.name} learned")
    others = compare(model, evidence, train, test, RIVALS, lambda name: done(f"{problem.name} {name}"))
    control = fit_control(model, train.X, train.y, train.tasks, 1, seed, lambda: done(f"{problem.name} control"))
    return Trial(problem, len(train.y), model, evidence, others, control)


def save(trial: Trial, out: Path, page: Path) -> None:
    """The model file, and the page on it."""
    from vmtl import __version__
    from vmtl._utils.atomic_files import write_atomically
    from vmtl.report import render

    trial.model.save(out, metadata={"task": "task", "target": "answer", "data": trial.problem.name})
    facts: dict[str, object] = {
        "data": "scikit-learn's bundled digits, each asked one of two questions at one of three tilts",
        "rows": f"{trial.n_train} for training, {len(trial.evidence.y)} for the test",
        "model file": out.name,
        "page written by": command_line(),
        "vmtl": __version__,
    }
    title = "Two questions about digits, three scanners"
    text = render(trial.model, trial.evidence, trial.others, trial.control, facts, title)
    write_atomically(page, text.encode())


def show_scores(trial: Trial, quiet: bool) -> None:
    """What a problem is there for, every way to learn it, and what came out."""
    from vmtl.evaluation.comparison import lead
    from vmtl.report.sheets import full_name

    note(f"{trial.problem.name}. {MEANT[trial.problem.name]}", quiet)
    rows = []
    for name, evidence in trial.best_first.items():
        ahead = lead(trial.evidence, evidence)
        by = "" if name == "learned" else f"{100 * ahead.value:+.1f} ± {100 * ahead.half:.1f}"
        rows.append((full_name(name), f"{100 * evidence.mean_score():.1f}", by))
    show_table(
        f"{trial.problem.name}, {trial.n_train} training rows: accuracy in %, mean over tasks; lead: how far learned "
        f"sharing is ahead, ± 95 % over {len(trial.evidence.y)} test rows",
        ("learned", "accuracy", "lead"),
        rows,
    )
    note(what_was_seen(trial), quiet)


def what_was_seen(trial: Trial) -> str:
    """Learned sharing beside every task alone and all rows as one task, and the links."""
    from vmtl.evaluation.comparison import lead
    from vmtl.report import read_model

    told = []
    for name, how in (("none", "every task alone"), ("pooled", "all rows as one task")):
        ahead = lead(trial.evidence, trial.others[name])
        verdict = "better than" if ahead.low > 0 else "worse than" if ahead.high < 0 else "not clearly other than"
        told.append(f"{verdict} {how}")
    finding = read_model(trial.model, trial.control)
    links = "" if finding is None else f" {finding.sentence()}"
    return f"{trial.problem.name}: learned sharing is {' and '.join(told)}.{links}"


def what_next(out: Path, page: Path, seconds: float) -> str:
    """Where everything is, and how to go on with a table of one's own."""
    return "\n".join(
        (
            f"{seconds:.0f} s. Open {page} in a browser; `vmtl info {out}` shows what the model holds.",
            "Next, your own table: one column says which task a row belongs to, one is the target.",
            "  vmtl fit train.csv --task COLUMN --target COLUMN --out model.vmtl",
            "  vmtl predict model.vmtl new.csv --out predictions.csv",
            "  vmtl report model.vmtl --data labelled.csv --out report.html",
        )
    )


def as_json(trial: Trial) -> dict[str, object]:
    """A trial as plain data."""

    def scores(evidence: Evidence) -> list[float]:
        return [evidence.score(evidence.rows(t)).value for t in evidence.present]

    return {
        "name": trial.problem.name,
        "measure": trial.evidence.measure,
        "tasks": trial.problem.task_names,
        "scores": {name: scores(evidence) for name, evidence in trial.best_first.items()},
        "alpha": trial.model.alpha_.to_numpy().tolist(),
        "isolated": [trial.problem.task_names[t] for t in trial.model.hyperparameters_.isolated],
    }
