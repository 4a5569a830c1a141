"""Views of a row: transformations of its columns, so that tables, text, counts, pixels and embeddings each find one.

Everything is learned on the training rows and exact in their weights: weight 2 is the row twice.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl._utils.tensor_module import TensorModule

TINY = 1e-12
#: Views of any data, and those of tables only.
ANY_VIEWS, TABLE_VIEWS = ("raw", "shrunk", "root", "log"), ("standard", "rank", "spline")
VIEWS = (*ANY_VIEWS, *TABLE_VIEWS)
#: Views whose rows have unit length.
UNIT_ROWS = ("shrunk", "root", "log")
#: Basis functions of each column in the view "spline".
N_BASIS = 6
ORDERS = torch.arange(1, N_BASIS + 1, dtype=torch.float64)
FREQUENCIES = torch.pi * ORDERS
#: Data with more columns are pixels, counts or an embedding: no column means something on its own.
TABLE_COLUMNS = 100
#: Standardised values are clipped here.
CLIP = 6.0
#: The part of its mean square below which the variance of a view is rounding.
CONSTANT = 1e-20


def is_table(n_columns: int) -> bool:
    """Whether columns mean something one by one."""
    return n_columns <= TABLE_COLUMNS


def views_for(n_columns: int) -> tuple[str, ...]:
    """The views of rows with this many columns."""
    return VIEWS if is_table(n_columns) else ANY_VIEWS


class Views(TensorModule):
    """The views of rows x (n, D), learned on training rows.

    - ``raw``: x;
    - ``standard``: columns divided by their standard deviation, clipped at 6;
    - ``shrunk``: columns divided by deviation + half the mean deviation, rows of unit length;
    - ``root``: sign(x) sqrt|x|, rows of unit length;
    - ``log``: sign(x) log(1 + |x|), rows of unit length;
    - ``rank``: the empirical distribution function F of each column, minus 1/2;
    - ``spline``: cos(j pi F) / j for j = 1 .. J of each column, the eigenfunctions of a smoothing spline; an inner
      product of it is an additive model.

    Columns are multiplied by their ``relevance`` in every view. Values further outside a column's training range than
    that range is wide are clipped. Each view is centred and divided by its root mean square norm, so that the mean
    squared distance of two training rows is 2 in every view.
    """

    values: Tensor  # (D, n) sorted training values of each column
    cumulative: Tensor  # (D, n + 1) weight below each of them
    centre: Tensor  # (D,)
    deviation: Tensor  # (D,)
    relevance: Tensor  # (D,)
    shift: Tensor  # (V, D or D J) mean of each view, padded
    scale: Tensor  # (V,) root mean square norm of each view

    @classmethod
    def learn(cls, x: Tensor, p: Tensor, relevance: Tensor | None = None) -> Views:
        """The views of rows x (n, D) with weights p (n,) that sum to 1; ``relevance`` (D,), 1 if None."""
        n_columns = x.shape[1]
        names = views_for(n_columns)
        value, order = x.T.contiguous().sort(dim=-1)
        cumulative = torch.cat([p.new_zeros(n_columns, 1), p[order].cumsum(-1)], 1)
        centre = p @ x
        views = cls(
            values=value,
            cumulative=cumulative,
            centre=centre,
            deviation=(p @ (x - centre).square()).sqrt(),
            relevance=torch.ones_like(centre) if relevance is None else relevance.to(x),
            shift=x.new_zeros(len(names), n_columns * (N_BASIS if is_table(n_columns) else 1)),
            scale=x.new_ones(len(names)),
        )
        for v, name in enumerate(names):
            u = weigh_columns(name, views.columns(name, x), views.relevance)
            mean = p @ u
            views.shift[v, : u.shape[1]] = mean
            spread, size = p @ (u - mean).square().sum(-1), p @ u.square().sum(-1)
            if spread > CONSTANT * size:  # else rows are alike but for rounding
                views.scale[v] = spread.sqrt()
        return views

    def __call__(self, name: str, x: Tensor) -> Tensor:
        """The view ``name`` of x (n, D), centred and scaled."""
        v = VIEWS.index(name)
        low, high = self.values[:, 0], self.values[:, -1]
        x = x.clamp(2 * low - high, 2 * high - low)
        u = weigh_columns(name, self.columns(name, x), self.relevance)
        return u / self.scale[v] - self.shift[v, : u.shape[1]] / self.scale[v]  # a last factor would be rounded in ONNX

    def columns(self, name: str, x: Tensor) -> Tensor:
        """What a view makes of each column of x (n, D) by itself: (n, D), of splines (n, D J)."""
        if name == "raw":
            return x
        if name == "root":
            return x.sign() * x.abs().sqrt()
        if name == "log":
            return x.sign() * x.abs().log1p()
        if name == "rank":
            return self._rank(x)
        if name == "spline":
            return spline_basis(self._rank(x))
        typical = self.deviation.mean() + TINY
        if name == "standard":
            return ((x - self.centre) / (self.deviation + typical / 1000)).clamp(-CLIP, CLIP)
        return (x - self.centre) / (self.deviation + 0.5 * typical)

    def _rank(self, x: Tensor) -> Tensor:
        """Weight of the training rows below, plus half of those equal, minus 1/2: (n, D)."""
        column = x.T.contiguous()
        low = self.cumulative.gather(1, torch.searchsorted(self.values, column))
        high = self.cumulative.gather(1, torch.searchsorted(self.values, column, right=True))
        return (0.5 * (low + high) - 0.5).T


def spline_basis(rank: Tensor) -> Tensor:
    """cos(j pi (rank + 1/2)) / j of ranks (n, D) between -1/2 and 1/2, j = 1 .. J: (n, D J), column by column."""
    return (torch.cos(FREQUENCIES * (rank[..., None] + 0.5)) / ORDERS).flatten(-2)


def weigh_columns(view: str, columns: Tensor, relevance: Tensor) -> Tensor:
    """The ``columns`` (n, D or D J) of a view times their ``relevance`` (D,), in rows of unit length if it has them."""
    repeats = columns.shape[-1] // len(relevance)
    weighed = columns * (relevance if repeats == 1 else relevance.repeat_interleave(repeats))
    return F.normalize(weighed, dim=-1, eps=TINY) if view in UNIT_ROWS else weighed
