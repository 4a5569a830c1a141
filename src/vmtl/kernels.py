"""Fixed feature maps: raw columns to the features that an encoder reads, learned once on the training rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vmtl.batches import Rows
from vmtl.encoders import pick
from vmtl.skeleton import check_fits

#: Rows of one block when a kernel is evaluated.
TINY = 1e-12


class FeatureMap(nn.Module):
    """x (T, N, D) to features (T, N, F); ``task`` says which slice belongs to which task."""

    def forward(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        raise NotImplementedError


class ScaledMap(FeatureMap):
    """(x - mean) / sqrt(mean squared norm of the centred training rows), or x as it is if ``identity``."""

    mean: Tensor
    scale: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("scale", torch.ones(()))

    @classmethod
    def identity(cls, size: int) -> ScaledMap:
        return cls(size)

    @classmethod
    def fitted(cls, x: Tensor, weight: Tensor) -> ScaledMap:
        made = cls(x.shape[1])
        share = (weight / weight.sum()).to(torch.float64)
        made.mean = share @ x.double()
        made.scale = (share @ (x.double() - made.mean).square().sum(-1)).sqrt().clamp_min(TINY)
        return made

    def forward(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        scaled: Tensor = (x - self.mean) / self.scale
        return scaled


def unit_rows(x: Tensor) -> Tensor:
    return F.normalize(x, dim=-1, eps=TINY)


class KernelMap(FeatureMap):
    """Kernel PCA on landmarks, of a sum of kernels on several views of x.

    k(x, x') = sum_v c_v k_v(x, x'), each kernel scaled so that its centred mean diagonal is its share. Views:
    ``linear`` the inner product of standardised... of x as it is; ``raw``, ``root`` and ``standard`` RBF kernels
    exp(-|u - u'|^2 / d), d the mean squared distance of training rows, on u = x, u = sign(x) sqrt|x| with unit
    rows, and u = (x - mean_j) / (sd_j + half the mean sd) with unit rows.

    Features are h(x) = k(x, Z) A + b, centred on the training rows with mean squared norm 1. Sample weights
    are exact: a row with weight 2 gives the same map as the row twice.
    """

    landmarks: Tensor
    centre: Tensor
    deviation: Tensor
    distance: Tensor
    coefficient: Tensor
    projection: Tensor
    offset: Tensor

    VIEWS = ("linear", "raw", "root", "standard")

    def __init__(self, groups: int, landmarks: int, size_in: int, size_out: int) -> None:
        super().__init__()
        shapes = {
            "landmarks": (groups, landmarks, size_in),
            "centre": (groups, 1, size_in),
            "deviation": (groups, 1, size_in),
            "distance": (groups, len(self.VIEWS)),
            "coefficient": (groups, len(self.VIEWS)),
            "projection": (groups, landmarks, size_out),
            "offset": (groups, 1, size_out),
        }
        for name, shape in shapes.items():
            self.register_buffer(name, torch.zeros(shape))

    @classmethod
    def fitted(
        cls,
        x: Tensor,
        weight: Tensor,
        shares: Tensor,
        size_out: int,
        max_landmarks: int,
        generator: torch.Generator,
    ) -> KernelMap:
        """Learn the map of one group from x (n, D)."""
        x, weight = x.double(), weight.double()
        x, weight = x[weight > 0], weight[weight > 0]
        if len(x) > max_landmarks:
            chosen = torch.randperm(len(x), generator=generator)[:max_landmarks].sort().values
        else:
            chosen = torch.arange(len(x))
        made = cls(1, len(chosen), x.shape[1], min(size_out, len(chosen))).double()
        p = weight / weight.sum()
        made.centre[0] = p @ x
        deviation = (p @ (x - made.centre[0]).square()).sqrt()
        made.deviation[0] = (deviation + 0.5 * deviation.mean()).clamp_min(TINY)
        made.landmarks[0] = x[chosen]
        made._fit_kernels(x[chosen], p[chosen] / p[chosen].sum(), shares.double())
        return made

    @classmethod
    def stack(cls, maps: list[KernelMap]) -> KernelMap:
        """One map per task, padded to one size."""
        shapes = [(m.landmarks.shape[1], m.projection.shape[2]) for m in maps]
        rows, size = max(r for r, _ in shapes), max(k for _, k in shapes)
        made = cls(len(maps), rows, maps[0].landmarks.shape[2], size).double()
        for index, (part, (r, k)) in enumerate(zip(maps, shapes, strict=True)):
            made.landmarks[index, :r] = part.landmarks[0]
            made.projection[index, :r, :k] = part.projection[0]
            made.offset[index, :, :k] = part.offset[0]
            for name in ("centre", "deviation", "distance", "coefficient"):
                made.get_buffer(name)[index] = part.get_buffer(name)[0]
        return made

    def _fit_kernels(self, z: Tensor, p: Tensor, shares: Tensor) -> None:
        for v in range(1, len(self.VIEWS)):
            u = self._view(z[None], v, None)[0]
            self.distance[0, v] = (2 * (p @ u.square().sum(-1) - (p @ u).square().sum())).clamp_min(TINY)
        kernel = torch.zeros(len(z), len(z), dtype=z.dtype)
        for v in range(len(self.VIEWS)):
            part = self._kernel(z[None], v, None)[0]
            inner = p @ part
            diagonal = p @ (part.diagonal() - 2 * inner + p @ inner)
            if shares[v] > 0 and diagonal > TINY:
                self.coefficient[0, v] = shares[v] / diagonal
                kernel = kernel + self.coefficient[0, v] * part
        inner = p @ kernel
        centred = kernel - inner[:, None] - inner[None] + p @ inner
        values, vectors = torch.linalg.eigh(p.sqrt()[:, None] * centred * p.sqrt())
        size = self.projection.shape[-1]
        values, vectors = values.flip(0)[:size], vectors.flip(1)[:, :size]
        kept = values > 1e-7 * values[:1].clamp_min(TINY)
        inverse = torch.where(kept, values.clamp_min(TINY).rsqrt(), 0.0)
        sign = torch.where(vectors.gather(0, vectors.abs().argmax(0, keepdim=True)) < 0, -1.0, 1.0)
        projection = p.sqrt()[:, None] * vectors * sign * inverse
        self.projection[0] = projection - p[:, None] * projection.sum(0)
        self.offset[0] = (p @ inner - inner) @ projection

    def _view(self, x: Tensor, v: int, task: Tensor | None) -> Tensor:
        name = self.VIEWS[v]
        if name == "root":
            return unit_rows(x.sign() * x.abs().sqrt())
        if name == "standard":
            return unit_rows((x - pick(self.centre, task)) / pick(self.deviation, task))
        return x - pick(self.centre, task)

    def _kernel(self, x: Tensor, v: int, task: Tensor | None) -> Tensor:
        """k_v(x, landmarks): (T, N, m)."""
        u, z = self._view(x, v, task), self._view(pick(self.landmarks, task), v, task)
        inner = u @ z.mT
        if self.VIEWS[v] == "linear":
            return inner
        square = u.square().sum(-1, keepdim=True) - 2 * inner + z.square().sum(-1).unsqueeze(-2)
        distance = pick(self.distance, task)[..., v]
        return torch.exp(-square.clamp_min(0) / distance.reshape(-1, *[1] * (square.dim() - 1)))

    def forward(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        total = x.new_zeros(*x.shape[:-1], self.landmarks.shape[1])
        coefficient = pick(self.coefficient, task)  # (V,) or (T, V)
        for v in range(len(self.VIEWS)):
            if bool((coefficient[..., v] != 0).any()):
                total = total + coefficient[..., v].reshape(-1, *[1] * (x.dim() - 1)) * self._kernel(x, v, task)
        return total @ pick(self.projection, task) + pick(self.offset, task)


def from_tensors(tensors: dict[str, Tensor]) -> FeatureMap:
    """The map that has these buffers."""
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
    return Rows(x, rows.y, rows.task, rows.weight, rows.n_tasks, rows.n_classes, rows.is_classification)
