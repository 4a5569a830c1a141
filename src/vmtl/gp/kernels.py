"""The kernels that are mixed, each on one view of the rows."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from vmtl.gp.views import TINY, Views, views_for


class Kernel(NamedTuple):
    """One kernel: the view it looks at, and its form."""

    view: str
    form: str

    @property
    def name(self) -> str:
        """``gauss(raw)``: what people read."""
        return f"{self.form}({self.view})"


#: Inner products u . v, exp(-d^2 / 2) and exp(-d / (2 sqrt 2)) of the distance d. The inner product of splines is an
#: additive model.
KERNELS: tuple[Kernel, ...] = (
    Kernel("raw", "linear"),
    Kernel("standard", "linear"),
    Kernel("log", "linear"),
    Kernel("raw", "gauss"),
    Kernel("root", "gauss"),
    Kernel("shrunk", "gauss"),
    Kernel("standard", "gauss"),
    Kernel("standard", "laplace"),
    Kernel("rank", "gauss"),
    Kernel("spline", "linear"),
)

#: Kernels that vary by less than this part of their size are constant but for rounding.
LEAST_VARIATION = 1e-6


def kernels_for(n_columns: int) -> list[int]:
    """Numbers of the kernels for rows of this many columns."""
    views = views_for(n_columns)
    return [v for v, kernel in enumerate(KERNELS) if kernel.view in views]


def evaluate(form: str, products: Tensor, squared_distances: Tensor) -> Tensor:
    """A kernel of inner products and squared distances (n, m)."""
    if form == "linear":
        return products
    if form == "gauss":
        return torch.exp(squared_distances / -2)
    return torch.exp((squared_distances / 8).clamp_min(TINY).sqrt() * -1)


def squared_distances(u: Tensor, v: Tensor, products: Tensor) -> Tensor:
    """|u - v|^2 of points (n, K), (m, K) with these inner products (n, m); 0 of a row to itself, not its rounding."""
    norms = u.square().sum(-1, keepdim=True) + v.square().sum(-1)
    gap = norms - 2 * products
    return gap.masked_fill(gap <= 8 * torch.finfo(u.dtype).eps * norms, 0.0)


def cross_kernels(views: Views, x: Tensor, landmarks: Tensor, numbers: list[int]) -> list[Tensor]:
    """k_v(x, landmarks), (n, m) each, of the kernels ``numbers``; a view is computed once."""
    products: dict[str, Tensor] = {}
    distances: dict[str, Tensor] = {}
    found = []
    for v in numbers:
        kernel = KERNELS[v]
        if kernel.view not in products:
            u = views(kernel.view, x)
            z = u if x is landmarks else views(kernel.view, landmarks)
            products[kernel.view] = u @ z.T
            distances[kernel.view] = squared_distances(u, z, products[kernel.view])
        found.append(evaluate(kernel.form, products[kernel.view], distances[kernel.view]))
    return found


def centre(kernel: Tensor, p: Tensor) -> Tensor:
    """The kernel (n, n) of features whose mean under the weights p (n,), which sum to 1, is 0."""
    inner = p @ kernel
    return kernel - inner[:, None] - inner + p @ inner
