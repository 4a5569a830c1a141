"""What inference leaves behind, and its way to and from the tensors of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from vmtl._utils.canonical import make_canonical
from vmtl._utils.shape_checks import check_fits
from vmtl.config.settings import Settings
from vmtl.inference.features.feature_map import FeatureMap, ScaledMap
from vmtl.inference.features.kernel_map import KernelMap
from vmtl.inference.features.maps import from_tensors
from vmtl.inference.variational.history import History
from vmtl.model.method import Method
from vmtl.model.model import Layout, Model


@dataclass(frozen=True)
class Fitted:
    """What training leaves behind; its tensors have the one layout that a file gives back."""

    feature_map: FeatureMap
    model: Model
    history: History

    def __post_init__(self) -> None:
        make_canonical(self.feature_map)
        make_canonical(self.model)


def to_tensors(fitted: Fitted) -> dict[str, Tensor]:
    """All tensors of a fitted model by name."""
    history = fitted.history
    parts = {
        "features": fitted.feature_map.state_dict(),
        "model": fitted.model.state_dict(),
        "history": {name: torch.stack(getattr(history, name)) for name in History.TERMS},
    }
    return {f"{part}.{name}": tensor for part, found in parts.items() for name, tensor in found.items()}


def from_file(
    method: Method,
    settings: Settings,
    is_classification: bool,
    plain: dict[str, Any],
    tensors: dict[str, Tensor],
) -> Fitted:
    """The fitted model that ``to_tensors`` and ``History.numbers`` describe."""

    def part(name: str) -> dict[str, Tensor]:
        return {k.removeprefix(f"{name}."): v for k, v in tensors.items() if k.startswith(f"{name}.")}

    weights, feature_map = part("model"), from_tensors(part("features"))
    empty = torch.zeros(1, 1, 1)
    spread = weights.get("encoder.spread", empty)[:, 0]
    if isinstance(feature_map, KernelMap):
        size_in = feature_map.projection.shape[-1]
    else:
        assert isinstance(feature_map, ScaledMap)
        size_in = len(feature_map.mean)
    layout = Layout(
        weights["class_mask"],
        weights["task_rows"],
        size_in,
        is_classification,
        spread,
        weights.get("head.statistics", empty),
    )
    if layout.task_rows.shape != layout.class_mask.shape[:1]:
        raise ValueError("task_rows does not have one number per task")
    check_fits(lambda: Model(method, settings, layout.to("meta")), weights)
    model = Model(method, settings, layout).to(weights["task_rows"].dtype)
    model.load_state_dict(weights)
    stored = part("history")
    if any(value.shape != (len(plain["step"]), model.n_tasks) for value in stored.values()):
        raise ValueError("the history does not have one row per recorded step and one column per task")
    recorded = {name: list(value) for name, value in stored.items()}
    return Fitted(feature_map, model.requires_grad_(False), History(**plain, **recorded))
