"""The mixture of kernels as a function of how much each column counts, among some rows."""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl.inference.features.candidate_kernels import CANDIDATES
from vmtl.inference.features.views import VIEWS, Views, weigh_columns

#: Kernels with a smaller share are left out of the search.
LEAST_SHARE = 2e-3
#: Rows and kernels that vary by less than this part of their size are constant but for rounding, in single precision.
LEAST_VARIATION = 1e-5
#: Under the root of a squared distance, so that it has a slope at 0.
ROUNDING = 1e-7


class WeighedKernel:
    """k = sum_v share_v k_v / d_v among n rows, centred, where d_v is the mean diagonal of the centred k_v.

    Everything can be differentiated, in single precision: it only says where to go.

    Parameters
    ----------
    x : Tensor of shape (n, D)
        The rows.
    p : Tensor of shape (n,)
        Their weights, which sum to 1.
    standardise : bool
        Whether columns are first divided by their deviation.
    numbers : list of int
        The candidates that shares are given for.
    """

    def __init__(self, x: Tensor, p: Tensor, standardise: bool, numbers: list[int]) -> None:
        views = Views.learn(x, p, standardise)
        self.candidates, self.p = [CANDIDATES[v] for v in numbers], p.float()
        self.columns = {
            view: views.columns(VIEWS.index(view), x[None])[0].float()  # (n, D), of splines (n, D J)
            for view in dict.fromkeys(candidate.view for candidate in self.candidates)
        }

    def __call__(self, shares: Tensor, relevance: Tensor) -> Tensor:
        """The kernel (n, n) of ``shares`` (V,) if columns count by ``relevance`` (D,)."""
        shares, relevance, p = shares.float(), relevance.float(), self.p
        products: dict[str, Tensor] = {}
        total = p.new_zeros(len(p), len(p))
        for share, (view, kind, width) in zip(shares, self.candidates, strict=True):
            if float(share.detach()) < LEAST_SHARE:
                continue
            if view not in products:
                products[view] = self._products(view, relevance)
            kernel = _kernel(products[view], kind, width)
            size = p @ kernel.diagonal()
            variation = size - p @ kernel @ p  # d_v
            if float(variation.detach()) > LEAST_VARIATION * float(size.detach()):
                total = total + (share / variation) * kernel
        inner = p @ total
        return total - inner[:, None] - inner + p @ inner

    def _products(self, view: str, relevance: Tensor) -> Tensor:
        """Inner products of the rows in a view, centred and with mean squared norm 1, or 0 if all are alike: (n, n)."""
        u = weigh_columns(view, self.columns[view], relevance)
        centred = u - self.p @ u
        spread = self.p @ centred.square().sum(-1)
        if float(spread.detach()) <= LEAST_VARIATION**2 * float(self.p @ u.detach().square().sum(-1)):
            return u.new_zeros(len(u), len(u))
        return centred @ centred.T / spread


def _kernel(products: Tensor, kind: str, width: float) -> Tensor:
    """A candidate of inner products, (n, n) as they are."""
    if kind == "linear":
        return products
    norms = products.diagonal()
    distance = (norms[:, None] + norms - 2 * products).clamp_min(0)  # squared
    if kind == "gauss":
        return torch.exp(distance / (-2 * width))
    return torch.exp((distance / 2 + ROUNDING).sqrt() / -width)
