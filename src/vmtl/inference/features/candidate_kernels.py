"""The kernels that are mixed: fourteen, each on one view of the rows; the last one is for tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from vmtl.inference.features.views import TINY, VIEWS, Views, views_for


class Candidate(NamedTuple):
    """One kernel: the view it looks at, its kind, its width."""

    view: str
    kind: str
    width: float

    @property
    def name(self) -> str:
        """What people read: ``gauss(raw, 0.5)``; an inner product has no width."""
        return f"linear({self.view})" if self.kind == "linear" else f"{self.kind}({self.view}, {self.width:g})"


#: Inner products, exp(-d^2 / 2w) and exp(-d / (w sqrt 2)) of the distance d, w the width. The inner product of splines
#: is an additive model.
CANDIDATES: tuple[Candidate, ...] = (
    Candidate("raw", "linear", 1.0),
    Candidate("standard", "linear", 1.0),
    Candidate("log", "linear", 1.0),
    Candidate("raw", "gauss", 0.5),
    Candidate("raw", "gauss", 1.0),
    Candidate("root", "gauss", 0.5),
    Candidate("root", "gauss", 1.0),
    Candidate("log", "gauss", 1.0),
    Candidate("shrunk", "gauss", 0.5),
    Candidate("shrunk", "gauss", 1.0),
    Candidate("standard", "gauss", 1.0),
    Candidate("standard", "laplace", 2.0),
    Candidate("rank", "gauss", 1.0),
    Candidate("spline", "linear", 1.0),
)

#: Kernels of which centring leaves less than this part of the mean diagonal are constant, in single precision.
LEAST_VARIATION = 1e-6


def candidates_for(n_columns: int) -> list[int]:
    """Numbers of the candidates for rows of so many columns."""
    views = views_for(n_columns)
    return [v for v, candidate in enumerate(CANDIDATES) if VIEWS.index(candidate.view) in views]


#: The rows and the landmarks in the view of that number: (T, N, D) and (m, D) or (T, m, D).
ViewPair = Callable[[int], tuple[Tensor, Tensor]]


def evaluate_kernels(view_pair: ViewPair, numbers: Iterable[int]) -> list[Tensor]:
    """k_v(x, landmarks) of the candidates ``numbers``, in that order: (T, N, m) each.

    Inner products and distances are computed once per view.
    """
    products: dict[str, Tensor] = {}
    distances: dict[str, Tensor] = {}  # squared
    kernels = []
    for v in numbers:
        view, kind, width = CANDIDATES[v]
        if view not in products:
            u, z = view_pair(VIEWS.index(view))
            products[view] = u @ z.mT
            norms = u.square().sum(-1, keepdim=True) + z.square().sum(-1).unsqueeze(-2)
            gap = torch.sub(norms, products[view], alpha=2)
            rounding = norms.mul_(8 * torch.finfo(u.dtype).eps)
            distances[view] = gap.masked_fill_(gap <= rounding, 0.0)  # of a row to itself 0, not its rounding
        if kind == "linear":
            kernels.append(products[view])
        elif kind == "gauss":
            kernels.append(distances[view].div(-2 * width).exp_())
        else:
            kernels.append(distances[view].div(2).sqrt_().div(-width).exp_())
    return kernels


def landmark_kernels(views: Views, landmarks: Tensor, numbers: Iterable[int]) -> list[Tensor]:
    """The same among the landmarks (m, D) of one group: (m, m) each."""

    def view_pair(number: int) -> tuple[Tensor, Tensor]:
        u = views(number, landmarks[None])
        return u, u[0]

    return [kernel[0] for kernel in evaluate_kernels(view_pair, numbers)]


def centre(kernel: Tensor, p: Tensor) -> Tensor:
    """The kernel (m, m) of features whose mean under the weights p (m,), which sum to 1, is 0."""
    inner = p @ kernel
    return (kernel - inner[:, None]).sub_(inner).add_(p @ inner)


def varies(kernel: Tensor, p: Tensor, centred_diagonal: Tensor) -> bool:
    """Whether a kernel (m, m) says more than rounding, by its mean diagonal once it is centred."""
    return bool(centred_diagonal > (LEAST_VARIATION * p @ kernel.diagonal()).clamp_min(TINY))


def centred_kernels(x: Tensor, weight: Tensor, standardise: bool) -> Tensor:
    """The candidates for rows x (n, D) among them, centred, with mean diagonal 1, or 0 if constant: (V, n, n)."""
    x, p = x.double(), weight.double()
    p = p / p.sum()
    numbers = candidates_for(x.shape[1])
    kernels = x.new_zeros(len(numbers), len(x), len(x))
    for v, kernel in enumerate(landmark_kernels(Views.learn(x, p, standardise), x, numbers)):
        centred = centre(kernel, p)
        diagonal = p @ centred.diagonal()
        if varies(kernel, p, diagonal):
            torch.div(centred, diagonal, out=kernels[v])
    return kernels
