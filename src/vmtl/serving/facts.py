"""What a program that runs a model must know about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

from vmtl._utils.json_values import JSON, to_json
from vmtl._utils.types import Array, MatrixLike

if TYPE_CHECKING:
    from vmtl.estimators import MultiTaskClassifier, MultiTaskRegressor

    Estimator = MultiTaskClassifier | MultiTaskRegressor


class ModelFacts(TypedDict):
    """What ``describe`` says about a model."""

    kind: str
    tasks: list[JSON]
    columns: list[str]
    classes: NotRequired[list[JSON]]


def describe(model: Estimator) -> ModelFacts:
    """What a program that runs a model must know about it, as JSON can hold it.

    Parameters
    ----------
    model : MultiTaskClassifier or MultiTaskRegressor
        A fitted estimator.

    Returns
    -------
    ModelFacts
        A dict with ``kind``, ``tasks`` and ``columns``, and for a classifier ``classes``.
    """
    document: ModelFacts = {
        "kind": "classification" if hasattr(model, "classes_") else "regression",
        "tasks": [to_json(task) for task in model.tasks_],
        "columns": column_names(model),
    }
    if hasattr(model, "classes_"):
        document["classes"] = [to_json(label) for label in model.classes_]
    return document


def column_names(model: Estimator) -> list[str]:
    """The columns that a model reads, in their order; x0, x1, ... if they have no names."""
    if model.preprocessor_ is not None:
        return list(model.preprocessor_.feature_names_in_)
    names = getattr(model, "feature_names_in_", None)
    return [f"x{place}" for place in range(model.n_features_in_)] if names is None else list(map(str, names))


def column_kinds(model: Estimator) -> dict[str, str]:
    """The same columns, each with its kind: number, text or date."""
    kinds = {} if model.preprocessor_ is None else model.preprocessor_.kinds_
    return {name: kinds.get(name, "number") for name in column_names(model)}


def takes_gaps(model: Estimator) -> bool:
    """Whether a cell may be empty."""
    return model.preprocessor_ is not None and model.preprocessor_.missing == "impute"


def as_given(model: Estimator, x: Array) -> MatrixLike:
    """Numbers (n, columns) as the kind of X that the model was fitted on."""
    if model.preprocessor_ is None and not hasattr(model, "feature_names_in_"):
        return x
    import pandas as pd

    table = pd.DataFrame(x, columns=column_names(model))
    kinds = {} if model.preprocessor_ is None else model.preprocessor_.kinds_
    for name in (name for name, kind in kinds.items() if kind == "date"):
        table[name] = pd.to_datetime(table[name], unit="D", utc=True)
    return table
