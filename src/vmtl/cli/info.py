"""``vmtl info``: what a model file holds."""

from __future__ import annotations

from typing import Any

from vmtl.cli._console import show_json, show_table
from vmtl.cli._options import Debug, Json, ModelFile

MOST_SHOWN = 12


def info(model: ModelFile, json: Json = False, debug: Debug = False) -> None:
    """Say what a model file holds: tasks, classes, settings, and who learns from whom."""
    from vmtl.cli._inputs import load_model

    fitted = load_model(model)
    document = describe(fitted)
    if json:
        show_json(document)
        return
    facts = [(name, few(value)) for name, value in document.items() if name not in ("settings", "alpha", "beta")]
    show_table(str(model), ("", "value"), facts)
    show_relatedness(fitted)


def describe(model: Any) -> dict[str, Any]:
    """A fitted model as plain data."""
    found: dict[str, Any] = {
        "kind": "classification" if hasattr(model, "classes_") else "regression",
        "method": model.method,
        "preset": model.preset,
        "tasks": [str(task) for task in model.tasks_],
    }
    if hasattr(model, "classes_"):
        found["classes"] = [str(label) for label in model.classes_]
    columns = model.preprocessor_.feature_names_in_ if model.preprocessor_ is not None else None
    found |= {"columns": columns or f"{model.n_features_in_} numbers", "seed": model.seed_}
    found |= model.metadata_
    found["settings"] = model.settings_.to_json()
    for name in ("alpha", "beta"):
        found[name] = getattr(model, f"{name}_").to_numpy().round(6).tolist()
    return found


def few(value: Any) -> str:
    """A value in one cell; long lists are cut."""
    if isinstance(value, dict):
        value = [f"{name}: {inner}" for name, inner in value.items()]
    if isinstance(value, list):
        more = f", ... ({len(value)})" if len(value) > MOST_SHOWN else ""
        return ", ".join(map(str, value[:MOST_SHOWN])) + more
    return str(value)


def show_relatedness(model: Any) -> None:
    """The strongest 'learns from' weights, if the method has any."""
    from vmtl.report import arrows

    found = arrows(model.alpha_)
    if found:
        even = 1 / max(len(model.tasks_) - 1, 1)
        show_table(
            f"Who learns from whom (alpha; {even:.2f} is what indifferent tasks have)",
            ("task", "learns from", "weight"),
            [(arrow.learner, arrow.teacher, float(arrow.weight)) for arrow in found[:MOST_SHOWN]],
        )
