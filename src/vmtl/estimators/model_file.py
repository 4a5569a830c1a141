"""A fitted estimator as JSON and tensors, and back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from vmtl._utils.json_values import Document
from vmtl._utils.tensor_files import ModelFileError
from vmtl._utils.types import Array
from vmtl.config.settings import Settings
from vmtl.data.preprocessing import TablePreprocessor
from vmtl.inference.fitted import from_file
from vmtl.methods import BUILT_IN, METHODS, UnknownMethodError, get_method, method_id
from vmtl.model.method import MODEL_CHOICES

if TYPE_CHECKING:
    from vmtl.estimators.base import BaseMultiTask

EstimatorT = TypeVar("EstimatorT", bound="BaseMultiTask")
#: NumPy's names of truth values, numbers and times.
NUMBER_TYPE = re.compile(r"[<>|=]?[biufmM]\d{1,2}(\[\w{1,9}\])?")
#: Random numbers that a model may keep for its predictions.
MAX_DRAWS = 2**27


def describe(estimator: BaseMultiTask) -> tuple[dict[str, object], dict[str, Tensor]]:
    """What a model file holds of a fitted estimator."""
    parameters = {**estimator.get_params(deep=False), "method": method_id(estimator.method)}
    payload = {
        "estimator": type(estimator).__name__,
        "parameters": _parameters_to_json(parameters),
        "settings": estimator.settings_.to_json(),
        "tasks": [label_to_json(task) for task in estimator.tasks_],
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": list(getattr(estimator, "feature_names_in_", [])) or None,
        "seed": estimator.seed_,
        **estimator._fitted.to_json(),
        "preprocessor": None,
    }
    if parameters["method"] not in BUILT_IN:  # another program may know another method by this id
        payload["method"] = {name: getattr(estimator.method_, name) for name in MODEL_CHOICES}
    if hasattr(estimator, "classes_"):
        payload["classes"] = [label_to_json(label) for label in estimator.classes_]
        payload["classes_dtype"] = _dtype_name(estimator.classes_.dtype)
    else:
        payload["y_mean"], payload["y_scale"] = estimator.y_mean_, estimator.y_scale_
    tensors = estimator._fitted.to_tensors()
    if estimator.preprocessor_ is not None:
        payload["preprocessor"], arrays = estimator.preprocessor_.state()
        tensors.update({f"preprocessor.{name}": torch.from_numpy(np.array(a)) for name, a in arrays.items()})
    return payload, tensors


def _parameters_to_json(parameters: Mapping[str, object]) -> dict[str, object]:
    """The constructor's arguments as JSON can hold them; class weights as pairs, since JSON keys are text."""
    values = {name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()}
    if not isinstance(values["random_state"], int):
        values["random_state"] = None
    if isinstance(weights := values.get("class_weight"), dict):
        values["class_weight"] = {"pairs": [[label_to_json(label), label_to_json(w)] for label, w in weights.items()]}
    return values


def _dtype_name(dtype: np.dtype[Any]) -> str:
    """The kind of labels; the width of text follows from the labels."""
    return "U" if dtype.kind == "U" else str(dtype.str)


def rebuild(kind: type[EstimatorT], payload: Document, tensors: dict[str, Tensor], path: str) -> EstimatorT:
    """The estimator of class ``kind`` that ``describe`` described."""
    _check_method(payload, path)
    try:
        estimator: EstimatorT = _rebuild(kind, payload, tensors)
        _try_out(estimator)
    except UnknownMethodError as error:
        name = error.name[:80]
        raise ModelFileError(
            f"{path} was fitted by the method {name!r}, which is not registered here; install the package that "
            f"declares it, or call vmtl.register_method({name!r}, ...) before you load the file."
        ) from None
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        MemoryError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        reason = " ".join(str(error).split())[:300]
        raise ModelFileError(f"{path} does not describe a {kind.__name__} ({reason}); save it again.") from None
    return estimator


