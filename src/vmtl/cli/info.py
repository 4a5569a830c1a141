"""``vmtl info``: what a model file holds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from vmtl._utils.messages import first_few
from vmtl.cli._support.console import show_json, show_table
from vmtl.cli._support.options import Debug, Json, ModelFile
from vmtl.cli._support.relatedness import show_strengths, show_structure

if TYPE_CHECKING:
    from vmtl.estimators import MultiTaskEstimator

MOST_ITEMS, MOST_KERNELS, MOST_COLUMNS = 12, 4, 5
#: Characters of a digest that are shown: enough to tell two files apart.
DIGEST = 12
#: Every hyper-parameter in a few words.
MEANINGS = {
    "strategy": "how the weights were found",
    "kernel_shares": "kernels in the mixture",
    "standardise": "columns divided by deviation",
    "relevance": "how much columns count",
    "correlation": "rho between two like tasks",
    "scale": "s0, spread of the outputs",
    "unit": "spread of w · z",
    "decay": "gamma, how likeness falls",
    "task_level": "tau, spread of task levels",
    "noise": "noise of a row",
    "logit_scale": "factor of w · z, calibrated",
    "width_factor": "factor of the widths of q(w)",
    "forest_share": "the forest's part of it",
    "learning_rate_factor": "factor of the learning rate",
}
#: Parts of the document that are not facts of one line.
APART = ("settings", "hyperparameters", "alpha", "beta", "sharing", "groups", "finding")


def info(model: ModelFile, json: Json = False, debug: Debug = False) -> None:
    """Say what a model file holds: tasks, classes, settings, what was inferred, and who learns from whom."""
    from vmtl.cli._support.loading import load_model

    fitted = load_model(model)
    document = model_document(fitted)
    if json:
        show_json(document)
        return
    shortened = {**document, **({"digest": str(document["digest"])[:DIGEST]} if "digest" in document else {})}
    facts = [(name, in_one_cell(value)) for name, value in shortened.items() if name not in APART]
    show_table(str(model), ("", "value"), facts)
    show_table("What was inferred", ("", "value", "what it is"), inferred(fitted), split=False)
    if not show_structure("Who learns from whom (alpha)", fitted, MOST_ITEMS):
        show_strengths(fitted, MOST_ITEMS)


def model_document(model: MultiTaskEstimator) -> dict[str, object]:
    """A fitted model as plain data."""
    from vmtl.report import read_model
    from vmtl.report.many_tasks import MOST_MAPPED, read_crowd

    document: dict[str, object] = {
        "kind": "classification" if hasattr(model, "classes_") else "regression",
        "method": model.method,
        "preset": model.preset,
        "tasks": [str(task) for task in model.tasks_],
    }
    if hasattr(model, "classes_"):
        document["classes"] = [str(label) for label in model.classes_]
    columns = model.preprocessor_.feature_names_in_ if model.preprocessor_ is not None else None
    document |= {
        "columns": columns or f"{model.n_features_in_} numbers",
        "seed": model.seed_ if model.random_state is None else model.random_state,
    }
    document |= {name: value for name, value in model.metadata_.items() if name != "profile"}
    document["settings"] = model.settings_.to_json()
    is_mapped = len(model.tasks_) <= MOST_MAPPED  # tables of more tasks are left out
    tensors = model.hyperparameters_.to_tensors()
    if not is_mapped:
        tensors = {name: tensors[name] for name in ("sharing", "variance", "positions") if name in tensors}
    structure = {name: values.cpu().numpy().round(6).tolist() for name, values in tensors.items()}
    document["hyperparameters"] = model.hyperparameters_.to_json() | ({"structure": structure} if structure else {})
    for name in ("alpha", "beta", "sharing") if is_mapped else ("sharing",):
        document[name] = getattr(model, f"{name}_").to_numpy().round(6).tolist()
    groups = getattr(model, "groups_", None)
    document["groups"] = None if groups is None else groups.round(6).to_dict("list")
    if not is_mapped:
        crowd = read_crowd(model)
        document["finding"] = None if crowd is None else {"answer": None, "sentence": crowd.sentence()}
        return document
    finding = read_model(model)
    document["finding"] = None if finding is None else {"answer": finding.answer, "sentence": finding.sentence()}
    return document


def inferred(model: MultiTaskEstimator) -> list[tuple[str, object, str]]:
    """What is known of the hyper-parameters, a line each: name, value and meaning."""
    hyperparameters = model.hyperparameters_
    document = hyperparameters.to_json()
    if hyperparameters.kernel_shares is not None:
        document["kernel_shares"] = largest(hyperparameters.kernel_shares)
    if hyperparameters.relevance is not None:
        document["relevance"] = unlike(column_names(model), hyperparameters.relevance)
    if hyperparameters.strategy == "exact":  # takes no steps, unless the user asks for them at the rate of the settings
        document["learning_rate_factor"] = None
    told = {name: value for name, value in document.items() if value is not None}
    return [(name.replace("_", " "), value, MEANINGS[name]) for name, value in told.items()]


def largest(shares: dict[str, float]) -> str:
    """The kernels that matter most, in one cell."""
    order = sorted(shares, key=lambda name: -shares[name])
    named = [f"{name} {shares[name]:.2f}" for name in order[:MOST_KERNELS]]
    rest = sum(shares[name] for name in order[MOST_KERNELS:])
    return ", ".join(named) + (f", others {rest:.2f}" if len(order) > MOST_KERNELS else "")


def column_names(model: MultiTaskEstimator) -> list[str]:
    """Names of the columns that the kernels see: levels and marks of gaps on their own."""
    if model.preprocessor_ is not None:
        return list(model.preprocessor_.feature_names_out_)
    return [str(name) for name in getattr(model, "feature_names_in_", range(model.n_features_in_))]


def unlike(names: list[str], relevance: tuple[float, ...]) -> str:
    """The columns whose relevance differs most from 1, in one cell."""
    order = sorted(range(len(names)), key=lambda d: -abs(math.log(relevance[d])))
    told = [f"{names[d]} {relevance[d]:.2f}" for d in order if not 0.95 < relevance[d] < 1.05]
    rest = len(names) - min(len(told), MOST_COLUMNS)
    if not told:
        return "all columns count alike"
    return ", ".join([*told[:MOST_COLUMNS], *([f"{rest} others nearer to 1"] if rest else [])])


def in_one_cell(value: object) -> str:
    """A value as text; long lists are cut."""
    if isinstance(value, dict):
        value = [f"{name}: {inner}" for name, inner in value.items()]
    return first_few(value, MOST_ITEMS) if isinstance(value, list) else str(value)
