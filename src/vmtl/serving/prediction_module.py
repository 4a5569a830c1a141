"""The whole prediction of a fitted estimator as one torch module: raw numbers and task indices to named outputs.

It does what the estimator does, step by step with the same parts, but for all rows at once instead of in blocks, and
with everything that does not depend on the rows computed beforehand, so that ``torch.export`` can trace it. It computes
in double precision: another program adds in another order, and distances of rows that are nearly alike cancel.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from vmtl.data.preprocessing import TablePreprocessor
from vmtl.estimators.inputs.feature_table import LARGEST
from vmtl.estimators.parameters import DTYPES
from vmtl.inference.features.candidate_kernels import CANDIDATES, evaluate_kernels
from vmtl.inference.features.kernel_map import KernelMap
from vmtl.inference.features.views import VIEWS
from vmtl.inference.prediction import Predictor, entropy
from vmtl.model.distributions import Gaussian, Posterior
from vmtl.model.likelihoods import GaussianNoise

if TYPE_CHECKING:
    from vmtl.estimators import MultiTaskClassifier, MultiTaskRegressor

#: What a prediction says besides probabilities or the mean, as in ``uncertainty``.
UNCERTAINTIES = ("total", "aleatoric", "epistemic")


class PredictionModule(nn.Module):
    """x (n, columns) float64 with NaN for gaps and task (n,) int64 to the outputs named by ``outputs``.

    A row that the estimator would refuse (a task that is none, a gap or number it does not take) has NaN everywhere.
    """

    def __init__(self, estimator: MultiTaskClassifier | MultiTaskRegressor) -> None:
        super().__init__()
        predictor = double_predictor(estimator)
        model, feature_map = predictor.model, predictor.feature_map
        self.columns = Columns(estimator.preprocessor_)
        self.feature_map = KernelFeatures(feature_map) if isinstance(feature_map, KernelMap) else feature_map
        self.encoder, self.n_tasks = model.encoder, model.n_tasks
        self.groups = model.n_tasks if model.method.encoder == "per task" else 1
        self.dtype, self.largest = DTYPES[estimator.dtype], LARGEST[estimator.dtype]
        self.outcome: Outcome
        if hasattr(estimator, "classes_"):
            self.outcome, self.outputs = Classes(predictor), ("probabilities", *UNCERTAINTIES)
        else:
            self.outcome = Values(predictor, estimator.y_mean_, estimator.y_scale_)
            self.outputs = ("prediction", *UNCERTAINTIES)

    def forward(self, x: Tensor, task: Tensor) -> tuple[Tensor, ...]:
        x = self.columns(x)
        x = x.to(self.dtype).double()  # ties with training rows stay ties
        known = (task >= 0) & (task < self.n_tasks) & (x.abs() <= self.largest).all(-1)  # NaN is never smaller
        x, task = torch.where(known[:, None], x, 0), torch.where(known, task, 0)
        q_z = self.encoder(self.feature_map(x.expand(self.groups, *x.shape)))  # (G, n, K)
        place = task, torch.arange(task.shape[0], device=task.device)
        predicted = self.outcome(q_z, place, x)
        return tuple(torch.where(known.view(-1, *[1] * (out.dim() - 1)), out, torch.nan) for out in predicted)


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


class KernelFeatures(nn.Module):
    """``KernelMap`` with its choice of kernels and the views of its landmarks fixed: x (G, n, D) to (G, n, F)."""

    def __init__(self, kernel_map: KernelMap) -> None:
        super().__init__()
        self.used = kernel_map.coefficient.ne(0).any(0).nonzero().flatten().tolist()
        self.views = copy.deepcopy(kernel_map.views)
        numbers = {VIEWS.index(CANDIDATES[v].view) for v in self.used}
        self.landmarks = nn.ParameterDict(
            {str(number): _fixed(kernel_map.views(number, kernel_map.landmarks)) for number in sorted(numbers)}
        )  # (G, m, D) each
        self.coefficient = _fixed(kernel_map.coefficient)  # (G, V)
        self.projection, self.offset = _fixed(kernel_map.projection), _fixed(kernel_map.offset)

    def forward(self, x: Tensor) -> Tensor:
        kernels = evaluate_kernels(lambda number: (self.views(number, x), self.landmarks[str(number)]), self.used)
        total = x.new_zeros(*x.shape[:-1], self.projection.shape[1])  # (G, n, m)
        for v, kernel in zip(self.used, kernels, strict=True):
            total = total + self.coefficient[:, v, None, None] * kernel
        return total @ self.projection + self.offset


class Outcome(nn.Module):
    """What a ``Predictor`` says under every task, of which each row takes its own."""

    def __init__(self, predictor: Predictor) -> None:
        super().__init__()
        self.predictor = predictor

    def _under_every_task(self, q_z: Posterior) -> tuple[Posterior, Posterior]:
        """q(z) (T, n, K) and q(w) of all tasks; the closed forms broadcast by themselves, draws need every axis."""
        n_tasks, q_w = self.predictor.model.n_tasks, self.predictor.q_w
        if self.predictor.mode != "monte-carlo":
            return q_z, q_w
        shape = n_tasks, *q_z.mean.shape[1:]
        if isinstance(q_z, Gaussian):
            return Gaussian(q_z.mean.expand(shape), q_z.scale.expand(shape)), q_w
        return type(q_z)(q_z.mean.expand(shape)), q_w


class Classes(Outcome):
    """Probabilities (n, C), and the entropies (n,) in nats."""

    def __init__(self, predictor: Predictor) -> None:
        super().__init__(predictor)
        self.forest = predictor.forest

    def forward(self, q_z: Posterior, place: tuple[Tensor, Tensor], x: Tensor) -> tuple[Tensor, ...]:
        p, mean_entropy = self.predictor._class_block(*self._under_every_task(q_z), split=True)  # (T, n, C), (T, n)
        p, mean_entropy = p[place], mean_entropy[place]
        if self.forest is not None:
            said = self.forest(x)
            p, mean_entropy = self.forest.join(p, said), self.forest.join(mean_entropy, entropy(said))
        total = entropy(p)
        aleatoric = torch.minimum(mean_entropy, total)
        return p, total, aleatoric, total - aleatoric


class Values(Outcome):
    """The mean and the standard deviations (n,) in the unit of y."""

    noise: Tensor

    def __init__(self, predictor: Predictor, y_mean: float, y_scale: float) -> None:
        super().__init__(predictor)
        assert isinstance(predictor.model.likelihood, GaussianNoise)
        self.register_buffer("noise", predictor.model.likelihood.scale())  # (T,)
        self.y_mean, self.y_scale = y_mean, y_scale

    def forward(self, q_z: Posterior, place: tuple[Tensor, Tensor], x: Tensor) -> tuple[Tensor, ...]:
        mean, variance = self.predictor._value_block(*self._under_every_task(q_z))  # (T, n) each
        aleatoric = self.y_scale * self.noise[place[0]]
        epistemic = self.y_scale * variance[place].clamp_min(0).sqrt()
        total = (aleatoric.square() + epistemic.square()).sqrt()
        return self.y_scale * mean[place] + self.y_mean, total, aleatoric, epistemic


def double_predictor(estimator: MultiTaskClassifier | MultiTaskRegressor) -> Predictor:
    """The estimator's predictor in double precision, on the CPU."""
    fitted = estimator._fitted
    feature_map = copy.deepcopy(fitted.feature_map).to("cpu", torch.float64)
    model = copy.deepcopy(fitted.model).to("cpu", torch.float64)
    return Predictor(feature_map, model, estimator.settings_.predictive, estimator.seed_, fitted.forest)


def _fixed(value: Tensor) -> nn.Parameter:
    return nn.Parameter(value.detach().clone(), requires_grad=False)
