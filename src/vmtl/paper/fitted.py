"""The result of inference, and its way to and from the tensors of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from vmtl._utils.canonical import make_canonical
from vmtl._utils.json_values import Document
from vmtl._utils.shape_checks import check_fits
from vmtl.paper import schedules
from vmtl.paper.settings import Settings
from vmtl.inference.features.feature_map import FeatureMap, ScaledMap
from vmtl.inference.features.kernel_map import KernelMap, name_shares
from vmtl.inference.features.maps import from_tensors
from vmtl.inference.forest.trees import Forest
from vmtl.inference.hyperparameters import Hyperparameters
from vmtl.inference.structure.known_tasks import KnownTasks
from vmtl.paper.training.history import History
from vmtl.paper.training.training import check_weights
from vmtl.paper.method import Method
from vmtl.paper.model import Layout, Model
from vmtl.paper.noisy_encoders import upgrade
from vmtl.results.left_out_scores import LeftOutScores


@dataclass(frozen=True)
class Fitted:
    """A posterior, how it was found, and what else was inferred; tensors have the one layout that a file gives back."""

    feature_map: FeatureMap
    model: Model
    history: History
    hyperparameters: Hyperparameters
    left_out: LeftOutScores | None = None  # where the posterior is exact
    known: KnownTasks | None = None  # where all tasks have one representation
    forest: Forest | None = None  # where it has a say in predictions

    @classmethod
    def complete(
        cls,
        feature_map: FeatureMap,
        model: Model,
        history: History,
        hyperparameters: Hyperparameters,
        left_out: LeftOutScores | None = None,
        known: KnownTasks | None = None,
        forest: Forest | None = None,
    ) -> Fitted:
        """At the end of a fit: every weight is a number, none is trained further."""
        check_weights(model, model.n_tasks, history.step[-1])
        return cls(feature_map, model.requires_grad_(False), history, hyperparameters, left_out, known, forest)

    def __post_init__(self) -> None:
        make_canonical(self.feature_map)
        make_canonical(self.model)
        if self.forest is not None:
            make_canonical(self.forest)

    def to_tensors(self) -> dict[str, Tensor]:
        """All tensors by name."""
        parts = {
            "features": self.feature_map.state_dict(),
            "model": self.model.state_dict(),
            "history": {name: torch.stack(getattr(self.history, name)) for name in History.TERMS},
            "structure": self.hyperparameters.to_tensors(),
            "left_out": {} if self.left_out is None else self.left_out.to_tensors(),
            "known": {} if self.known is None else self.known.to_tensors(),
            "forest": {} if self.forest is None else self.forest.state_dict(),
        }
        return {f"{part}.{name}": tensor for part, tensors in parts.items() for name, tensor in tensors.items()}

    def to_json(self) -> dict[str, object]:
        """All that is no tensor."""
        return {"history": self.history.numbers(), "hyperparameters": self.hyperparameters.to_json()}


def from_file(
    method: Method,
    settings: Settings,
    is_classification: bool,
    document: Document,
    tensors: dict[str, Tensor],
) -> Fitted:
    """The fitted model that ``to_tensors`` and ``to_json`` describe.

    0.1.0 wrote no hyperparameters, no left-out scores and nothing of the tasks' representations.
    """

    def part(name: str) -> dict[str, Tensor]:
        return {k.removeprefix(f"{name}."): v for k, v in tensors.items() if k.startswith(f"{name}.")}

    feature_map = from_tensors(part("features"))
    model = _load_model(method, settings, is_classification, feature_map, part("model"))
    history = _load_history(document["history"], part("history"), model.n_tasks)
    if "hyperparameters" in document:
        hyperparameters = Hyperparameters.from_file(document["hyperparameters"], part("structure"), model.n_tasks)
    else:
        hyperparameters = recover_hyperparameters(feature_map, model, history)
    scores = part("left_out")
    left_out = LeftOutScores.from_tensors(scores, model.n_tasks) if scores else None
    kept = part("known")
    known = KnownTasks.from_tensors(kept, model.n_tasks) if kept else None
    trees = part("forest")
    forest = Forest.from_tensors(trees, _n_columns(feature_map), model.class_mask.shape[1]) if trees else None
    return Fitted(feature_map, model.requires_grad_(False), history, hyperparameters, left_out, known, forest)


def _n_columns(feature_map: FeatureMap) -> int:
    """D, of the raw columns."""
    if isinstance(feature_map, KernelMap):
        return feature_map.landmarks.shape[-1]
    assert isinstance(feature_map, ScaledMap)
    return len(feature_map.mean)


def _load_model(
    method: Method, settings: Settings, is_classification: bool, feature_map: FeatureMap, weights: dict[str, Tensor]
) -> Model:
    empty = torch.zeros(1, 1, 1)
    size_in = feature_map.projection.shape[-1] if isinstance(feature_map, KernelMap) else _n_columns(feature_map)
    layout = Layout(
        weights["class_mask"],
        weights["task_rows"],
        size_in,
        is_classification,
        weights.get("encoder.spread", empty)[:, 0],
        weights.get("head.statistics", empty),
    )
    if layout.task_rows.shape != layout.class_mask.shape[:1]:
        raise ValueError("task_rows does not have one number per task")
    weights = _since_0_1_0(settings, weights)
    check_fits(lambda: Model(method, settings, layout.to("meta")), weights)
    model = Model(method, settings, layout).to(weights["task_rows"].dtype)
    model.load_state_dict(weights)
    return model


def _since_0_1_0(settings: Settings, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors under their names of today: 0.1.0 had another noisy encoder, and covariances of classes and features."""
    if settings.encoder == "noisy-linear" and "encoder.log_scale" in weights:
        weights = upgrade(weights)
    if "prior_w.covariance_0" in weights:
        old = {name: value for name, value in weights.items() if name.startswith("prior_w.")}
        weights = {name: value for name, value in weights.items() if name not in old}
        weights["prior_w.covariance"] = old["prior_w.covariance_0"]
        weights["prior_w.inverse"] = old["prior_w.inverse_0"]
        weights["prior_w.log_det"] = old["prior_w.log_dets"][0]
    return weights


def _load_history(numbers: dict[str, list[Any]], terms: dict[str, Tensor], n_tasks: int) -> History:
    if any(value.shape != (len(numbers["step"]), n_tasks) for value in terms.values()):
        raise ValueError("the history does not have one row per recorded step and one column per task")
    return History(**numbers, **{name: list(value) for name, value in terms.items()})


def recover_hyperparameters(feature_map: FeatureMap, model: Model, history: History) -> Hyperparameters:
    """What a fitted model still shows of them: its kernel, its logit scale and its learning rate."""
    numbers: dict[str, Any] = {}
    settings = model.settings
    if isinstance(feature_map, KernelMap):
        numbers["kernel_shares"] = name_shares(feature_map.kernel_shares())
        numbers["standardise"] = bool((feature_map.views.unit != 1).any())
    first_rate = schedules.value(settings.learning_rate, 0, settings.max_steps, model.n_tasks)
    return Hyperparameters(
        logit_scale=float(model.logit_scale), learning_rate_factor=history.lr[0] / first_rate, **numbers
    )
