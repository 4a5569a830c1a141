"""The convex bound of z for a linear encoder, without a (T, N, T, K) tensor: the time hardly grows with tasks."""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl.data.rows import Batch, Rows
from vmtl.model.attention import STORED, Attention
from vmtl.model.distributions import Gaussian
from vmtl.model.encoders import Encoder, LinearEncoder

#: Numbers in one piece of the table of averages while it is made.
CHUNK = 8_000_000


class LinearBound:
    """sum_i weight_ni KL(q(z_n) || q(z | a_ni)), a_ni = what task i offers row n, for z = x W + b + s e.

    Features are fixed, so the averages a_ni are made once, (n, T-1, D). All components share one scale, so the
    bound only needs the mean c_n = sum_i weight_ni a_ni of a row's averages, and how they spread around it:

    1/2 sum_k [ s^2 p - 1 - log(s^2 p) + p (m_n - c_n W - b)^2 ] + 1/2 sum_i weight_ni (a_ni - c_n)' W P W' (a_ni - c_n)

    where p = 1 / the variance of the components; P = diag(p). Nothing of size T and K is built. Worth it where D <= K.
    """

    def __init__(self, rows: Rows, attention: Attention, others: Tensor) -> None:
        self._centre = rows.x.mean(0)
        step = max(1, CHUNK // (rows.n_tasks * rows.x.shape[1]))
        index = torch.arange(len(rows.y), device=rows.x.device)
        parts = [attention.mix(rows.x - self._centre, own, others[rows.task[own]]) for own in index.split(step)]
        self._averages = torch.cat(parts)  # (n, T-1, D)

    @staticmethod
    def fits(encoder: Encoder, rows: Rows) -> bool:
        """Whether the table is worth its memory."""
        size = rows.x.shape[1]
        linear = isinstance(encoder, LinearEncoder) and size <= encoder.latent_dim
        return linear and len(rows.y) * (rows.n_tasks - 1) * size <= STORED

    def kl(self, q: Gaussian, encoder: LinearEncoder, weights: Tensor, batch: Batch, detached: bool) -> Tensor:
        """(T,): the mean over the rows of each task; rows whose weights (T, N, T-1) are all 0 count 0."""
        slope, bias = encoder.mean.weight[0], encoder.mean.bias[0, 0]
        scale = q.scale[0, 0]  # (K,) the same for every row
        prior = scale
        if detached:
            slope, bias, prior = slope.detach(), bias.detach(), prior.detach()
        averages = self._averages[batch.index]  # (T, N, T-1, D)
        centre = (weights.unsqueeze(-2) @ averages).squeeze(-2)  # (T, N, D)
        share = batch.weight * weights.sum(-1)  # (T, N)
        ratio = (scale / prior).square()
        distance = ((q.mean - (centre + self._centre) @ slope - bias) / prior).square().sum(-1)
        own = (share * ((ratio - 1 - ratio.log()).sum() + distance)).sum(-1)  # (T,)
        metric = slope / prior.square() @ slope.mT  # (D, D)
        square = ((averages @ metric) * averages).sum(-1)  # (T, N, T-1)
        spread = (weights * square).sum(-1) - ((centre @ metric) * centre).sum(-1)  # (T, N)
        return 0.5 * (own + batch.mean(spread))
