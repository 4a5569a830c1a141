"""A fitted estimator as JSON and tensors, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from vmtl import fitting
from vmtl.inputs import plain
from vmtl.method import Method
from vmtl.methods import get_method
from vmtl.persistence import ModelFileError
from vmtl.preprocessing import TablePreprocessor
from vmtl.settings import Settings


def describe(estimator: Any) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What a model file holds of a fitted estimator."""
    if isinstance(estimator.method, Method):
        raise ValueError("A model file names its method; put yours into a file of vmtl/methods and pass its name.")
    parameters = dict(estimator.get_params(deep=False))
    if not isinstance(parameters["random_state"], int):
        parameters["random_state"] = None
    payload = {
        "estimator": type(estimator).__name__,
        "parameters": parameters,
        "settings": estimator.settings_.to_json(),
        "tasks": [plain(task) for task in estimator.tasks_],
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": list(getattr(estimator, "feature_names_in_", [])) or None,
        "seed": estimator.seed_,
        "history": fitting.history_json(estimator._fitted.history),
        "preprocessor": None,
    }
    if hasattr(estimator, "classes_"):
        payload["classes"] = [plain(label) for label in estimator.classes_]
        payload["classes_dtype"] = estimator.classes_.dtype.str
    else:
        payload["y_mean"], payload["y_scale"] = estimator.y_mean_, estimator.y_scale_
    tensors = fitting.to_tensors(estimator._fitted)
    if estimator.preprocessor_ is not None:
        payload["preprocessor"], arrays = estimator.preprocessor_.state()
        tensors.update({f"preprocessor.{name}": torch.from_numpy(np.array(a)) for name, a in arrays.items()})
    return payload, tensors


def rebuild(kind: type[Any], payload: dict[str, Any], tensors: dict[str, Tensor], path: str) -> Any:
    """The estimator of class ``kind`` that ``describe`` described."""
    try:
        return _rebuild(kind, payload, tensors)
    except (KeyError, TypeError, ValueError, RuntimeError, AssertionError) as error:
        raise ModelFileError(f"{path} does not describe a {kind.__name__} ({error}); save it again.") from None


def _rebuild(kind: type[Any], payload: dict[str, Any], tensors: dict[str, Tensor]) -> Any:
    made = kind(**payload["parameters"])
    made.method_, made.settings_ = get_method(made.method), Settings.from_json(payload["settings"])
    made.seed_, made.n_features_in_ = payload["seed"], payload["n_features_in"]
    if payload["feature_names_in"]:
        made.feature_names_in_ = np.asarray(payload["feature_names_in"], dtype=object)
    made.tasks_ = np.empty(len(payload["tasks"]), dtype=object)
    made.tasks_[:] = payload["tasks"]
    if "classes" in payload:
        made.classes_ = np.asarray(payload["classes"], dtype=np.dtype(payload["classes_dtype"]))
    else:
        made.y_mean_, made.y_scale_ = payload["y_mean"], payload["y_scale"]
    made.preprocessor_ = None
    if payload["preprocessor"] is not None:
        prefix = "preprocessor."
        arrays = {k.removeprefix(prefix): v.numpy() for k, v in tensors.items() if k.startswith(prefix)}
        made.preprocessor_ = TablePreprocessor.from_state(payload["preprocessor"], arrays)
    made._fitted = fitting.from_file(made.method_, made.settings_, "classes" in payload, payload["history"], tensors)
    made._cached_predictor = None
    made.metadata_ = dict(payload.get("metadata", {}))
    return made
