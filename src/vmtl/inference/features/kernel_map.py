"""Kernel features: the principal components of a mixture of kernels, learned once on the training rows."""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl.inference.features.feature_map import FeatureMap
from vmtl.inference.features.views import TINY, VIEWS, Views
from vmtl.model.encoders import pick

#: The kernels that are mixed: view, kind, width. Inner products, exp(-d^2 / 2w) and exp(-d / (w sqrt 2)).
CANDIDATES: tuple[tuple[str, str, float], ...] = (
    ("raw", "linear", 1.0),
    ("standard", "linear", 1.0),
    ("log", "linear", 1.0),
    ("raw", "gauss", 0.5),
    ("raw", "gauss", 1.0),
    ("root", "gauss", 0.5),
    ("root", "gauss", 1.0),
    ("log", "gauss", 1.0),
    ("shrunk", "gauss", 0.5),
    ("shrunk", "gauss", 1.0),
    ("standard", "gauss", 1.0),
    ("standard", "laplace", 2.0),
    ("rank", "gauss", 1.0),
)
#: Kernels with a smaller share are left out.
LEAST_SHARE = 1e-4
#: So are kernels of which centring leaves less than this part of the mean diagonal: constant, in single precision.
LEAST_VARIATION = 1e-6


class KernelMap(FeatureMap):
    """Kernel PCA on landmarks, of a mixture of kernels on several views of x.

    k(x, x') = sum_v share_v k_v(x, x') / d_v, d_v the mean diagonal of the centred kernel k_v

    Features are h(x) = k(x, Z) A + b, where Z = the landmarks (G, m, D), A = ``projection`` (G, m, K) and
    b = ``offset`` (G, 1, K): centred on the landmarks, mean squared norm scale^2, dimensions by falling variance.
    """

    landmarks: Tensor
    weight: Tensor
    coefficient: Tensor
    projection: Tensor
    offset: Tensor

    def __init__(self, groups: int, landmarks: int, size_in: int, size_out: int) -> None:
        super().__init__()
        self.views = Views(groups, landmarks, size_in)
        self.register_buffer("landmarks", torch.zeros(groups, landmarks, size_in))
        self.register_buffer("weight", torch.zeros(groups, landmarks))
        self.register_buffer("coefficient", torch.zeros(groups, len(CANDIDATES)))
        self.register_buffer("projection", torch.zeros(groups, landmarks, size_out))
        self.register_buffer("offset", torch.zeros(groups, 1, size_out))

    @classmethod
    def learn(cls, x: Tensor, weight: Tensor, standardise: bool) -> KernelMap:
        """A map with the rows x (n, D) as landmarks; ``mix`` gives it its kernel."""
        x, weight = x.double(), weight.double()
        made = cls(1, len(x), x.shape[1], 1).double()
        made.landmarks[0], made.weight[0] = x, weight / weight.sum()
        made.views = Views.learn(x, made.weight[0], standardise)
        return made

    def centred_kernels(self) -> Tensor:
        """Every candidate on the landmarks, centred, with mean diagonal 1: (V, m, m)."""
        p, parts = self.weight[0], []
        for part in self._kernels(self.landmarks, None, torch.ones(len(CANDIDATES))):
            inner = p @ part[0]
            centred = part[0] - inner[:, None] - inner + p @ inner
            diagonal = p @ centred.diagonal()
            parts.append(centred / diagonal if self._varies(part[0], diagonal) else torch.zeros_like(centred))
        return torch.stack(parts)

    def _varies(self, kernel: Tensor, diagonal: Tensor) -> bool:
        """Whether a candidate on the landmarks (m, m) says more than rounding, by its mean diagonal when centred."""
        return bool(diagonal > (LEAST_VARIATION * self.weight[0] @ kernel.diagonal()).clamp_min(TINY))

    def mix(self, shares: Tensor, size_out: int, scale: float = 1.0) -> KernelMap:
        """Fix the kernel's shares and find its first ``size_out`` principal components, times ``scale``."""
        shares = torch.where(shares < LEAST_SHARE, 0.0, shares).double()
        self.coefficient.zero_()
        p, kernel = self.weight[0], self.landmarks.new_zeros(2 * self.weight.shape[1:])
        for v, part in zip(
            shares.nonzero().flatten().tolist(), self._kernels(self.landmarks, None, shares), strict=True
        ):
            inner = p @ part[0]
            diagonal = p @ (part[0].diagonal() - 2 * inner + p @ inner)
            if self._varies(part[0], diagonal):
                self.coefficient[0, v] = shares[v] / shares.sum() / diagonal
                kernel = kernel + self.coefficient[0, v] * part[0]
        inner = p @ kernel
        centred = kernel - inner[:, None] - inner + p @ inner
        values, vectors = torch.linalg.eigh(p.sqrt()[:, None] * centred * p.sqrt())
        size = min(size_out, len(values))
        values, vectors = values.flip(0)[:size], vectors.flip(1)[:, :size]
        kept = values > 1e-7 * values[:1].clamp_min(TINY)
        score = vectors / p.sqrt()[:, None]  # the landmarks' own features, up to scale: the largest is made positive
        sign = torch.where(score.gather(0, score.abs().argmax(0, keepdim=True)) < 0, -1.0, 1.0)
        projection = p.sqrt()[:, None] * vectors * sign * torch.where(kept, values.clamp_min(TINY).rsqrt(), 0.0)
        projection = scale * projection
        self.projection = (projection - p[:, None] * projection.sum(0))[None].contiguous()  # eigenvectors lie by column
        self.offset = ((p @ inner - inner) @ projection)[None, None]
        return self

    @classmethod
    def stack(cls, maps: list[KernelMap]) -> KernelMap:
        """One map per task, padded to one size."""
        shapes = [(m.landmarks.shape[1], m.projection.shape[2]) for m in maps]
        rows, size = max(r for r, _ in shapes), max(k for _, k in shapes)
        made = cls(len(maps), rows, maps[0].landmarks.shape[2], size).double()
        made.views = Views.stack([part.views for part in maps])
        for group, (part, (r, k)) in enumerate(zip(maps, shapes, strict=True)):
            made.landmarks[group, :r], made.weight[group, :r] = part.landmarks[0], part.weight[0]
            made.projection[group, :r, :k] = part.projection[0]
            made.offset[group, :, :k] = part.offset[0]
            made.coefficient[group] = part.coefficient[0]
        return made

    def forward(self, x: Tensor, task: Tensor | None = None) -> Tensor:
        coefficient = pick(self.coefficient, task)  # (V,) or (T, V)
        used = self.coefficient.ne(0).any(0)
        total = x.new_zeros(*x.shape[:-1], self.landmarks.shape[1])
        for v, part in zip(used.nonzero().flatten().tolist(), self._kernels(x, task, used), strict=True):
            total = torch.addcmul(total, coefficient[..., v].reshape(-1, *[1] * (x.dim() - 1)), part)
        return total @ pick(self.projection, task) + pick(self.offset, task)

    def _kernels(self, x: Tensor, task: Tensor | None, shares: Tensor) -> list[Tensor]:
        """k_v(x, landmarks) of every candidate whose share is not 0, in order: (T, N, m) each."""
        inner: dict[str, Tensor] = {}
        square: dict[str, Tensor] = {}
        found = []
        for v in shares.nonzero().flatten().tolist():
            view, kind, width = CANDIDATES[v]
            if view not in inner:
                number = VIEWS.index(view)
                u = self.views(number, x, task)
                z = self._landmark_view(number, task)
                inner[view] = u @ z.mT
                norms = u.square().sum(-1, keepdim=True) + z.square().sum(-1).unsqueeze(-2)
                square[view] = (norms - 2 * inner[view]).clamp_min(0)
            if kind == "linear":
                found.append(inner[view])
            elif kind == "gauss":
                found.append(torch.exp(square[view] / (-2 * width)))
            else:
                found.append(torch.exp((square[view] / 2).sqrt() / -width))
        return found

    def _landmark_view(self, number: int, task: Tensor | None) -> Tensor:
        """A view of the landmarks, kept after the first call."""
        kept = self.__dict__.setdefault("_kept_views", {})
        key = (number, self.landmarks.dtype, self.landmarks.device)
        if key not in kept:
            kept[key] = self.views(number, self.landmarks)
        return pick(kept[key], task)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_kept_views"}
