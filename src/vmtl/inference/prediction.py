"""Predictions of a fitted model (Eq. 12), and where their uncertainty comes from.

p(y | x) ~ 1/(L M) sum_l sum_m p(y | z^l, w^m),   z^l ~ q(z | x), w^m ~ q(w_t)

where
    z^l = draws of ``model.encoder(features)`` (G, L, B, K), L = ``predict_z``
    w^m = draws of ``Predictor.q_w`` (T, C, K + 1) as draws of the logits given z, M = ``predict_w``
    p(y | z, w) = softmax(s0 w . [z; 1]); in regression N(s0 w . [z; 1], sigma_t^2)

Where we depart from the paper: this average is ``predictive="monte-carlo"``. The default, ``"moment"``, draws nothing:
it takes mean and variance of the logits in closed form (``vmtl.model.logits.logit_moments``) and shrinks the mean by
the variance; ``"mean"`` takes the means of z and w alone. Where a forest has a share v
(``vmtl.inference.forest``), it is one draw more, of that weight: p becomes (1 - v) p + v q.

Rows run in zero-padded blocks of two fixed shapes, and random numbers are shared by all rows, so that a
prediction does not depend on batch size, row order or what else is predicted, but for the rounding of a matrix product,
which on some processors differs from one place in a block to another. A task that was there before the features grew
has no weight for those that came later, and is predicted without them: to the bit as before.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from vmtl._utils.noise import antithetic
from vmtl._utils.types import Array
from vmtl.inference.features.feature_map import FeatureMap
from vmtl.inference.features.feature_parts import feature_parts
from vmtl.inference.forest.trees import Forest
from vmtl.model.distributions import Gaussian, Posterior
from vmtl.model.likelihoods import GaussianNoise
from vmtl.model.logits import affine, logit_moments
from vmtl.model.model import Model
from vmtl.results.predictions import ClassPrediction, Probabilities, RealPrediction

#: A block is CELLS cells of CELL_ROWS rows, each cell of one task; FEW_CELLS where no more are filled, as by one row.
CELLS, FEW_CELLS, CELL_ROWS = 8, 2, 32
#: How much the variance of a logit shrinks it. MacKay's pi / 8 is for two classes and under-confident on many.
SHRINKAGE = 0.2
#: Draws that split the uncertainty in the moment predictive.
MOMENT_DRAWS = 32


class Predictor:
    """A fitted model, ready to predict: q(w) and the shared draws are computed once."""

    def __init__(
        self, feature_map: FeatureMap, model: Model, mode: str, seed: int, forest: Forest | None = None
    ) -> None:
        self.feature_map, self.model, self.mode, self.forest = feature_map, model, mode, forest
        self.device, self.dtype = model.task_rows.device, model.task_rows.dtype
        with torch.no_grad():
            self.q_w: Posterior = model.q_w()
            self.scale = model.logit_scale
        self._parts = feature_parts(feature_map, model, self.q_w)
        settings = model.settings
        generator = torch.Generator().manual_seed(seed)
        sizes, outputs = [part.encoder.latent_dim for part in self._parts], self.q_w.mean.shape[1]
        first = self._draw(generator, settings.predict_z, sizes[0])
        self._eps_w = self._draw(generator, settings.predict_z * settings.predict_w, outputs)  # (L*M, C)
        self._eps_moment = self._draw(generator, MOMENT_DRAWS, outputs)
        later = [self._draw(generator, settings.predict_z, b - a) for a, b in itertools.pairwise(sizes)]
        self._eps_z = torch.cat([first, *later], 1)  # (L, K)

    def _draw(self, generator: torch.Generator, draws: int, size: int) -> Tensor:
        """Antithetic pairs of standard normal draws."""
        half = torch.randn((draws + 1) // 2, size, generator=generator, dtype=torch.float64)
        return antithetic(half, draws).to(self.device, self.dtype)

    @torch.no_grad()
    def probabilities(self, x: Array, task: Array) -> Probabilities:
        """Class probabilities of the rows ``x`` (n, D) of the tasks ``task`` (n,)."""
        probabilities = np.empty((len(task), self.q_w.mean.shape[1]), dtype=_numpy_dtype(self.dtype))
        for rows, place, q_z, q_w in self._blocks(x, task):
            p, _ = self._class_block(q_z, q_w, split=False)
            p = p.flatten(0, 1)[place]
            if self.forest is not None:
                p = self.forest.join(p, self.forest(self._raw(x, rows)))
            probabilities[rows] = p.cpu().numpy()
        return Probabilities(probabilities)

    @torch.no_grad()
    def classes(self, x: Array, task: Array) -> ClassPrediction:
        """The same, and where the uncertainty comes from."""
        n_classes = self.q_w.mean.shape[1]
        probabilities = np.empty((len(task), n_classes), dtype=_numpy_dtype(self.dtype))
        total, aleatoric = np.empty(len(task)), np.empty(len(task))
        for rows, place, q_z, q_w in self._blocks(x, task):
            p, h = self._class_block(q_z, q_w, split=True)
            p, h = p.flatten(0, 1)[place], h.flatten(0, 1)[place]
            if self.forest is not None:
                said = self.forest(self._raw(x, rows))
                p, h = self.forest.join(p, said), self.forest.join(h, entropy(said))
            probabilities[rows] = p.cpu().numpy()
            total[rows] = entropy(p).cpu().numpy()
            aleatoric[rows] = np.minimum(h.cpu().numpy(), total[rows])
        return ClassPrediction(probabilities, total, aleatoric)

    @torch.no_grad()
    def values(self, x: Array, task: Array) -> RealPrediction:
        """Regression: predictive mean, noise and model uncertainty of every row."""
        mean, variance = np.empty(len(task)), np.empty(len(task))
        assert isinstance(self.model.likelihood, GaussianNoise)
        noise = self.model.likelihood.scale().cpu().numpy()
        for rows, place, q_z, q_w in self._blocks(x, task):
            m, v = self._value_block(q_z, q_w)
            mean[rows] = m.flatten()[place].cpu().numpy()
            variance[rows] = v.flatten()[place].cpu().numpy()
        return RealPrediction(mean, noise[task], np.sqrt(np.maximum(variance, 0)))

    @torch.no_grad()
    def features(self, x: Array, task: Array) -> Array:
        """The mean representation of every row, with the features of all tasks: (n, K)."""
        out = np.empty((len(task), self.model.encoder.latent_dim), dtype=_numpy_dtype(self.dtype))
        for rows, place, buffer, cell_task in self._cells(x, task, np.arange(len(task))):
            features = self.feature_map(buffer, cell_task)
            out[rows] = self.model.encoder(features, cell_task).mean.flatten(0, 1)[place].cpu().numpy()
        return out

    def _raw(self, x: Array, rows: Array) -> Tensor:
        """Some rows of x as the model rounds them, for the forest: (n, D)."""
        return torch.from_numpy(np.ascontiguousarray(x[rows])).to(self.dtype)

    def _blocks(self, x: Array, task: Array) -> Iterator[tuple[Array, Tensor, Posterior, Posterior]]:
        """Blocks of rows of (CELLS, CELL_ROWS): row numbers, their places in the block, q(z), q(w) of the cells."""
        for part in self._parts:
            numbers = np.flatnonzero(part.tasks[task])
            for rows, place, buffer, cell_task in self._cells(x, task, numbers):
                features = part.feature_map(buffer, cell_task)
                yield rows, place, part.encoder(features, cell_task), part.q_w.at(cell_task)

    def _cells(self, x: Array, task: Array, numbers: Array) -> Iterator[tuple[Array, Tensor, Tensor, Tensor]]:
        """Blocks of the rows of these ``numbers`` (CELLS, CELL_ROWS, D), each cell with its task."""
        order = numbers[np.argsort(np.asarray(task)[numbers], kind="stable")]
        sorted_task = np.asarray(task)[order]
        change = np.r_[True, sorted_task[1:] != sorted_task[:-1]] if len(order) else np.zeros(0, bool)
        run_start = np.maximum.accumulate(np.where(change, np.arange(len(order)), 0))
        within = np.arange(len(order)) - run_start
        cell = np.cumsum(change | (within % CELL_ROWS == 0)) - 1  # number of the cell of each sorted row
        slot = within % CELL_ROWS
        edges = np.searchsorted(cell, np.arange(0, (cell[-1] if len(cell) else -1) + CELLS + 1, CELLS))
        for start, stop in itertools.pairwise(edges):
            if start == stop:
                continue
            rows, inside = order[start:stop], cell[start:stop] % CELLS
            n_cells = FEW_CELLS if inside[-1] < FEW_CELLS else CELLS
            buffer = torch.zeros(n_cells, CELL_ROWS, x.shape[1], dtype=self.dtype)  # aligned alike in every call
            buffer.numpy()[inside, slot[start:stop]] = x[rows]
            cell_task = np.zeros(n_cells, dtype=np.int64)
            cell_task[inside] = sorted_task[start:stop]
            tasks = torch.from_numpy(cell_task).to(self.device)
            place = torch.from_numpy(inside * CELL_ROWS + slot[start:stop]).to(self.device)
            yield rows, place, buffer.to(self.device), tasks

    def _class_block(self, q_z: Posterior, q_w: Posterior, split: bool) -> tuple[Tensor, Tensor]:
        """Probabilities (G, B, C) and the mean entropy over draws (G, B), which only means something if ``split``."""
        if self.mode == "mean" or not (q_z.stochastic or q_w.stochastic):
            p = (self.scale * affine(q_z.mean, q_w.mean)).softmax(-1)
            return p, entropy(p) if split else p
        if self.mode == "moment":
            return self._moment_block(q_z, q_w, split)
        means, entropies = [], []
        for logits in self._logit_draws(q_z, q_w):  # one draw of w after the other stays in the cache
            p = logits.softmax(-1)
            means.append(p.mean(1))
            if split:
                entropies.append(entropy(p).mean(1))
        p = torch.stack(means).mean(0)
        return p, torch.stack(entropies).mean(0) if split else p

    def _moment_block(self, q_z: Posterior, q_w: Posterior, split: bool) -> tuple[Tensor, Tensor]:
        """softmax(mean / sqrt(1 + k variance)), k = 0.2; draws of logits split the entropy.

        MacKay's approximation has k = pi / 8, so the draws have the variance 8 k / pi times that of the logits, which
        is what the probabilities take it to be; the aleatoric part is mean entropy / entropy of the mean of draws.
        """
        moments = logit_moments(q_z, q_w)
        mean, variance = self.scale * moments.mean, self.scale.square() * moments.variance.clamp_min(0)
        p = (mean / torch.sqrt(1 + SHRINKAGE * variance)).softmax(-1)
        if not split:
            return p, p
        spread = (8 / math.pi * SHRINKAGE * variance).sqrt()
        draws = (mean + spread * self._eps_moment[:, None, None]).softmax(-1)
        part = entropy(draws).mean(0) / entropy(draws.mean(0)).clamp_min(torch.finfo(p.dtype).tiny)
        return p, entropy(p) * part.clamp_max(1)

    def _logit_draws(self, q_z: Posterior, q_w: Posterior) -> Iterator[Tensor]:
        """M times L draws of the logits (G, L, B, C), the same random numbers for every row."""
        z = q_z.mean[:, None]
        if isinstance(q_z, Gaussian):
            eps = self._eps_z[:, None, : z.shape[-1]]
            z = torch.addcmul(z, q_z.scale[:, None], eps)  # (G, L, B, K)
        flat = z.flatten(1, 2)
        mean = self.scale * affine(flat, q_w.mean).view(*z.shape[:3], -1)  # (G, L, B, C)
        if not q_w.stochastic:
            yield mean
            return
        flat = flat.square_() if q_z.stochastic else flat.square()
        spread = self.scale * affine(flat, q_w.variance).sqrt_().view_as(mean)
        for eps in self._eps_w.view(self.model.settings.predict_w, -1, 1, mean.shape[-1]):
            yield torch.addcmul(mean, spread, eps[: mean.shape[1]])

    def _value_block(self, q_z: Posterior, q_w: Posterior) -> tuple[Tensor, Tensor]:
        if self.mode == "monte-carlo" and (q_z.stochastic or q_w.stochastic):
            draws = torch.stack(list(self._logit_draws(q_z, q_w))).squeeze(-1)  # (M, G, L, B)
            return draws.mean((0, 2)), draws.var((0, 2), unbiased=False)
        moments = logit_moments(q_z, q_w)
        variance = self.scale.square() * moments.variance
        if self.mode == "mean":
            variance = torch.zeros_like(variance)
        return (self.scale * moments.mean).squeeze(-1), variance.squeeze(-1)


def entropy(p: Tensor) -> Tensor:
    """-sum p log p over the last axis."""
    return -torch.xlogy(p, p).sum(-1)


def _numpy_dtype(dtype: torch.dtype) -> type[np.float32] | type[np.float64]:
    return np.float64 if dtype == torch.float64 else np.float32
