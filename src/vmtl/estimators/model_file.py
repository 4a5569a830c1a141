"""A fitted estimator to a file and back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from vmtl._utils import tensor_files
from vmtl._utils.json_values import Document
from vmtl._utils.tensor_files import ModelFileError
from vmtl._utils.types import Array
from vmtl.data.preprocessing import TablePreprocessor
from vmtl.estimators.inputs.target_encoding import ClassEncoder, RealEncoder, TargetEncoder
from vmtl.results.left_out_scores import LeftOutScores

if TYPE_CHECKING:
    from vmtl.estimators import MultiTaskEstimator
    from vmtl.estimators.base import BaseTaskEstimator

#: Where the estimators are, by the names that files have for them.
MODULES = {
    "MultiTaskClassifier": "vmtl.estimators.multi_task",
    "MultiTaskRegressor": "vmtl.estimators.multi_task",
    "VMTLClassifier": "vmtl.estimators.variational",
    "VMTLRegressor": "vmtl.estimators.variational",
}
#: NumPy's names of truth values, numbers and times.
NUMBER_TYPE = re.compile(r"[<>|=]?[biufmM]\d{1,2}(\[\w{1,9}\])?")
#: What a file that says nonsense may raise.
NONSENSE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)


def save(estimator: BaseTaskEstimator, path: str | Path, metadata: Mapping[str, object]) -> None:
    """Write a fitted estimator."""
    document, tensors = describe(estimator)
    tensor_files.save(path, "model", {**document, "metadata": metadata}, tensors)


def load(path: str | Path) -> MultiTaskEstimator:
    """The model that ``save`` wrote; predictions are the same to the bit.

    Parameters
    ----------
    path : path
        A model file; nothing in it is ever executed.

    Returns
    -------
    estimator
        A fitted estimator of the class that was saved.
    """
    document, tensors = tensor_files.load(path, "model")
    estimator: MultiTaskEstimator = rebuild(document, tensors, str(path))
    return estimator


def describe(estimator: BaseTaskEstimator) -> tuple[dict[str, object], dict[str, Tensor]]:
    """What a model file holds of a fitted estimator."""
    facts = estimator._file_facts()
    parameters = estimator.get_params(deep=False)
    if "method" in facts:
        parameters["method"] = facts["method"]
    document: dict[str, object] = {
        "estimator": type(estimator).__name__,
        "parameters": _parameters_to_json(parameters),
        "tasks": [label_to_json(task) for task in estimator.tasks_],
        "target": _encoder_to_json(estimator._encoder),
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": list(getattr(estimator, "feature_names_in_", [])) or None,
        "seed": estimator.seed_,
        "fitted": estimator._fitted.to_json(),
        "preprocessor": None,
        **facts,
    }
    tensors = {f"fitted.{name}": tensor for name, tensor in estimator._fitted.to_tensors().items()}
    if estimator._system == "paper" and estimator._fitted.left_out is not None:  # of cross_calibrate
        tensors |= {f"left_out.{name}": tensor for name, tensor in estimator._fitted.left_out.to_tensors().items()}
    if estimator.preprocessor_ is not None:
        document["preprocessor"], arrays = estimator.preprocessor_.state()
        tensors |= {f"preprocessor.{name}": torch.from_numpy(np.array(value)) for name, value in arrays.items()}
    return document, tensors


def rebuild(document: Document, tensors: dict[str, Tensor], path: str) -> Any:
    """The estimator that ``describe`` described."""
    name = document.get("estimator")
    if not isinstance(name, str) or name not in MODULES:
        raise ModelFileError(f"{path} holds no estimator that this vmtl knows; save it again.")
    try:
        estimator = _rebuild(getattr(import_module(MODULES[name]), name), document, tensors, path)
        _try_out(estimator)
    except ModelFileError:
        raise
    except NONSENSE as error:
        reason = " ".join(str(error).split())[:300]
        raise ModelFileError(f"{path} does not describe a {name} ({reason}); save it again.") from None
    return estimator


def _rebuild(kind: type[Any], document: Document, tensors: dict[str, Tensor], path: str) -> Any:
    parameters = dict(document["parameters"])
    if "device" in parameters:
        parameters["device"] = "cpu"  # the machine that trained may have had another
    if isinstance(parameters.get("class_weight"), dict):
        parameters["class_weight"] = dict(parameters["class_weight"]["pairs"])
    estimator = kind(**parameters)
    estimator.seed_, estimator.n_features_in_ = int(document["seed"]), int(document["n_features_in"])
    if (names := document["feature_names_in"]) is not None:
        if len(names) != estimator.n_features_in_ or not all(isinstance(name, str) for name in names):
            raise ValueError(f"there are {estimator.n_features_in_} columns, which need as many names")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator._keep_tasks([label_to_json(task) for task in document["tasks"]])
    encoder = _encoder_from_json(document["target"])
    if encoder.is_classification != estimator._is_classifier:
        raise ValueError("the target is of the other kind")
    estimator._keep_encoder(encoder)
    estimator.preprocessor_ = None
    if document["preprocessor"] is not None:
        arrays = {name: value.numpy() for name, value in part_of(tensors, "preprocessor").items()}
        estimator.preprocessor_ = TablePreprocessor.from_state(document["preprocessor"], arrays)
    estimator._fitted = estimator._load_fitted(document, part_of(tensors, "fitted"), path)
    if scores := part_of(tensors, "left_out"):
        left_out = LeftOutScores.from_tensors(scores, len(estimator.tasks_))
        estimator._fitted = replace(estimator._fitted, left_out=left_out)
    estimator.metadata_ = dict(document.get("metadata", {}))
    return estimator


def _try_out(estimator: Any) -> None:
    """Sizes agree with each other, and a row of zeros has features."""
    estimator._check_parameters()
    n_tasks, n_classes = len(estimator.tasks_), estimator._encoder.n_classes
    if tuple(estimator._fitted.class_mask.shape) != (n_tasks, n_classes) or len(set(estimator.tasks_)) < n_tasks:
        raise ValueError(f"{n_tasks} tasks and {n_classes} classes do not match the weights")
    n_columns = estimator.n_features_in_
    estimator._fitted.features(np.zeros((1, n_columns)), np.zeros(1, dtype=np.int64))
    if estimator.preprocessor_ is not None and len(estimator.preprocessor_.feature_names_out_) != n_columns:
        raise ValueError(f"{n_columns} columns do not match the table")


def part_of(tensors: dict[str, Tensor], name: str) -> dict[str, Tensor]:
    """The tensors whose names begin with ``name``, without it."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}


