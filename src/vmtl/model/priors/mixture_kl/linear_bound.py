"""The convex bound of z for a linear encoder, without a (T, N, T, K) tensor: the time hardly grows with tasks.

For z = x W + b + s e and a_ni = f(x_n, D_i), the average of task i for row n, the bound
sum_i beta_ni KL(q(z_n) || q(z | a_ni)) only needs the mean c_n = sum_i beta_ni a_ni of a row's averages, and how they
spread around it:

1/2 sum_k [ s^2 p - 1 - log(s^2 p) + p (m_n - c_n W - b)^2 ] + 1/2 sum_i beta_ni (a_ni - c_n)' W P W' (a_ni - c_n)

where
    m_n = ``q_z.mean`` (T, N, K); W, b = ``encoder.mean`` (D, K), (K,)
    s = the scale of q, ``q_z.scale`` (K,); p = 1 / the variance of the components (K,); P = diag(p)
    a_ni = made once, for features are fixed, (n, T-1, D); c_n (T, N, D)
    beta_ni = ``OtherTasks.weights`` (T, N, T-1)

Nothing of size T and K is built. It pays where D <= K.
"""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.model.attention import STORED, Attention
from vmtl.model.distributions import Gaussian
from vmtl.model.encoders import LinearEncoder
from vmtl.model.priors.base import Context
from vmtl.model.priors.mixture_kl.other_tasks import OtherTasks

#: Numbers in one piece of the table of averages while it is made.
AVERAGES_AT_ONCE = 8_000_000


class LinearBound:
    """The bound of every task's rows, from a table of attention averages."""

    def __init__(self, rows: Rows, encoder: LinearEncoder, attention: Attention, detached: bool) -> None:
        self.encoder, self.detached = encoder, detached
        self.others = OtherTasks(rows, attention.support)
        self._centre = rows.x.mean(0)
        step = max(1, AVERAGES_AT_ONCE // (rows.n_tasks * rows.x.shape[1]))
        centred = rows.x - self._centre
        parts = [
            attention.mix(centred, piece, self.others.index[rows.task[piece]])
            for piece in torch.arange(len(rows.y), device=rows.x.device).split(step)
        ]
        self._averages = torch.cat(parts)  # (n, T-1, D)

    @staticmethod
    def pays(rows: Rows, encoder: LinearEncoder) -> bool:
        """Whether the table is worth its memory."""
        size = rows.x.shape[1]
        return size <= encoder.latent_dim and len(rows.y) * (rows.n_tasks - 1) * size <= STORED

    def kl(self, q_z: Gaussian, context: Context) -> Tensor:
        """The mean KL over the rows of each task: (T,)."""
        bound = self._bound(q_z, self.others.weights(context.beta, context.batch.index), context)
        if self.others.some_alone:  # the bound is 0 for rows whose weights are
            bound = bound + self.others.kl_alone(q_z, context.batch)
        return bound

    def _bound(self, q_z: Gaussian, weights: Tensor, context: Context) -> Tensor:
        batch, layer = context.batch, self.encoder.mean
        slope, bias = layer.weight[0], layer.bias[0, 0]  # (D, K), (K,)
        scale = q_z.scale[0, 0]  # (K,) the same for every row
        prior = scale
        if self.detached:
            slope, bias, prior = slope.detach(), bias.detach(), prior.detach()
        averages = self._averages[batch.index]  # (T, N, T-1, D)
        centre = (weights.unsqueeze(-2) @ averages).squeeze(-2)  # (T, N, D)
        share = batch.weight * weights.sum(-1)  # (T, N)
        ratio = (scale / prior).square()
        distance = ((q_z.mean - (centre + self._centre) @ slope - bias) / prior).square().sum(-1)
        to_centre = (share * ((ratio - 1 - ratio.log()).sum() + distance)).sum(-1)  # (T,)
        metric = slope / prior.square() @ slope.mT  # (D, D)
        square = ((averages @ metric) * averages).sum(-1)  # (T, N, T-1)
        spread = (weights * square).sum(-1) - ((centre @ metric) * centre).sum(-1)  # (T, N)
        return 0.5 * (to_centre + batch.mean(spread))
