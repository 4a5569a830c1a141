"""Kernel features: the principal components of a mixture of kernels, learned once on the training rows."""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl.inference.features.candidate_kernels import (
    CANDIDATES,
    candidates_for,
    centre,
    evaluate_kernels,
    landmark_kernels,
    varies,
)
from vmtl.inference.features.feature_map import FeatureMap
from vmtl.inference.features.views import TINY, Views
from vmtl.model.encoders import pick

#: Kernels with a smaller share are left out.
LEAST_SHARE = 1e-4
#: Principal components with less than this part of the largest variance are 0.
LEAST_VARIANCE = 1e-7


class KernelMap(FeatureMap):
    """Kernel PCA on landmarks, of a mixture of kernels on several views of x.

    k(x, x') = sum_v c_v k_v(x, x'),    h(x) = k(x, Z) A + b

    where c_v = share_v / d_v = ``coefficient`` (G, V), d_v the mean diagonal of the centred kernel k_v;
    Z = ``landmarks`` (G, m, D), with ``weight`` (G, m) that sum to 1; A = ``projection`` (G, m, K);
    b = ``offset`` (G, 1, K). The features h are centred on the landmarks, with mean squared norm scale^2 and
    dimensions by falling variance. There is one group, or one per task.

    A map that has grown (``vmtl.inference.features.longer_map``) has ``stages`` (S, 2): how many landmarks and features
    it had before and after each time.

    The constructor gives a map of these shapes that sends everything to 0, for stored tensors to be loaded into;
    ``learn`` gives the map of some rows.
    """

    landmarks: Tensor
    weight: Tensor
    coefficient: Tensor
    projection: Tensor
    offset: Tensor
    stages: Tensor | None

    def __init__(
        self, groups: int, landmarks: int, size_in: int, size_out: int, *, view_rows: int | None = None, stages: int = 0
    ) -> None:
        super().__init__()
        self.views = Views(groups, landmarks if view_rows is None else view_rows, size_in)
        self.register_buffer("landmarks", torch.zeros(groups, landmarks, size_in))
        self.register_buffer("weight", torch.zeros(groups, landmarks))
        self.register_buffer("coefficient", torch.zeros(groups, len(CANDIDATES)))
        self.register_buffer("projection", torch.zeros(groups, landmarks, size_out))
        self.register_buffer("offset", torch.zeros(groups, 1, size_out))
        self.register_buffer("stages", torch.zeros(stages, 2, dtype=torch.long) if stages else None)

    @classmethod
    def learn(
        cls,
        x: Tensor,
        weight: Tensor,
        shares: Tensor,
        *,
        standardise: bool,
        size_out: int,
        scale: float = 1.0,
        relevance: Tensor | None = None,
    ) -> KernelMap:
        """The first ``size_out`` principal components, times ``scale``, of the kernel with these shares (V,).

        The rows x (n, D) with weights (n,) are the landmarks; their columns count by ``relevance`` (D,), or alike.
        """
        x, p = x.double(), weight.double()
        p = p / p.sum()
        views = Views.learn(x, p, standardise, relevance)
        coefficient, kernel = mix_kernels(views, x, p, shares)
        projection, offset = principal_components(kernel, p, size_out, scale)
        kernel_map = cls(1, len(x), x.shape[1], projection.shape[-1]).double()
        kernel_map.views = views
        kernel_map.landmarks[0], kernel_map.weight[0] = x, p
        kernel_map.coefficient[0], kernel_map.projection[0] = coefficient, projection
        kernel_map.offset[0] = offset
        return kernel_map

    @classmethod
    def stack(cls, maps: list[KernelMap]) -> KernelMap:
        """One map per task, padded to one size."""
        shapes = [(task_map.landmarks.shape[1], task_map.projection.shape[2]) for task_map in maps]
        rows, size = max(r for r, _ in shapes), max(k for _, k in shapes)
        stacked = cls(len(maps), rows, maps[0].landmarks.shape[2], size).double()
        stacked.views = Views.stack([task_map.views for task_map in maps])
        for t, (task_map, (r, k)) in enumerate(zip(maps, shapes, strict=True)):
            stacked.landmarks[t, :r], stacked.weight[t, :r] = task_map.landmarks[0], task_map.weight[0]
            stacked.projection[t, :r, :k] = task_map.projection[0]
            stacked.offset[t, :, :k] = task_map.offset[0]
            stacked.coefficient[t] = task_map.coefficient[0]
        return stacked

    def forward(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        return self.kernel(x, task) @ pick(self.projection, task) + pick(self.offset, task)

    def kernel(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        """k(x, Z), not centred: (T, N, m)."""
        coefficient = pick(self.coefficient, task)  # (V,) or (T, V)
        used = self.coefficient.ne(0).any(0).nonzero().flatten().tolist()

        def view_pair(number: int) -> tuple[Tensor, Tensor]:
            return self.views(number, x, task), self._landmark_view(number, task)

        total = x.new_zeros(*x.shape[:-1], self.landmarks.shape[1])  # (T, N, m)
        for v, kernel in zip(used, evaluate_kernels(view_pair, used), strict=True):
            total = torch.addcmul(total, coefficient[..., v].reshape(-1, *[1] * (x.dim() - 1)), kernel)
        return total

    def kernel_shares(self) -> Tensor:
        """(V,) the shares that the mixture was learned with, of all groups alike; they sum to 1."""
        used = self.coefficient[0].nonzero().flatten()
        counted = self.weight[0] > 0  # groups are padded
        p, shares = self.weight[0, counted].double(), torch.zeros(len(CANDIDATES), dtype=torch.float64)
        for v, kernel in zip(used.tolist(), self._first_group_kernels(used.tolist(), counted), strict=True):
            shares[v] = self.coefficient[0, v].double() * _mean_diagonal(kernel, p)
        return shares / shares.sum().clamp_min(TINY)

    def _first_group_kernels(self, numbers: list[int], counted: Tensor) -> list[Tensor]:
        """Kernels among the landmarks of the first group, in double precision: (m, m) each."""
        first = torch.zeros(1, dtype=torch.long, device=self.landmarks.device)

        def view_pair(number: int) -> tuple[Tensor, Tensor]:
            u = self.views(number, self.landmarks[:1], first)[:, counted].double()
            return u, u[0]

        return [kernel[0] for kernel in evaluate_kernels(view_pair, numbers)]

    def _landmark_view(self, number: int, task: Tensor | None) -> Tensor:
        """A view of the landmarks, kept after the first call."""
        kept = self.__dict__.setdefault("_kept_views", {})
        key = (number, self.landmarks.dtype, self.landmarks.device)
        if key not in kept:
            kept[key] = self.views(number, self.landmarks)
        return pick(kept[key], task)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_kept_views"}


def name_shares(shares: Tensor) -> dict[str, float]:
    """Shares (V,) by the names of the kernels, without those that are left out, as parts of 1."""
    kept = {
        candidate.name: float(share)
        for candidate, share in zip(CANDIDATES, shares, strict=True)
        if share >= LEAST_SHARE
    }
    total = sum(kept.values())
    return {name: share / total for name, share in kept.items()}


def mix_kernels(views: Views, landmarks: Tensor, p: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
    """c_v = share_v / d_v (V,) and the kernel sum_v c_v k_v among the landmarks (m, m), not yet centred.

    A kernel that does not vary is left out, as are those of hardly any share and those that are for tables only.
    """
    usable = torch.zeros(len(shares), dtype=torch.bool)
    usable[candidates_for(landmarks.shape[1])] = True
    shares = torch.where(usable & (shares >= LEAST_SHARE), shares, 0.0).double()
    used = shares.nonzero().flatten().tolist()
    coefficient, total = torch.zeros_like(shares), landmarks.new_zeros(len(landmarks), len(landmarks))
    for v, kernel in zip(used, landmark_kernels(views, landmarks, used), strict=True):
        diagonal = _mean_diagonal(kernel, p)
        if varies(kernel, p, diagonal):
            coefficient[v] = shares[v] / shares.sum() / diagonal
            total = total + coefficient[v] * kernel
    return coefficient, total


def _mean_diagonal(kernel: Tensor, p: Tensor) -> Tensor:
    """d, of the centred kernel."""
    inner = p @ kernel
    mean: Tensor = p @ (kernel.diagonal() - 2 * inner + p @ inner)
    return mean


def principal_components(kernel: Tensor, p: Tensor, size_out: int, scale: float) -> tuple[Tensor, Tensor]:
    """A (m, K) and b (1, K) such that k(x, Z) A + b are the first principal components, times ``scale``.

    From the eigenvectors v and values l of P^1/2 K_c P^1/2, K_c the centred kernel and P = diag(p): the components
    of the landmarks are l^-1/2 K_c P^1/2 v. Of the two signs each takes the one that makes the largest positive.
    """
    root = p.sqrt()[:, None]  # (m, 1)
    values, vectors = torch.linalg.eigh(root * centre(kernel, p) * p.sqrt())
    size = min(size_out, len(values))
    values, vectors = values.flip(0)[:size], vectors.flip(1)[:, :size]
    kept = values > LEAST_VARIANCE * values[:1].clamp_min(TINY)
    score = vectors / root  # the landmarks' components, up to scale
    sign = torch.where(score.gather(0, score.abs().argmax(0, keepdim=True)) < 0, -1.0, 1.0)
    projection = root * vectors * sign * torch.where(kept, values.clamp_min(TINY).rsqrt(), 0.0)
    projection = scale * projection
    inner = p @ kernel
    offset = (p @ inner - inner) @ projection
    return projection - p[:, None] * projection.sum(0), offset[None]
