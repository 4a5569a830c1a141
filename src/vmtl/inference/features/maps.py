"""Feature maps of either kind: learned on training rows, applied to them, and made again from stored tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from vmtl._utils.shape_checks import check_fits
from vmtl.data.rows import Rows, Sums
from vmtl.inference.features.feature_map import FeatureMap, ScaledMap
from vmtl.inference.features.kernel_map import KernelMap

#: Landmarks of the kernel encoder at most.
MAX_LANDMARKS = 512
#: Rows whose features are computed together.
PART_ROWS = 20_000


def learn_kernel_map(
    rows: Rows,
    shares: Tensor,
    *,
    standardise: bool,
    size_out: int,
    scale: float,
    per_task: bool,
    seed: int,
    relevance: Tensor | None = None,
) -> KernelMap:
    """Kernel features of the raw columns ``rows.x``, of all rows together or of each task on its own.

    At most ``MAX_LANDMARKS`` rows, at random, are landmarks.
    """
    generator = torch.Generator().manual_seed(seed)
    rows = rows.cpu()

    def learn(numbers: Tensor) -> KernelMap:
        if len(numbers) > MAX_LANDMARKS:
            numbers = numbers[torch.randperm(len(numbers), generator=generator)[:MAX_LANDMARKS].sort().values]
        some = rows.take(numbers)
        return KernelMap.learn(
            some.x,
            some.weight,
            shares,
            standardise=standardise,
            relevance=relevance,
            size_out=size_out,
            scale=scale,
        )

    if per_task:
        return KernelMap.stack([learn((rows.task == t).nonzero().flatten()) for t in range(rows.n_tasks)])
    return learn(torch.arange(len(rows.task)))


def from_tensors(tensors: dict[str, Tensor]) -> FeatureMap:
    """The map that has these buffers, as this version or an earlier one has stored them."""
    if "landmarks" in tensors:
        tensors = _as_stored_now(tensors)
        sizes = {"view_rows": tensors["views.values"].shape[-1], "stages": len(tensors.get("stages", ()))}
        groups, landmarks, size_in = tensors["landmarks"].shape
        size_out = tensors["projection"].shape[-1]
        make: Callable[[], FeatureMap] = partial(KernelMap, groups, landmarks, size_in, size_out, **sizes)
    else:
        make = partial(ScaledMap, len(tensors["mean"]))
    check_fits(make, tensors)
    feature_map = make()
    feature_map.to(next(value.dtype for value in tensors.values() if value.is_floating_point()))
    feature_map.load_state_dict(tensors)
    return feature_map


def _as_stored_now(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The buffers of a kernel map of any version.

    Version 0.1.0 had no relevance, no splines and one kernel less; before that, sorted columns were stored after
    standardising.
    """
    tensors = dict(tensors)
    if "views.column" in tensors:
        unit, origin = tensors["views.unit"].mT, tensors["views.origin"].mT  # (G, D, 1)
        tensors["views.values"] = tensors.pop("views.column") * unit + origin
    if "views.relevance" not in tensors:
        groups, _, size = tensors["landmarks"].shape
        now = KernelMap(groups, 1, size, 1).to(tensors["landmarks"].dtype)
        tensors["views.relevance"], tensors["views.spline_shift"] = now.views.relevance, now.views.spline_shift
        for name, value in (("views.scale", now.views.scale), ("coefficient", now.coefficient)):
            known = tensors[name].shape[1]
            tensors[name] = torch.cat([tensors[name], value[:, known:].to(tensors[name])], 1)
    return tensors


def apply_map(feature_map: FeatureMap, rows: Rows) -> Rows:
    """The training rows with fixed features instead of raw columns."""
    if not (isinstance(feature_map, KernelMap) and len(feature_map.landmarks) > 1):
        return rows.map_columns(partial(features_of, feature_map))
    with torch.no_grad():
        index, mask = rows.by_task
        padded = feature_map(rows.x[index])  # (T, M, F)
    x = padded.new_zeros(len(rows.y), padded.shape[-1])
    x[index[mask]] = padded[mask]
    return replace(rows, x=x)


@torch.no_grad()
def features_of(feature_map: FeatureMap, x: Tensor) -> Tensor:
    """(n, F) of raw columns (n, D), where all tasks have one map."""
    return torch.cat([feature_map(part[None])[0] for part in x.split(PART_ROWS)])


def feature_spread(rows: Rows, per_task: bool) -> Tensor:
    """Weighted standard deviation of each feature: (G, F), never 0."""
    groups = [rows.take((rows.task == t).nonzero().flatten()) for t in range(rows.n_tasks)] if per_task else [rows]
    return torch.stack([_deviations(*group.total(_moments)) for group in groups]).to(rows.x).clamp_min(1e-4)


def _moments(rows: Rows) -> Sums:
    """The sums of weight, weight x and weight x^2, part by part: (1,), (F,), (F,)."""
    total, first, second = torch.zeros(1), torch.zeros(rows.x.shape[1]), torch.zeros(rows.x.shape[1])
    sums = [value.to(rows.x.device, torch.float64) for value in (total, first, second)]
    for x, weight in zip(rows.x.split(PART_ROWS), rows.weight.split(PART_ROWS), strict=True):
        x, weight = x.double(), weight.double()
        sums = [a + b for a, b in zip(sums, (weight.sum(), weight @ x, weight @ x.square()), strict=True)]
    return tuple(sums)


def _deviations(total: Tensor, first: Tensor, second: Tensor) -> Tensor:
    return (second / total - (first / total).square()).clamp_min(0).sqrt()
