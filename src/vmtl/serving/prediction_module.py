"""The whole prediction of a fitted estimator as one torch module: raw numbers and task indices to named outputs.

It does what the estimator does, step by step with the same parts, but for all rows at once instead of in blocks, and
with everything that does not depend on the rows computed beforehand, so that ``torch.export`` can trace it. It computes
in double precision: another program adds in another order, and distances of rows that are nearly alike cancel.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import Tensor, nn

from vmtl.data.preprocessing import TablePreprocessor
from vmtl.estimators.inputs.feature_table import LARGEST
from vmtl.gp.fitted import FittedGP
from vmtl.paper.distributions import Gaussian, Posterior
from vmtl.paper.fitted import FittedVMTL
from vmtl.paper.likelihoods import GaussianNoise
from vmtl.paper.prediction import Predictor, entropy

if TYPE_CHECKING:
    from vmtl.serving.facts import Estimator

    Fitted: TypeAlias = FittedGP | FittedVMTL

#: What a prediction says besides probabilities or the mean, as in ``uncertainty``.
UNCERTAINTIES = ("total", "aleatoric", "epistemic")


class PredictionModule(nn.Module):
    """x (n, columns) float64 with NaN for gaps and task (n,) int64 to the outputs named by ``outputs``.

    A row that the estimator would refuse (a task that is none, a gap or number it does not take) has NaN everywhere.
    """

    def __init__(self, estimator: Estimator) -> None:
        super().__init__()
        fitted = in_double(estimator._fitted)
        self.columns = Columns(estimator.preprocessor_)
        self.fitted = GaussianProcess(fitted) if isinstance(fitted, FittedGP) else Variational(fitted)
        self.n_tasks, self.largest = fitted.n_tasks, LARGEST[getattr(estimator, "dtype", "float64")]
        self.is_classification = hasattr(estimator, "classes_")
        self.outputs = ("probabilities" if self.is_classification else "prediction", *UNCERTAINTIES)
        if not self.is_classification:
            self.y_mean, self.y_scale = estimator.y_mean_, estimator.y_scale_

    def forward(self, x: Tensor, task: Tensor) -> tuple[Tensor, ...]:
        x = self.columns(x).double()
        known = (task >= 0) & (task < self.n_tasks) & (x.abs() <= self.largest).all(-1)  # NaN is never smaller
        x, task = torch.where(known[:, None], x, 0), torch.where(known, task, 0)
        told = self._classes(x, task) if self.is_classification else self._values(x, task)
        return tuple(torch.where(known.view(-1, *[1] * (out.dim() - 1)), out, torch.nan) for out in told)

    def _classes(self, x: Tensor, task: Tensor) -> tuple[Tensor, ...]:
        """Probabilities (n, C), and the entropies (n,) in nats."""
        p, total, aleatoric = self.fitted.classes(x, task)
        return p, total, aleatoric, total - aleatoric

    def _values(self, x: Tensor, task: Tensor) -> tuple[Tensor, ...]:
        """The mean and the standard deviations (n,) in the unit of y."""
        mean, aleatoric, variance = self.fitted.values(x, task)
        aleatoric, epistemic = self.y_scale * aleatoric, self.y_scale * variance.clamp_min(0).sqrt()
        total = (aleatoric.square() + epistemic.square()).sqrt()
        return self.y_scale * mean + self.y_mean, total, aleatoric, epistemic


class Columns(nn.Module):
    """Numeric columns standardised, gaps 0 and marked by an indicator, as ``TablePreprocessor`` does; or left alone."""

    mean: Tensor
    scale: Tensor

    def __init__(self, preprocessor: TablePreprocessor | None) -> None:
        super().__init__()
        self.imputes = preprocessor is not None and preprocessor.missing == "impute"
        self.standardises = preprocessor is not None
        if preprocessor is not None:
            _, arrays = preprocessor.state()
            self.register_buffer("mean", torch.from_numpy(arrays["mean"].copy()))  # (D,) float64
            self.register_buffer("scale", torch.from_numpy(arrays["scale"].copy()))
            self.marked = arrays["gaps"].nonzero()[0].tolist()

    def forward(self, x: Tensor) -> Tensor:
        if not self.standardises:
            return x
        x = (x - self.mean) / self.scale
        if not self.imputes:
            return x.float()
        gap = x.isnan()
        return torch.cat([x.masked_fill(gap, 0.0), gap[:, self.marked].to(x)], -1).float()


class GaussianProcess(nn.Module):
    """The default: kernel features, and the weights of every task, of which each row takes its own."""

    def __init__(self, fitted: FittedGP) -> None:
        super().__init__()
        self.fitted = fitted
        _ = fitted.draws, fitted.feature_map.seen_landmarks  # known before anything is traced

    def classes(self, x: Tensor, task: Tensor) -> tuple[Tensor, ...]:
        """Probabilities (n, C), and total and aleatoric entropy (n,)."""
        return self.fitted.with_entropies(*self._outputs(x, task), x)

    def values(self, x: Tensor, task: Tensor) -> tuple[Tensor, ...]:
        """Mean, noise and variance of the mean, (n,) each, in units of the standardised target."""
        mean, variance = self._outputs(x, task)
        return mean[:, 0], self.fitted.noise[task], variance

    def _outputs(self, x: Tensor, task: Tensor) -> tuple[Tensor, Tensor]:
        """Mean (n, C) and variance (n,) of the latent outputs: those of all tasks are computed, (n, T C) and (n, T)."""
        weights, z = self.fitted.weights, self.fitted.feature_map.few(x)
        slopes, level = weights.mean[..., :-1], weights.mean[..., -1]  # (T, C, K), (T, C)
        place = torch.arange(task.shape[0], device=task.device), task
        mean = (z @ slopes.flatten(0, 1).T).unflatten(1, level.shape) + level
        variance = weights.deviation.square()
        return mean[place], (z.square() @ variance[:, :-1].T + variance[:, -1])[place]


class Variational(nn.Module):
    """The paper's system: what a ``Predictor`` says under every task, of which each row takes its own."""

    def __init__(self, fitted: FittedVMTL) -> None:
        super().__init__()
        model = fitted.model
        self.predictor = Predictor(model, model.settings.predictive, fitted.seed)
        self.model, self.n_tasks = model, model.n_tasks
        self.groups = model.n_tasks if model.method.encoder == "per task" else 1

    def classes(self, x: Tensor, task: Tensor) -> tuple[Tensor, ...]:
        """Probabilities (n, C), and total and aleatoric entropy (n,)."""
        p, mean_entropy = self.predictor._class_block(*self._under_every_task(x), split=True)  # (T, n, C), (T, n)
        place = task, torch.arange(task.shape[0], device=task.device)
        total = entropy(p[place])
        return p[place], total, torch.minimum(mean_entropy[place], total)

    def values(self, x: Tensor, task: Tensor) -> tuple[Tensor, ...]:
        """Mean, noise and variance of the mean, (n,) each, in units of the standardised target."""
        mean, variance = self.predictor._value_block(*self._under_every_task(x))  # (T, n) each
        place = task, torch.arange(task.shape[0], device=task.device)
        assert isinstance(self.model.likelihood, GaussianNoise)
        return mean[place], self.model.likelihood.scale()[task], variance[place]

    def _under_every_task(self, x: Tensor) -> tuple[Posterior, Posterior]:
        """q(z) (T, n, K) and q(w) of all tasks; the closed forms broadcast by themselves, draws need every axis."""
        q_z: Posterior = self.model.encoder(x.expand(self.groups, *x.shape))  # (G, n, K)
        if self.predictor.mode == "monte-carlo":
            shape = self.n_tasks, *q_z.mean.shape[1:]
            mean = q_z.mean.expand(shape)
            q_z = Gaussian(mean, q_z.scale.expand(shape)) if isinstance(q_z, Gaussian) else type(q_z)(mean)
        return q_z, self.predictor.q_w


def in_double(fitted: Fitted) -> Fitted:
    """The fitted model in double precision, on the CPU; the default always is."""
    if isinstance(fitted, FittedGP):
        return fitted
    return replace(fitted, model=copy.deepcopy(fitted.model).to("cpu", torch.float64))
