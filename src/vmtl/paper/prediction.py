"""Predictions of a fitted model (Eq. 12), and where their uncertainty comes from.

p(y | x) ~ 1/(L M) sum_l sum_m p(y | z^l, w^m),   z^l ~ q(z | x), w^m ~ q(w_t)

where
    z^l = draws of ``model.encoder(x)`` (G, L, B, K), L = ``predict_z``
    w^m = draws of ``Predictor.q_w`` (T, C, K + 1) as draws of the logits given z, M = ``predict_w``
    p(y | z, w) = softmax(w . [z; 1]); in regression N(w . [z; 1], sigma_t^2)

The paper's average is ``predictive="monte-carlo"``. ``"moment"`` draws nothing: it takes mean and variance of the
logits in closed form (``vmtl.paper.logits.logit_moments``) and shrinks the mean by the variance; ``"mean"`` takes the
means of z and w alone.

Rows run in zero-padded blocks of one fixed shape, and random numbers are shared by all rows, so that a
prediction does not depend on batch size, row order or what else is predicted, but for the rounding of a matrix product,
which on some processors differs from one place in a block to another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from vmtl._utils.noise import antithetic
from vmtl._utils.types import Array
from vmtl.data.prediction_blocks import padded_blocks
from vmtl.paper.choices import Predictive
from vmtl.paper.distributions import Gaussian, Posterior
from vmtl.paper.likelihoods import GaussianNoise
from vmtl.paper.logits import affine, logit_moments
from vmtl.paper.model import Model
from vmtl.results.predictions import ClassPrediction, Probabilities, RealPrediction

#: How much the variance of a logit shrinks it. MacKay's pi / 8 is for two classes and under-confident on many.
SHRINKAGE = 0.2
#: Draws that split the uncertainty in the moment predictive.
MOMENT_DRAWS = 32


class Predictor:
    """A fitted model, ready to predict: q(w) and the shared draws are computed once."""

    def __init__(self, model: Model, mode: Predictive, seed: int) -> None:
        self.model, self.mode = model, mode
        self.device, self.dtype = model.task_rows.device, model.task_rows.dtype
        with torch.no_grad():
            self.q_w: Posterior = model.q_w()
        settings, n_outputs = model.settings, self.q_w.mean.shape[1]
        generator = torch.Generator().manual_seed(seed)
        self._eps_z = self._draw(generator, settings.predict_z, model.encoder.latent_dim)  # (L, K)
        self._eps_w = self._draw(generator, settings.predict_z * settings.predict_w, n_outputs)  # (L*M, C)
        self._eps_moment = self._draw(generator, MOMENT_DRAWS, n_outputs)

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
            probabilities[rows] = p.flatten(0, 1)[place].cpu().numpy()
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
        """The mean of z of every row: (n, K)."""
        means = np.empty((len(task), self.model.encoder.latent_dim), dtype=_numpy_dtype(self.dtype))
        for rows, place, q_z, _ in self._blocks(x, task):
            means[rows] = q_z.mean.flatten(0, 1)[place].cpu().numpy()
        return means

    def _blocks(self, x: Array, task: Array) -> Iterator[tuple[Array, Tensor, Posterior, Posterior]]:
        """Blocks of (CELLS, CELL_ROWS) rows: row numbers, their places in the block, q(z), q(w) of the cells."""
        for block in padded_blocks(x, task, self.dtype):
            cell_task = block.task.to(self.device)
            q_z: Posterior = self.model.encoder(block.x.to(self.device), cell_task)
            yield block.rows, block.place.to(self.device), q_z, self.q_w.at(cell_task)

    def _class_block(self, q_z: Posterior, q_w: Posterior, split: bool) -> tuple[Tensor, Tensor]:
        """Probabilities (G, B, C) and the mean entropy over draws (G, B), which only means something if ``split``."""
        if self.mode == "mean" or not (q_z.stochastic or q_w.stochastic):
            p = affine(q_z.mean, q_w.mean).softmax(-1)
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
        mean, variance = moments.mean, moments.variance.clamp_min(0)
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
        mean = affine(flat, q_w.mean).view(*z.shape[:3], -1)  # (G, L, B, C)
        if not q_w.stochastic:
            yield mean
            return
        flat = flat.square_() if q_z.stochastic else flat.square()
        spread = affine(flat, q_w.variance).sqrt_().view_as(mean)
        for eps in self._eps_w.view(self.model.settings.predict_w, -1, 1, mean.shape[-1]):
            yield torch.addcmul(mean, spread, eps[: mean.shape[1]])

    def _value_block(self, q_z: Posterior, q_w: Posterior) -> tuple[Tensor, Tensor]:
        if self.mode == "monte-carlo" and (q_z.stochastic or q_w.stochastic):
            draws = torch.stack(list(self._logit_draws(q_z, q_w))).squeeze(-1)  # (M, G, L, B)
            return draws.mean((0, 2)), draws.var((0, 2), unbiased=False)
        moments = logit_moments(q_z, q_w)
        variance = torch.zeros_like(moments.variance) if self.mode == "mean" else moments.variance
        return moments.mean.squeeze(-1), variance.squeeze(-1)


def entropy(p: Tensor) -> Tensor:
    """-sum p log p over the last axis."""
    return -torch.xlogy(p, p).sum(-1)


def _numpy_dtype(dtype: torch.dtype) -> type[np.float32] | type[np.float64]:
    return np.float64 if dtype == torch.float64 else np.float32
