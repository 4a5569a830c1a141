"""``vmtl add``: a model and labelled rows of new tasks -> a model that knows them, too."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmtl.cli._support.console import note, show_json
from vmtl.cli._support.options import Debug, Json, LabelledTable, ModelFile, Quiet

if TYPE_CHECKING:
    from vmtl._utils.types import Array
    from vmtl.data.problem import Problem
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
    rows of a known task are added to what is known of it. All other tasks keep their predictions. The model must come
    from this version of `vmtl fit`, with the default preset.
    """
    from vmtl.cli._support.files import check_output
    from vmtl.cli._support.loading import load_model, read_labelled

    check_output(out, model, table)
    fitted, started = load_model(model, None), time.perf_counter()
    known = set(map(str, fitted.tasks_))
    rows, warnings = extend(fitted, *read_labelled(table, fitted, task, target))
    seconds = time.perf_counter() - started
    save(fitted, out, rows, table)
    added = {name: number for name, number in rows.items() if name not in known}
    more = {name: number for name, number in rows.items() if name in known}
    note("\n".join(f"Warning: {warning}" for warning in warnings), quiet or json or not warnings)
    if json:
        facts = {"model": str(out), "added": added, "more_rows": more, "seconds": seconds, "warnings": warnings}
        show_json(facts)
    note(f"{out}: {what_was_added(added, more)} in {seconds:.1f} s.", quiet or json)


def extend(
    model: MultiTaskEstimator, problem: Problem, tasks: Array, labels: Array
) -> tuple[dict[str, int], list[str]]:
    """Add every task of the labelled rows; how many rows each has, and what was warned of."""
    import warnings

    from vmtl.cli._support.loading import as_written

    counts: dict[str, int] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name in dict.fromkeys(tasks.tolist()):
            rows = (tasks == name).nonzero()[0]
            known = name in set(model.tasks_)
            written = name if known else as_written([*map(str, model.tasks_), str(name)])[-1].item()
            model.add_task(problem.subset(rows).X, labels[rows], task=written)
            counts[str(name)] = len(rows)
    return counts, [" ".join(str(warning.message).split()) for warning in caught]


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
