"""Views of a row: seven readings of the same columns, so that raw, count, tabular and embedded features all find one.

Everything is learned on the training rows and exact in their weights: weight 2 is the row twice.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vmtl.model.encoders import pick

TINY = 1e-12
VIEWS = ("raw", "standard", "shrunk", "root", "log", "rank", "spline")
#: Views whose rows have unit length.
UNIT_ROWS = ("shrunk", "root", "log")
#: J, functions of each column in the view "spline", and for how many columns there is one: more than that are pixels,
#: counts or an embedding, none of which means something on its own.
WAVES, TABLE_COLUMNS = 6, 100


class Views(nn.Module):
    """``raw`` x; ``standard`` columns divided by their deviation, clipped at 6; ``shrunk`` columns divided by
    deviation + half the mean deviation, unit rows; ``root`` sign(x) sqrt|x|, unit rows; ``log`` sign(x) log(1 + |x|),
    unit rows; ``rank`` the empirical distribution function F of each column; ``spline`` cos(j pi F) / j for
    j = 1 .. J of each column, the eigenfunctions of a smoothing spline: an inner product of it is an additive model.

    Columns count by their ``relevance``, the same in every view.
    If ``standardise`` was chosen, columns are first divided by their deviation, as tables of mixed units need it.
    Values further outside a column's training range than it is wide are clipped: a pixel that was dark in all but one
    training row has a tiny deviation, and a bright one would be thousands of deviations away.
    Each view is centred and divided by its root mean square norm, so that the mean squared distance of two
    training rows is 2 in every view.
    """

    origin: Tensor
    unit: Tensor
    centre: Tensor
    deviation: Tensor
    values: Tensor
    cumulative: Tensor
    relevance: Tensor
    shift: Tensor
    spline_shift: Tensor
    scale: Tensor

    def __init__(self, groups: int, rows: int, size: int) -> None:
        super().__init__()
        self.register_buffer("origin", torch.zeros(groups, 1, size))
        self.register_buffer("unit", torch.ones(groups, 1, size))
        self.register_buffer("centre", torch.zeros(groups, 1, size))
        self.register_buffer("deviation", torch.ones(groups, 1, size))
        self.register_buffer("values", torch.zeros(groups, size, rows))  # sorted values of each column
        self.register_buffer("cumulative", torch.zeros(groups, size, rows + 1))  # weight below each of them
        self.register_buffer("relevance", torch.ones(groups, 1, size))
        self.register_buffer("shift", torch.zeros(groups, len(VIEWS) - 1, 1, size))
        self.register_buffer("spline_shift", torch.zeros(groups, 1, size * WAVES if is_table(size) else 0))
        self.register_buffer("scale", torch.ones(groups, len(VIEWS), 1, 1))

    @classmethod
    def learn(cls, x: Tensor, p: Tensor, standardise: bool, relevance: Tensor | None = None) -> Views:
        """The views of one group of rows x (n, D) with weights p (n,) that sum to 1; ``relevance`` (D,), or all 1."""
        views = cls(1, *x.shape).to(x)
        if relevance is not None:
            views.relevance[0] = relevance
        value, order = x.T.sort(dim=-1)  # (D, n)
        views.values[0] = value
        views.cumulative[0, :, 1:] = p[order].cumsum(-1)
        if standardise:
            views.origin[0] = p @ x
            deviation = (p @ (x - views.origin[0]).square()).sqrt()
            views.unit[0] = torch.where(deviation > 1e-9 * deviation.max(), deviation, 1.0)
        scaled = (x - views.origin[0]) / views.unit[0]
        views.centre[0] = p @ scaled
        views.deviation[0] = (p @ (scaled - views.centre[0]).square()).sqrt()
        for v in views_for(x.shape[1]):
            u = views._view(v, x)
            views._shift(v)[0] = p @ u
            views.scale[0, v] = (p @ (u - p @ u).square().sum(-1)).sqrt().clamp_min(TINY)
        return views

    @classmethod
    def stack(cls, groups: list[Views]) -> Views:
        """One set of views per group, padded to one number of rows."""
        rows = max(group.values.shape[-1] for group in groups)
        stacked = cls(len(groups), rows, groups[0].centre.shape[-1]).to(groups[0].centre)
        for g, group in enumerate(groups):
            size = group.values.shape[-1]
            stacked.values[g] = torch.inf
            stacked.values[g, :, :size] = group.values[0]
            stacked.cumulative[g] = group.cumulative[0, :, -1:]
            stacked.cumulative[g, :, : size + 1] = group.cumulative[0]
            for name in ("origin", "unit", "centre", "deviation", "relevance", "shift", "spline_shift", "scale"):
                stacked.get_buffer(name)[g] = group.get_buffer(name)[0]
        return stacked

    def forward(self, v: int, x: Tensor, task: Tensor | None = None) -> Tensor:
        """View number v of x (T, N, D), normalised."""
        shift, scale = pick(self._shift(v), task), pick(self.scale[:, v], task)
        low, high = self._range(task)
        x = x.clamp(2 * low - high, 2 * high - low)
        normalised: Tensor = (self._view(v, x, task) - shift) / scale
        return normalised

    def _range(self, task: Tensor | None) -> tuple[Tensor, Tensor]:
        """Smallest and largest training value of each column, (1, D) or (T, 1, D); groups are padded with infinity."""
        column = pick(self.values, task)
        return column[..., 0].unsqueeze(-2), column.masked_fill(column.isinf(), -torch.inf).amax(-1).unsqueeze(-2)

    def _shift(self, v: int) -> Tensor:
        """The mean of view number v: (G, 1, D), of splines (G, 1, D J)."""
        return self.spline_shift if VIEWS[v] == "spline" else self.shift[:, v]

    def _view(self, v: int, x: Tensor, task: Tensor | None = None) -> Tensor:
        return weigh_columns(VIEWS[v], self.columns(v, x, task), pick(self.relevance, task))

    def columns(self, v: int, x: Tensor, task: Tensor | None = None) -> Tensor:
        """What view number v makes of each column of x (T, N, D) on its own: as large, of splines (T, N, D J)."""
        name = VIEWS[v]
        if name in ("rank", "spline"):  # of the columns as they are: a rounded quotient would not equal its ties
            rank = self._rank(x, task)
            return rank if name == "rank" else waves(rank)
        x = (x - pick(self.origin, task)) / pick(self.unit, task)
        if name == "raw":
            return x
        if name == "root":
            return x.sign() * x.abs().sqrt()
        if name == "log":
            return x.sign() * x.abs().log1p()
        centre, deviation = pick(self.centre, task), pick(self.deviation, task)
        typical = deviation.mean(-1, keepdim=True) + TINY
        if name == "standard":
            return ((x - centre) / (deviation + 1e-3 * typical)).clamp(-6, 6)
        return (x - centre) / (deviation + 0.5 * typical)

    def _rank(self, x: Tensor, task: Tensor | None) -> Tensor:
        """Weight of the training rows below, plus half of those equal, minus 1/2."""
        column, cumulative = pick(self.values, task), pick(self.cumulative, task)  # (D, m) or (T, D, m)
        if column.dim() == 2:
            return self._rank_of(x.flatten(0, -2).T.contiguous(), column, cumulative).T.reshape(x.shape)
        return self._rank_of(x.mT.contiguous(), column, cumulative).mT

    @staticmethod
    def _rank_of(x: Tensor, column: Tensor, cumulative: Tensor) -> Tensor:
        low = cumulative.gather(-1, torch.searchsorted(column, x))
        high = cumulative.gather(-1, torch.searchsorted(column, x, right=True))
        return 0.5 * (low + high) - 0.5


def is_table(n_columns: int) -> bool:
    """Whether columns mean something one by one."""
    return n_columns <= TABLE_COLUMNS


def views_for(n_columns: int) -> list[int]:
    """Numbers of the views of so many columns: splines are for tables."""
    return [v for v, name in enumerate(VIEWS) if name != "spline" or is_table(n_columns)]


def waves(rank: Tensor) -> Tensor:
    """cos(j pi (rank + 1/2)) / j of ranks (..., D) between -1/2 and 1/2, j = 1 .. J: (..., D J), column by column."""
    j = torch.arange(1, WAVES + 1, dtype=rank.dtype, device=rank.device)
    return (torch.cos(torch.pi * j * (rank[..., None] + 0.5)) / j).flatten(-2)


def weigh_columns(view: str, columns: Tensor, relevance: Tensor) -> Tensor:
    """The ``columns`` (..., D or D J) of a view, each as much as its ``relevance`` (..., D) says; rows of unit length
    where the view has them."""
    functions = columns.shape[-1] // relevance.shape[-1]  # of each column
    weighed = columns * (relevance if functions == 1 else relevance.repeat_interleave(functions, -1))
    return F.normalize(weighed, dim=-1, eps=TINY) if view in UNIT_ROWS else weighed
