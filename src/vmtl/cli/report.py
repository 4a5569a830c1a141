"""``vmtl report``: a model and labelled rows -> one HTML page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmtl._utils.messages import first_few
from vmtl._utils.missing_extra import require
from vmtl.cli._support.console import command_line, note, show_json
from vmtl.cli._support.options import Debug, Json, ModelFile, Positive, Quiet, UnknownTask

if TYPE_CHECKING:
    from vmtl.estimators import MultiTaskEstimator
    from vmtl.evaluation import Costs, Evidence, Importance, Labelled
    from vmtl.report import Control

CostMissed = Annotated[
    float | None,
    typer.Option(help="What it costs to miss an event, against 1 for a false alarm: the page then has a threshold."),
]
CostFalseAlarm = Annotated[float | None, typer.Option(help="What a false alarm costs, against 1 for a missed event.")]
Compare = Annotated[list[str] | None, typer.Option(help="A method to compare with; may be repeated. All if left out.")]


def report(
    model: ModelFile,
    data: Annotated[Path, typer.Option(help="Labelled rows that were not in training: the page is about these.")],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    train: Annotated[Path | None, typer.Option(help="The training rows, to fit other methods and the control.")] = None,
    compare: Compare = None,
    positive: Positive = None,
    cost_false_negative: CostMissed = None,
    cost_false_positive: CostFalseAlarm = None,
    repeats: Annotated[int, typer.Option(min=0, help="Refits of each kind for the control; 0 is none.")] = 3,
    title: Annotated[str | None, typer.Option(help="The heading of the page.")] = None,
    task: Annotated[str | None, typer.Option(help="The task column, if it has another name than in training.")] = None,
    target: Annotated[str | None, typer.Option(help="The target column, if it has another name.")] = None,
    unknown_task: UnknownTask = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write one self-contained page on a model: how good it is, where it fails, what drives it, how tasks differ.

    With two classes it also says from which probability on to announce the event: `--positive relapse
    --cost-false-negative 10` if a missed relapse is ten times as bad as a needless check.

    With `--train` the same rows are also learned alone, as one task and by linear models (of more than 300 tasks only
    alone and as one task), and the model is refitted with shuffled tasks, to show what chance looks like. A model file
    holds no labelled rows, so they must be given.
    """
    from vmtl._utils.atomic_files import write_atomically
    from vmtl.cli._support.files import check_output
    from vmtl.cli._support.loading import load_model, target_name, task_name

    check_output(out, *filter(None, (model, data, train)))
    check_request(compare, train)
    fitted = load_model(model, unknown_task)
    costs = stated_costs(fitted, cost_false_negative, cost_false_positive)
    tables, visible = Tables(data, train, task, target, positive), not (quiet or json)
    content = predict_and_compare(fitted, tables, compare, repeats, visible)
    heading = title or f"{target_name(fitted, target)} by {task_name(fitted, task)}"
    page = content.render(fitted, costs, origin(fitted, model, data, train), heading)
    write_atomically(out, page.encode())
    content.announce(out, len(page), quiet, json)


def check_request(compare: list[str] | None, train: Path | None) -> None:
    """Refuse to draw without the packages of figures, and to compare without rows to learn from."""
    require("report", "The report", "matplotlib", "jinja2", "markupsafe")
    if compare and train is None:
        raise ValueError("Comparing with other methods needs their training rows; add --train TABLE.")


def stated_costs(model: MultiTaskEstimator, missed: float | None, false_alarm: float | None) -> Costs | None:
    """What errors cost, where the user said so and the model has one event to announce."""
    from vmtl.evaluation import Costs

    if missed is None and false_alarm is None:
        return None
    if len(getattr(model, "classes_", ())) != 2:
        raise ValueError("Costs of errors need a model of two classes; leave out --cost-false-negative and -positive.")
    return Costs(1.0 if missed is None else missed, 1.0 if false_alarm is None else false_alarm)


@dataclass(frozen=True)
class Tables:
    """The tables of a report, and what their columns and the event are called where it is not as in training."""

    data: Path
    train: Path | None
    task: str | None
    target: str | None
    positive: str | None


