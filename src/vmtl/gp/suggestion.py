"""Which labels would tell most: rows chosen one after the other by what they say about all others.

The expected predictive information gain (Smith et al. 2023) of a label y_i is the mutual information of y_i and the
label y_j of another row, summed over the rows j of the pool. Here in closed form, logits being Gaussian under q(w):

gain_i = sum_j sum_c -1/2 log(1 - rho_ijc^2),   rho_ijc^2 = c_ijc^2 / ((v_ic + e_ic) (v_jc + e_jc))

where
    c_ijc = sum_k sigma_tk^2 z_ik z_jk, the covariance of the logits of class c of two rows of task t
    v_ic = c_iic
    e_ic = variance of the label about its logit: 1 / (p (1 - p)) as in Laplace's approximation, p the probability of
        the class, or sigma_t^2 in regression

After each choice the Gaussian is conditioned on a label of that row, whatever it will be: its neighbours are then known
better and tell less, so a batch does not repeat itself. Tasks are independent under q(w), so a row tells nothing about
rows of other tasks.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl._utils.types import Array

if TYPE_CHECKING:
    from vmtl.gp.fitted import FittedGP

#: Numbers of the covariances that are kept, and of the rows j of each task that stand for all, at least and at most.
MAX_COVARIANCES, LEAST_TARGETS, MOST_TARGETS = 2**24, 32, 256
#: A class that is impossible to single precision tells nothing.
LEAST_PRECISION = 1e-12


class TaskPool:
    """The rows of one task, and what is known about their logits after the choices so far."""

    def __init__(self, z: Tensor, scale: Tensor, noise: Tensor, targets: Tensor, same: Tensor) -> None:
        self.z, self.variance_w, self.noise = z, scale.square(), noise  # (N, K + 1), (C, K + 1), (C, N)
        self.targets, self.share = targets, len(z) / len(targets)
        self.covariance = z @ (self.variance_w[:, None] * z[targets]).mT  # (C, N, R)
        self.variance = (z.square() @ self.variance_w.mT).mT  # (C, N)
        self.free = torch.ones(len(z), dtype=torch.bool)
        self._explained: list[Tensor] = []  # (C, N) for every choice
        self.same, self.different = same, len(same.unique())  # (N,) rows that are equal share a number

    def best(self) -> tuple[float, int]:
        """The largest gain among the free rows, and where."""
        total = (self.variance + self.noise).clamp_min(LEAST_PRECISION)
        squared = self.covariance.square() / total[..., None] / total[:, self.targets][:, None]  # (C, N, R)
        gain = -0.5 * self.share * torch.log1p(-squared.clamp(0, 1 - 1e-9)).sum((0, 2))
        value, place = gain.masked_fill(~self.free, -torch.inf).max(0)
        return float(value), int(place)

    def take(self, place: int) -> None:
        """Condition on a label of that row; rows that are the same are not offered again."""
        covariance = (self.z @ (self.variance_w * self.z[place]).mT).mT  # (C, N)
        for explained in self._explained:
            covariance = covariance - explained * explained[:, place, None]
        total = (self.variance[:, place] + self.noise[:, place]).clamp_min(LEAST_PRECISION)
        explained = covariance / total.sqrt()[:, None]
        self._explained.append(explained)
        self.variance = (self.variance - explained.square()).clamp_min(0)
        self.covariance -= explained[..., None] * explained[:, self.targets][:, None]
        self.free &= self.same != self.same[place]


#: Of every task, the numbers of its rows and their pool.
Pools = dict[int, tuple[Array, TaskPool]]


def make_pools(fitted: FittedGP, x: Array, task: Array, seed: int) -> Pools:
    """The pools of the tasks that have rows in x (n, D)."""
    z = F.pad(torch.from_numpy(fitted.features(x, task)), (0, 1), value=1.0)  # (n, K + 1)
    if fitted.is_classification:
        p = torch.from_numpy(fitted.probabilities(x, task).probabilities)
        noise = 1 / (p * (1 - p)).clamp_min(LEAST_PRECISION)  # (n, C)
    else:
        noise = fitted.noise.square()[task][:, None]
    most = MAX_COVARIANCES // (len(x) * noise.shape[1])
    generator = np.random.default_rng(seed)
    pools = {}
    for t in np.unique(task):
        rows = np.flatnonzero(task == t)
        size = min(len(rows), max(LEAST_TARGETS, min(most, MOST_TARGETS)))
        targets = torch.from_numpy(np.sort(generator.choice(len(rows), size, replace=False)))
        same = torch.from_numpy(np.unique(x[rows], axis=0, return_inverse=True)[1].reshape(-1))
        deviation = fitted.weights.deviation[t].expand(noise.shape[1], -1)
        pools[int(t)] = rows, TaskPool(z[rows], deviation, noise[rows].mT, targets, same)
    return pools


def choose(pools: Pools, n: int) -> Iterator[int]:
    """The numbers of ``n`` rows, each the one that tells most after those before."""

    def best(t: int) -> tuple[float, int, int]:
        gain, place = pools[t][1].best()
        return -gain, t, place

    queue = [best(t) for t in pools]
    heapq.heapify(queue)
    for _ in range(n):
        _, t, place = heapq.heappop(queue)
        rows, pool = pools[t]
        yield int(rows[place])
        pool.take(place)
        if bool(pool.free.any()):
            heapq.heappush(queue, best(t))
