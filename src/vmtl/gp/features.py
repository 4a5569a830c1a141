"""Features z(x): the principal components of the mixed kernel, learned once on training rows."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from vmtl._utils.tensor_module import TensorModule
from vmtl.data.rows import Rows
from vmtl.gp.kernel_search import KernelChoice
from vmtl.gp.kernels import KERNELS, LEAST_VARIATION, centre, cross_kernels
from vmtl.gp.views import TINY, Views

#: Rows among which the kernel is known exactly: of more, this many at random stand for all.
MAX_LANDMARKS = 512
#: Principal components with less than this part of the largest variance are left out.
LEAST_VARIANCE = 1e-7
#: Rows whose features are computed together.
PART_ROWS = 4096


class KernelFeatures(TensorModule):
    """Kernel PCA on landmarks Z, of a mixture of kernels on several views of x.

        k(x, x') = sum_v c_v k_v(x, x'),    z(x) = k(x, Z) P + offset

    where c_v = share_v / d_v and d_v is the mean diagonal of the centred kernel k_v. On the landmarks the features are
    centred, with mean squared norm 1 and components by falling variance.
    """

    views: Views
    landmarks: Tensor  # (m, D)
    coefficient: Tensor  # (V,) c
    projection: Tensor  # (m, K) P
    offset: Tensor  # (K,)

    @classmethod
    def learn(cls, rows: Rows, choice: KernelChoice, seed: int) -> KernelFeatures:
        """The features of raw ``rows``."""
        rows = rows.cpu()
        if len(rows.y) > MAX_LANDMARKS:
            generator = torch.Generator().manual_seed(seed)
            rows = rows.take(torch.randperm(len(rows.y), generator=generator)[:MAX_LANDMARKS].sort().values)
        x, p = rows.x.double(), rows.weight.double() / rows.weight.double().sum()
        views = Views.learn(x, p, choice.relevance)
        used = choice.shares.nonzero().flatten().tolist()
        coefficient, total = torch.zeros(len(KERNELS), dtype=torch.float64), x.new_zeros(len(x), len(x))
        for v, kernel in zip(used, cross_kernels(views, x, x, used), strict=True):
            variation = p @ centre(kernel, p).diagonal()
            if bool(variation > (LEAST_VARIATION * p @ kernel.diagonal()).clamp_min(TINY)):
                coefficient[v] = choice.shares[v] / variation
                total += coefficient[v] * kernel
        projection, offset = principal_components(total, p)
        return cls(views=views, landmarks=x, coefficient=coefficient, projection=projection, offset=offset)

    @property
    def size(self) -> int:
        """K."""
        return self.projection.shape[1]

    def __call__(self, x: Tensor) -> Tensor:
        """(n, K) of raw columns x (n, D)."""
        parts = [self._part(part) for part in x.double().split(PART_ROWS)]
        return torch.cat(parts) if parts else x.new_zeros(0, self.size, dtype=torch.float64)

    def _part(self, x: Tensor) -> Tensor:
        used = self.coefficient.nonzero().flatten().tolist()
        total = x.new_zeros(len(x), len(self.landmarks))
        for v, kernel in zip(used, cross_kernels(self.views, x, self.landmarks, used), strict=True):
            total.add_(kernel, alpha=float(self.coefficient[v]))
        return total @ self.projection + self.offset

    def of(self, rows: Rows) -> Rows:
        """The training rows with features in place of raw columns."""
        return rows.map_columns(partial(_features, self))

    def kernel_shares(self) -> dict[str, float]:
        """How much each kernel of the mixture counts, by name; the shares sum to 1."""
        p = torch.full((len(self.landmarks),), 1 / len(self.landmarks), dtype=torch.float64)
        used = self.coefficient.nonzero().flatten().tolist()
        sizes = {}
        for v, kernel in zip(used, cross_kernels(self.views, self.landmarks, self.landmarks, used), strict=True):
            sizes[KERNELS[v].name] = float(self.coefficient[v] * (p @ centre(kernel, p).diagonal()))
        return {name: size / sum(sizes.values()) for name, size in sizes.items()}


def _features(features: KernelFeatures, x: Tensor) -> Tensor:
    """At module level, so that workers of a folder can receive it."""
    return features(x)


def principal_components(kernel: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    """Projection (m, K) and offset (K,) of a kernel (m, m) among landmarks with weights p (m,).

    The eigenvectors of D^1/2 J k J' D^1/2, D = diag(p), J = I - 1 p'; signs are fixed by the largest entry.
    """
    root = p.sqrt()[:, None]
    values, vectors = torch.linalg.eigh(root * centre(kernel, p) * root.T)
    values, vectors = values.flip(0), vectors.flip(1)
    kept = values > LEAST_VARIANCE * values[:1].clamp_min(TINY)
    kept[0] = True  # a constant kernel has one feature, which is 0
    values, vectors = values[kept], vectors[:, kept]
    score = vectors / root.clamp_min(TINY)
    sign = torch.where(score.gather(0, score.abs().argmax(0, keepdim=True)) < 0, -1.0, 1.0)
    scale = torch.where(values > TINY, values.clamp_min(TINY).rsqrt(), 0.0)
    projection = root * vectors * sign * scale
    inner = p @ kernel
    offset = (p @ inner - inner) @ projection
    return projection - p[:, None] * projection.sum(0), offset
