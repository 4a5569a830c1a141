"""``vmtl report``: a model and labelled rows -> one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from vmtl.cli._support.console import command_line, note, show_json
from vmtl.cli._support.options import Debug, Json, ModelFile, Quiet, UnknownTask


def report(
    model: ModelFile,
    data: Annotated[Path, typer.Option(help="Labelled rows that were not in training: the page is about these.")],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    train: Annotated[
        Path | None, typer.Option(help="The training rows, to fit other methods and the control for comparison.")
    ] = None,
    compare: Annotated[
        list[str] | None, typer.Option(help="A method to compare with; may be repeated. All, if left out.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=0, help="Refits of each kind for the control; 0 is none.")] = 3,
    title: Annotated[str | None, typer.Option(help="The heading of the page.")] = None,
    task: Annotated[str | None, typer.Option(help="The task column, if it has another name than in training.")] = None,
    target: Annotated[str | None, typer.Option(help="The target column, if it has another name.")] = None,
    unknown_task: UnknownTask = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write one self-contained page on a model: scores, who learns from whom, calibration, errors, settings.

    With `--train` the same rows are also learned alone, pooled and by every other method, and the model is refitted
    with shuffled tasks, to show what chance looks like. A model file holds no labelled rows, so they must be given.
    """
    from vmtl._utils.atomic_files import write_atomically
    from vmtl.cli._support.files import check_output
    from vmtl.cli._support.inputs import load_model, read_labelled, target_name, task_name
    from vmtl.report import Labelled, count_repeated, gather, render

    given = [path for path in (model, data, train) if path is not None]
    check_output(out, *given)
    if compare and train is None:
        raise ValueError("Comparing with other methods needs their training rows; add --train TABLE.")
    fitted = load_model(model, unknown_task)
    problem, tasks, labels = read_labelled(data, fitted, task, target)
    test = Labelled(problem.X, labels, tasks)
    evidence = gather(fitted, test.X, test.y, test.tasks)
    others: dict[str, Any] = {}
    control, warnings = None, seen_before(fitted, problem)
    if train is not None:
        rows, train_tasks, train_labels = read_labelled(train, fitted, task, target)
        learned = Labelled(rows.X, train_labels, train_tasks)
        warnings = repeated(count_repeated(fitted, evidence, learned, test), len(test.y))
        others, control = fit_others(fitted, evidence, learned, test, compare, repeats, not (quiet or json))
    heading = title or f"{target_name(fitted, target)} by {task_name(fitted, task)}"
    page = render(fitted, evidence, others, control, origin(fitted, model, data, train), heading, warnings)
    write_atomically(out, page.encode())
    if json:
        overall = evidence.score(evidence.task >= 0)
        found = {"out": str(out), "rows": len(evidence.y), evidence.measure.lower(): overall.value}
        show_json({**found, "warnings": warnings})
    for warning in warnings:
        note(f"Warning: {warning}", quiet or json)
    note(f"{out}: {len(page) / 1e6:.1f} MB; open it in any browser.", quiet or json)


def repeated(n: int, of: int) -> list[str]:
    """What to say where rows to score are also training rows."""
    if not n:
        return []
    these = "This row is" if n == of == 1 else f"{n} of the {of} labelled rows {'is' if n == 1 else 'are'}"
    return [f"{these} also among the training rows: the numbers are too good. Score rows that were not in training."]


def seen_before(model: Any, problem: Any) -> list[str]:
    """What to say where a table is the training table, of which a model file keeps a digest."""
    from vmtl.cli._support.inputs import digest

    if model.metadata_.get("digest") != digest(problem, model):
        return []
    return [
        "These are the rows the model was trained on: the numbers are too good. Score rows that were not in training."
    ]


def fit_others(
    model: Any, evidence: Any, train: Any, test: Any, wanted: list[str] | None, repeats: int, visible: bool
) -> tuple[dict[str, Any], Any]:
    """Other methods on the same rows, and the control where the model has mixing weights to explain."""
    from vmtl.cli._support.progress import fits_progress
    from vmtl.report import arrows, compare, fit_control, names_to_compare

    names = names_to_compare(model, wanted)
    refits = repeats if arrows(model.alpha_) and len(model.tasks_) > 2 else 0
    with fits_progress(len(names) + 2 * refits, visible) as done:
        others = compare(model, evidence, train, test, names, done)
        if not refits:
            return others, None
        return others, fit_control(model, train.X, train.y, train.tasks, refits, done=lambda: done("control"))


def origin(model: Any, path: Path, data: Path, train: Path | None) -> dict[str, Any]:
    """Where everything on the page comes from."""
    from vmtl import __version__

    made = model.metadata_
    facts: dict[str, Any] = {
        "model file": path.name,
        "method": f"{model.method} ({model.method_.name}), preset {model.preset}",
        "labelled rows": data.name,
        "training rows": "not given" if train is None else train.name,
        "rows per task in training": ", ".join(f"{name}: {count}" for name, count in made.get("rows", {}).items()),
        "seed": model.seed_ if model.random_state is None else model.random_state,
        "fitted by": made.get("command", "the Python interface"),
        "page made by": command_line(),
        "vmtl": __version__,
    }
    facts |= {f"{name} at training": version for name, version in made.get("versions", {}).items()}
    return {name: value for name, value in facts.items() if value != ""}
