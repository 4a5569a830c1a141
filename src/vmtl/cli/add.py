"""``vmtl add``: a model and labelled rows of new tasks -> a model that knows them, too."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmtl.cli._support.console import note, show_json
from vmtl.cli._support.options import Debug, Json, LabelledTable, ModelFile, Quiet

if TYPE_CHECKING:
    from vmtl.estimators import MultiTaskEstimator


def add(
    model: ModelFile,
    table: LabelledTable,
    out: Annotated[Path, typer.Option(help="The model file to write, for example model2.vmtl.")],
    task: Annotated[str | None, typer.Option(help="The task column, if it has another name than in training.")] = None,
    target: Annotated[
        str | None, typer.Option(help="The target column, if it has another name than in training.")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Add tasks to a model without fitting again, in about a second each.

    Every task of the table that the model does not know is learned from its rows and from what the other tasks know;
    rows of a known task count as more rows of it. All other tasks keep their predictions. The model must be one of
    `vmtl fit` with the default preset, of this version.
    """
    import warnings

    from vmtl.cli._support.files import check_output
    from vmtl.cli._support.loading import as_written, load_model, read_labelled

    check_output(out, model, table)
    fitted = load_model(model, None)
    problem, tasks, labels = read_labelled(table, fitted, task, target)
    known, started = set(fitted.tasks_), time.perf_counter()
    added: dict[str, int] = {}
    more: dict[str, int] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name in dict.fromkeys(tasks.tolist()):
            rows = (tasks == name).nonzero()[0]
            written = name if name in known else as_written([*map(str, fitted.tasks_), str(name)])[-1].item()
            fitted.add_task(problem.subset(rows).X, labels[rows], task=written)
            (more if name in known else added)[str(name)] = len(rows)
    seconds = time.perf_counter() - started
    save(fitted, out, {**added, **more}, table)
    sentences = [" ".join(str(warning.message).split()) for warning in caught]
    note("\n".join(f"Warning: {sentence}" for sentence in sentences), quiet or json or not sentences)
    if json:
        result = {"model": str(out), "added": added, "more_rows": more, "seconds": seconds, "warnings": sentences}
        show_json(result)
    note(f"{out}: {what_was_added(added, more)} in {seconds:.1f} s.", quiet or json)


def what_was_added(added: dict[str, int], more: dict[str, int]) -> str:
    """``2 tasks more ('a', 'b'), and more rows of 'c'``."""
    from vmtl._utils.messages import counted, quoted

    parts = [f"{counted(len(added), 'task')} more ({quoted(list(added))})"] if added else []
    parts += [f"more rows of {quoted(list(more))}"] if more else []
    return ", and ".join(parts)


def save(model: MultiTaskEstimator, out: Path, rows: dict[str, int], table: Path) -> None:
    """Write the model with its notes brought up to date: rows of every task, and from where they came."""
    notes = dict(model.metadata_)
    counts = dict(notes.get("rows", {}))
    for name, number in rows.items():
        counts[name] = counts.get(name, 0) + number
    told = f"{table.name}: " + ", ".join(f"{number} of {name}" for name, number in rows.items())
    model.save(out, metadata={**notes, "rows": counts, "added": [*notes.get("added", []), told]})
