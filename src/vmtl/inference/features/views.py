"""Views of a row: six readings of the same columns, so that raw, count, tabular and embedded features all find one.

Everything is learned on the training rows and exact in their weights: weight 2 is the row twice.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vmtl.model.encoders import pick

TINY = 1e-12
VIEWS = ("raw", "standard", "shrunk", "root", "log", "rank")


class Views(nn.Module):
    """``raw`` x; ``standard`` columns divided by their deviation, clipped at 6; ``shrunk`` columns divided by
    deviation + half the mean deviation, unit rows; ``root`` sign(x) sqrt|x|, unit rows; ``log`` sign(x) log(1 + |x|),
    unit rows; ``rank`` the empirical distribution function of each column.

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
    shift: Tensor
    scale: Tensor

    def __init__(self, groups: int, rows: int, size: int) -> None:
        super().__init__()
        self.register_buffer("origin", torch.zeros(groups, 1, size))
        self.register_buffer("unit", torch.ones(groups, 1, size))
        self.register_buffer("centre", torch.zeros(groups, 1, size))
        self.register_buffer("deviation", torch.ones(groups, 1, size))
        self.register_buffer("values", torch.zeros(groups, size, rows))  # sorted values of each column
        self.register_buffer("cumulative", torch.zeros(groups, size, rows + 1))  # weight below each of them
        self.register_buffer("shift", torch.zeros(groups, len(VIEWS), 1, size))
        self.register_buffer("scale", torch.ones(groups, len(VIEWS), 1, 1))

    @classmethod
    def learn(cls, x: Tensor, p: Tensor, standardise: bool) -> Views:
        """The views of one group of rows x (n, D) with weights p (n,) that sum to 1."""
        views = cls(1, *x.shape).to(x)
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
        for v in range(len(VIEWS)):
            u = views._view(v, x)
            views.shift[0, v] = p @ u
            views.scale[0, v] = (p @ (u - views.shift[0, v]).square().sum(-1)).sqrt().clamp_min(TINY)
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
            for name in ("origin", "unit", "centre", "deviation", "shift", "scale"):
                stacked.get_buffer(name)[g] = group.get_buffer(name)[0]
        return stacked

    def forward(self, v: int, x: Tensor, task: Tensor | None = None) -> Tensor:
        """View number v of x (T, N, D), normalised."""
        shift, scale = pick(self.shift[:, v], task), pick(self.scale[:, v], task)
        low, high = self._range(task)
        x = x.clamp(2 * low - high, 2 * high - low)
        normalised: Tensor = (self._view(v, x, task) - shift) / scale
        return normalised

    def _range(self, task: Tensor | None) -> tuple[Tensor, Tensor]:
        """Smallest and largest training value of each column, (1, D) or (T, 1, D); groups are padded with infinity."""
        column = pick(self.values, task)
        return column[..., 0].unsqueeze(-2), column.masked_fill(column.isinf(), -torch.inf).amax(-1).unsqueeze(-2)

    def _view(self, v: int, x: Tensor, task: Tensor | None = None) -> Tensor:
        name = VIEWS[v]
        if name == "rank":  # of the columns as they are: a rounded quotient would no longer equal its ties
            return self._rank(x, task)
        x = (x - pick(self.origin, task)) / pick(self.unit, task)
        if name == "raw":
            return x
        if name == "root":
            return F.normalize(x.sign() * x.abs().sqrt(), dim=-1, eps=TINY)
        if name == "log":
            return F.normalize(x.sign() * x.abs().log1p(), dim=-1, eps=TINY)
        centre, deviation = pick(self.centre, task), pick(self.deviation, task)
        typical = deviation.mean(-1, keepdim=True) + TINY
        if name == "standard":
            return ((x - centre) / (deviation + 1e-3 * typical)).clamp(-6, 6)
        return F.normalize((x - centre) / (deviation + 0.5 * typical), dim=-1, eps=TINY)

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