def _parameters_to_json(parameters: Mapping[str, object]) -> dict[str, object]:
    """The constructor's arguments as JSON can hold them; class weights as pairs, since JSON keys are text."""
    values = {name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()}
    if not isinstance(values["random_state"], int):
        values["random_state"] = None
    if isinstance(weights := values.get("class_weight"), dict):
        values["class_weight"] = {"pairs": [[label_to_json(label), label_to_json(w)] for label, w in weights.items()]}
    return values


def _encoder_to_json(encoder: TargetEncoder) -> dict[str, object]:
    if isinstance(encoder, RealEncoder):
        return {"mean": encoder.mean, "scale": encoder.scale}
    dtype = encoder.classes.dtype
    weights = encoder.class_weights
    return {
        "classes": [label_to_json(label) for label in encoder.classes],
        "classes_dtype": "U" if dtype.kind == "U" else str(dtype.str),  # the width of text follows from the labels
        "class_weights": None if weights is None else [float(weight) for weight in weights],
    }


def _encoder_from_json(document: Document) -> TargetEncoder:
    if "classes" not in document:
        return RealEncoder(float(document["mean"]), float(document["scale"]))
    classes, weights = _classes(document["classes"], document["classes_dtype"]), document["class_weights"]
    if weights is None:
        return ClassEncoder(classes)
    if len(weights) != len(classes):
        raise ValueError(f"{len(weights)} weights for {len(classes)} classes")
    return ClassEncoder(classes, np.asarray(weights, dtype=np.float64))


def _classes(labels: Sequence[object], dtype: str) -> Array:
    labels = [label_to_json(label) for label in labels]
    if dtype not in ("U", "|O") and not NUMBER_TYPE.fullmatch(dtype):
        raise ValueError(f"labels of type {dtype!r}")
    return np.asarray(labels, dtype=np.dtype(dtype))


def label_to_json(value: object) -> str | int | float | bool:
    """A label as JSON can hold it, or an error."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str | int | float | bool):
        return value
    raise ValueError(f"A model file holds labels that are text or numbers; {value!r} is {type(value).__name__}.")
