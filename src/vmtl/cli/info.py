"""``vmtl info``: what a model file holds."""

from __future__ import annotations

from typing import Any

from vmtl.cli._support.console import show_json, show_table
from vmtl.cli._support.options import Debug, Json, ModelFile
from vmtl.cli._support.weights import show_weights

MOST_SHOWN = 12


def info(model: ModelFile, json: Json = False, debug: Debug = False) -> None:
    """Say what a model file holds: tasks, classes, settings, and who learns from whom."""
    from vmtl.cli._support.inputs import load_model

    fitted = load_model(model)
    document = describe(fitted)
    if json:
        show_json(document)
        return
    facts = [(name, few(value)) for name, value in document.items() if name not in ("settings", "alpha", "beta")]
    show_table(str(model), ("", "value"), facts)
    show_weights("Who learns from whom (alpha)", fitted.alpha_, MOST_SHOWN)


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
    found |= {
        "columns": columns or f"{model.n_features_in_} numbers",
        "seed": model.seed_ if model.random_state is None else model.random_state,
    }
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