def _check_method(payload: Document, path: str) -> None:
    """A method from outside that has the id of the file's is also declared as the file's was."""
    parameters, declared = payload.get("parameters"), payload.get("method")
    name = parameters.get("method") if isinstance(parameters, dict) else None
    if not isinstance(name, str) or name in BUILT_IN or name not in METHODS or not isinstance(declared, dict):
        return
    for choice in MODEL_CHOICES:
        there, here = declared.get(choice), getattr(METHODS[name], choice)
        if choice in declared and there != here:
            raise ModelFileError(
                f"{path} was fitted by another method {name!r} than the one that is registered here: its {choice} is "
                f"{repr(there)[:80]}, not {here!r}; register the file's method with "
                f"vmtl.register_method({name!r}, ..., replace=True) before you load it."
            )


def _rebuild(kind: type[EstimatorT], payload: Document, tensors: dict[str, Tensor]) -> EstimatorT:
    parameters = {**payload["parameters"], "device": "cpu"}  # the machine that trained may have had another
    if isinstance(parameters.get("class_weight"), dict):
        parameters["class_weight"] = dict(parameters["class_weight"]["pairs"])
    estimator = kind(**parameters)
    estimator.method_, estimator.settings_ = get_method(estimator.method), Settings.from_json(payload["settings"])
    estimator.seed_, estimator.n_features_in_ = int(payload["seed"]), int(payload["n_features_in"])
    if (names := payload["feature_names_in"]) is not None:
        if len(names) != estimator.n_features_in_ or not all(isinstance(name, str) for name in names):
            raise ValueError(f"there are {estimator.n_features_in_} columns, which need as many names")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator.tasks_ = np.empty(len(payload["tasks"]), dtype=object)
    estimator.tasks_[:] = [label_to_json(task) for task in payload["tasks"]]
    if "classes" in payload:
        estimator.classes_ = _classes(payload["classes"], payload["classes_dtype"])
    else:
        estimator.y_mean_, estimator.y_scale_ = float(payload["y_mean"]), float(payload["y_scale"])
    estimator.preprocessor_ = None
    if payload["preprocessor"] is not None:
        prefix = "preprocessor."
        arrays = {k.removeprefix(prefix): v.numpy() for k, v in tensors.items() if k.startswith(prefix)}
        estimator.preprocessor_ = TablePreprocessor.from_state(payload["preprocessor"], arrays)
    estimator._fitted = from_file(estimator.method_, estimator.settings_, "classes" in payload, payload, tensors)
    estimator.metadata_ = dict(payload.get("metadata", {}))
    return estimator


def _classes(labels: Sequence[object], dtype: str) -> Array:
    labels = [label_to_json(label) for label in labels]
    if dtype not in ("U", "|O") and not NUMBER_TYPE.fullmatch(dtype):
        raise ValueError(f"labels of type {dtype!r}")
    return np.asarray(labels, dtype=np.dtype(dtype))


def _try_out(estimator: BaseMultiTask) -> None:
    """Sizes agree with each other, and a row of zeros has a prediction."""
    estimator._check_parameters()
    mask, settings = estimator._fitted.model.class_mask, estimator.settings_
    n_classes = len(estimator.classes_) if hasattr(estimator, "classes_") else 1
    if tuple(mask.shape) != (len(estimator.tasks_), n_classes) or len(set(estimator.tasks_)) < len(estimator.tasks_):
        raise ValueError(f"{len(estimator.tasks_)} tasks and {n_classes} classes do not match the weights")
    stored = estimator._fitted.feature_map.state_dict()
    if estimator.n_features_in_ != stored["landmarks" if "landmarks" in stored else "mean"].shape[-1]:
        raise ValueError(f"{estimator.n_features_in_} columns do not match the features")
    draws = settings.predict_z * (settings.predict_w * n_classes + estimator._fitted.model.encoder.latent_dim)
    if draws > MAX_DRAWS:
        raise ValueError(f"{draws} random numbers per prediction")
    estimator._predictor = estimator._make_predictor(estimator._fitted)
    estimator._predictor.features(np.zeros((1, estimator.n_features_in_)), np.zeros(1, dtype=np.int64))


def label_to_json(value: object) -> str | int | float | bool:
    """A label as JSON can hold it, or an error."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str | int | float | bool):
        return value
    raise ValueError(f"A model file holds labels that are text or numbers; {value!r} is {type(value).__name__}.")