@dataclass(frozen=True)
class PageContent:
    """What the page is about: predictions of the model and of others, control, columns, warnings."""

    evidence: Evidence
    others: dict[str, Evidence]
    control: Control | None
    warnings: list[str]
    importance: Importance | None

    def render(self, model: MultiTaskEstimator, costs: Costs | None, facts: dict[str, object], heading: str) -> str:
        """The page as text."""
        from vmtl.report import render

        return render(
            model,
            self.evidence,
            self.others,
            self.control,
            facts,
            heading,
            self.warnings,
            costs,
            self.importance,
        )

    def announce(self, out: Path, size: int, quiet: bool, json: bool) -> None:
        """Say where the page of ``size`` characters is, and what to be careful about."""
        if json:
            show_json({"out": str(out), **self.summary()})
        for warning in self.warnings:
            note(f"Warning: {warning}", quiet or json)
        note(f"{out}: {size / 1e6:.1f} MB; open it in any browser.", quiet or json)

    def summary(self) -> dict[str, object]:
        """The number of rows, the main score over all of them, warnings, and what every column is worth."""
        columns = [] if self.importance is None else self.importance.table().to_dict(orient="records")
        return {**summary(self.evidence), "warnings": self.warnings, "importance": columns}


def predict_and_compare(
    model: MultiTaskEstimator, tables: Tables, wanted: list[str] | None, repeats: int, visible: bool
) -> PageContent:
    """Predict the labelled rows; with training rows also fit what the model is compared with."""
    from vmtl.cli._support.loading import read_labelled
    from vmtl.cli._support.training_rows import repeated, seen_before
    from vmtl.evaluation import Labelled, count_repeated, gather

    problem, tasks, labels = read_labelled(tables.data, model, tables.task, tables.target)
    test = Labelled(problem.X, labels, tasks)
    evidence = gather(model, test.X, test.y, test.tasks, tables.positive)
    importance = columns_of(model, test, visible)
    if tables.train is None:
        return PageContent(evidence, {}, None, seen_before(model, problem), importance)
    training, train_tasks, train_labels = read_labelled(tables.train, model, tables.task, tables.target)
    learned = Labelled(training.X, train_labels, train_tasks)
    warnings = repeated(count_repeated(model, evidence, learned, test), len(test.y))
    others, control = fit_others(model, evidence, learned, test, wanted, repeats, visible)
    return PageContent(evidence, others, control, warnings, importance)


def columns_of(model: MultiTaskEstimator, test: Labelled, visible: bool) -> Importance | None:
    """What every column is worth; None for an array, whose columns have no names."""
    from vmtl._utils.progress_bar import progress_bar
    from vmtl.evaluation import column_importance
    from vmtl.evaluation.importance import MOST_COLUMNS, column_groups

    if not hasattr(test.X, "columns"):
        return None
    n_columns = len(column_groups(model))
    total = n_columns if n_columns <= MOST_COLUMNS else None  # of many, those that matter are found on the way
    with progress_bar("Columns", total, visible=visible) as show:
        return column_importance(model, test.X, test.y, test.tasks, done=show)


def summary(evidence: Evidence) -> dict[str, object]:
    """The number of rows and the main score over all of them."""
    return {"rows": len(evidence.y), evidence.measure.lower(): evidence.score(evidence.task >= 0).value}


def fit_others(
    model: MultiTaskEstimator,
    evidence: Evidence,
    train: Labelled,
    test: Labelled,
    wanted: list[str] | None,
    repeats: int,
    visible: bool,
) -> tuple[dict[str, Evidence], Control | None]:
    """Other methods on the same rows, and the control where the model has mixing weights to explain."""
    from vmtl._utils.progress_bar import progress_bar
    from vmtl.evaluation import compare, names_to_compare
    from vmtl.evaluation.comparison import ALONE, POOLED
    from vmtl.report import arrows, fit_control
    from vmtl.report.many_tasks import MOST_MAPPED

    few = len(model.tasks_) <= MOST_MAPPED
    names = names_to_compare(model, wanted or (None if few else [*ALONE[:1], POOLED]))
    refits = repeats if few and len(model.tasks_) > 2 and arrows(model.alpha_) else 0
    with progress_bar("Fits", len(names) + 2 * refits, visible=visible) as done:
        others = compare(model, evidence, train, test, names, done)
        if not refits:
            return others, None
        return others, fit_control(model, train.X, train.y, train.tasks, refits, done=lambda: done("control"))


def origin(model: MultiTaskEstimator, path: Path, data: Path, train: Path | None) -> dict[str, object]:
    """Where everything on the page comes from."""
    from vmtl import __version__
    from vmtl.report.sheets import model_name

    metadata = model.metadata_
    rows = [f"{name}: {count}" for name, count in metadata.get("rows", {}).items()]
    facts: dict[str, object] = {
        "model file": path.name,
        "method": model_name(model),
        "labelled rows": data.name,
        "training rows": "not given" if train is None else train.name,
        "rows per task in training": first_few(rows, 12),
        "seed": model.seed_ if model.random_state is None else model.random_state,
        "fitted by": metadata.get("command", "the Python interface"),
        "page written by": command_line(),
        "vmtl": __version__,
    }
    facts |= {f"{name} at training": version for name, version in metadata.get("versions", {}).items()}
    return {name: value for name, value in facts.items() if value != ""}
