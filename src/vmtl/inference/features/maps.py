"""Feature maps of either kind: applied to training rows, and made again from stored tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from vmtl._utils.shape_checks import check_fits
from vmtl.data.rows import Rows
from vmtl.inference.features.feature_map import FeatureMap, ScaledMap
from vmtl.inference.features.kernel_map import KernelMap


def from_tensors(tensors: dict[str, Tensor]) -> FeatureMap:
    """The map that has these buffers; early files have the sorted columns after standardising, as ``column``."""
    if "views.column" in tensors:
        unit, origin = tensors["views.unit"].mT, tensors["views.origin"].mT  # (G, D, 1)
        values = tensors["views.column"] * unit + origin
        tensors = {**tensors, "views.values": values}
        del tensors["views.column"]
    if "landmarks" in tensors:
        groups, landmarks, size_in = tensors["landmarks"].shape
        make: Callable[[], FeatureMap] = partial(KernelMap, groups, landmarks, size_in, tensors["projection"].shape[-1])
    else:
        make = partial(ScaledMap, len(tensors["mean"]))
    check_fits(make, tensors)
    made = make()
    made.to(next(iter(tensors.values())).dtype).load_state_dict(tensors)
    return made


def apply_map(feature_map: FeatureMap, rows: Rows) -> Rows:
    """The training rows with fixed features instead of raw columns."""
    index, mask = rows.by_task
    with torch.no_grad():
        if isinstance(feature_map, KernelMap) and len(feature_map.landmarks) > 1:
            padded = feature_map(rows.x[index])  # (T, M, F)
            x = padded.new_zeros(len(rows.y), padded.shape[-1])
            x[index[mask]] = padded[mask]
        else:
            x = feature_map(rows.x[None])[0]
    return replace(rows, x=x)


def feature_spread(rows: Rows, per_task: bool) -> Tensor:
    """Weighted standard deviation of each feature: (G, F), never 0."""
    groups = [rows.task == t for t in range(rows.n_tasks)] if per_task else [rows.task >= 0]
    spreads = []
    for own in groups:
        p = rows.weight[own] / rows.weight[own].sum()
        centred = rows.x[own] - p @ rows.x[own]
        spreads.append((p @ centred.square()).sqrt())
    return torch.stack(spreads).clamp_min(1e-4)
