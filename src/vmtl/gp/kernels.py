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


class SeenRows(NamedTuple):
    """Some rows under one view (m, K), and the squares of their norms (m,)."""

    rows: Tensor
    norms: Tensor


def see(views: Views, x: Tensor, numbers: list[int]) -> dict[str, SeenRows]:
    """Rows x (n, D) under the views that the kernels ``numbers`` look at, by name."""
    seen = {name: views(name, x) for name in dict.fromkeys(KERNELS[v].view for v in numbers)}
    return {name: SeenRows(u, u.square().sum(-1)) for name, u in seen.items()}


def squared_distances(u: SeenRows, v: SeenRows, products: Tensor) -> Tensor:
    """|u - v|^2 of n and m rows with these inner products (n, m); 0 of a row to itself, not its rounding."""
    norms = u.norms[:, None] + v.norms
    gap = norms - 2 * products
    return gap.masked_fill(gap <= 8 * torch.finfo(gap.dtype).eps * norms, 0.0)


def cross_kernels(u: dict[str, SeenRows], v: dict[str, SeenRows], numbers: list[int]) -> list[Tensor]:
    """(n, m) each, the kernels ``numbers`` of n and m rows; distances are computed where a kernel needs them."""
    kernels = [KERNELS[number] for number in numbers]
    products = {name: seen.rows @ v[name].rows.T for name, seen in u.items()}
    bent = dict.fromkeys(kernel.view for kernel in kernels if kernel.form != "linear")
    distances = {name: squared_distances(u[name], v[name], products[name]) for name in bent}
    return [
        products[kernel.view] if kernel.form == "linear" else radial(kernel.form, distances[kernel.view])
        for kernel in kernels
    ]


def radial(form: str, squared_distances: Tensor) -> Tensor:
    """A kernel of squared distances (n, m)."""
    if form == "gauss":
        return torch.exp(squared_distances / -2)
    return torch.exp((squared_distances / 8).clamp_min(TINY).sqrt() * -1)


def centre(kernel: Tensor, p: Tensor) -> Tensor:
    """The kernel (n, n) of features whose mean under the weights p (n,), which sum to 1, is 0."""
    inner = p @ kernel
    return kernel - inner[:, None] - inner + p @ inner
