"""A fitted estimator as JSON and tensors, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from vmtl._utils.tensor_files import ModelFileError
from vmtl._utils.types import Array
from vmtl.config.settings import Settings
from vmtl.data.preprocessing import TablePreprocessor
from vmtl.estimators.inputs import plain
from vmtl.inference.fitted import from_file, to_tensors
from vmtl.methods import UnknownMethodError, get_method, method_id

#: Random numbers that a model may keep for its predictions.
MAX_DRAWS = 2**27


def describe(estimator: Any) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What a model file holds of a fitted estimator."""
    parameters = {**estimator.get_params(deep=False), "method": method_id(estimator.method)}
    payload = {
        "estimator": type(estimator).__name__,
        "parameters": _plain_parameters(parameters),
        "settings": estimator.settings_.to_json(),
        "tasks": [plain(task) for task in estimator.tasks_],
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": list(getattr(estimator, "feature_names_in_", [])) or None,
        "seed": estimator.seed_,
        "history": estimator._fitted.history.numbers(),
        "preprocessor": None,
    }
    if hasattr(estimator, "classes_"):
        payload["classes"] = [plain(label) for label in estimator.classes_]
        payload["classes_dtype"] = _dtype_name(estimator.classes_.dtype)
    else:
        payload["y_mean"], payload["y_scale"] = estimator.y_mean_, estimator.y_scale_
    tensors = to_tensors(estimator._fitted)
    if estimator.preprocessor_ is not None:
        payload["preprocessor"], arrays = estimator.preprocessor_.state()
        tensors.update({f"preprocessor.{name}": torch.from_numpy(np.array(a)) for name, a in arrays.items()})
    return payload, tensors


def _plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """The constructor's arguments as JSON can hold them; class weights as pairs, since JSON keys are text."""
    found = dict(parameters)
    if not isinstance(found["random_state"], int | np.integer):
        found["random_state"] = None
    if isinstance(found.get("class_weight"), dict):
        found["class_weight"] = {"pairs": [[plain(k), plain(v)] for k, v in found["class_weight"].items()]}
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in found.items()}


def _dtype_name(dtype: Any) -> str:
    """The kind of labels; the width of text follows from the labels."""
    return "U" if dtype.kind == "U" else str(dtype.str)


def rebuild(kind: type[Any], payload: dict[str, Any], tensors: dict[str, Tensor], path: str) -> Any:
    """The estimator of class ``kind`` that ``describe`` described."""
    try:
        made = _rebuild(kind, payload, tensors)
        _try_out(made)
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
    return made


def _rebuild(kind: type[Any], payload: dict[str, Any], tensors: dict[str, Tensor]) -> Any:
    parameters = {**payload["parameters"], "device": "cpu"}  # the machine that trained may have had another
    if isinstance(parameters.get("class_weight"), dict):
        parameters["class_weight"] = dict(parameters["class_weight"]["pairs"])
    made = kind(**parameters)
    made.method_, made.settings_ = get_method(made.method), Settings.from_json(payload["settings"])
    made.seed_, made.n_features_in_ = int(payload["seed"]), int(payload["n_features_in"])
    if (names := payload["feature_names_in"]) is not None:
        if len(names) != made.n_features_in_ or not all(isinstance(name, str) for name in names):
            raise ValueError(f"there are {made.n_features_in_} columns, which need as many names")
        made.feature_names_in_ = np.array(names, dtype=object)
    made.tasks_ = np.empty(len(payload["tasks"]), dtype=object)
    made.tasks_[:] = [plain(task) for task in payload["tasks"]]
    if "classes" in payload:
        made.classes_ = _classes(payload["classes"], payload["classes_dtype"])
    else:
        made.y_mean_, made.y_scale_ = float(payload["y_mean"]), float(payload["y_scale"])
    made.preprocessor_ = None
    if payload["preprocessor"] is not None:
        prefix = "preprocessor."
        arrays = {k.removeprefix(prefix): v.numpy() for k, v in tensors.items() if k.startswith(prefix)}
        made.preprocessor_ = TablePreprocessor.from_state(payload["preprocessor"], arrays)
    made._fitted = from_file(made.method_, made.settings_, "classes" in payload, payload["history"], tensors)
    made.metadata_ = dict(payload.get("metadata", {}))
    return made


def _classes(labels: list[Any], dtype: str) -> Array:
    labels = [plain(label) for label in labels]
    if dtype not in ("U", "|O") and np.dtype(dtype).kind not in "biufmM":
        raise ValueError(f"labels of type {dtype!r}")
    return np.asarray(labels, dtype=np.dtype(dtype))


def _try_out(made: Any) -> None:
    """Sizes agree with each other, and a row of zeros has a prediction."""
    made._check_choices()
    mask, settings = made._fitted.model.class_mask, made.settings_
    n_classes = len(made.classes_) if hasattr(made, "classes_") else 1
    if tuple(mask.shape) != (len(made.tasks_), n_classes) or len(set(made.tasks_)) < len(made.tasks_):
        raise ValueError(f"{len(made.tasks_)} tasks and {n_classes} classes do not match the weights")
    stored = made._fitted.feature_map.state_dict()
    if made.n_features_in_ != stored["landmarks" if "landmarks" in stored else "mean"].shape[-1]:
        raise ValueError(f"{made.n_features_in_} columns do not match the features")
    draws = settings.predict_z * (settings.predict_w * n_classes + made._fitted.model.encoder.latent_dim)
    if draws > MAX_DRAWS:
        raise ValueError(f"{draws} random numbers per prediction")
    made._predictor = made._make_predictor()
    made._predictor.features(np.zeros((1, made.n_features_in_)), np.zeros(1, dtype=np.int64))
