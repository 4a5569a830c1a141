"""The baselines of the default: points of w that maximise their posterior, found by solving instead of steps.

w = argmin_w sum_n -log p(y_n | f_t(x_n)) + 1/2 tr(B^-1 w w'),    f_t(x) = level_t + s0 w_t . x

where
    x = fixed features, of the kernel that left-out rows choose: the same rule for every method
    s0 = how large the signal is, averaged over as for every method; it is the strength of the ridge
    B = I where tasks share nothing; where there is one w, all rows are one task; where the prior has a covariance of
        the tasks (Long et al.), that is learned

Weights of the tasks' losses (Kendall et al.) do not move such a point: with fixed features nothing is shared between
the losses that they weigh. They are trained after it, as is the width of z.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch.nn import functional as F

from vmtl.config.settings import Settings
from vmtl.data.rows import Rows
from vmtl.inference.exact.calibration import FACTOR_DEVIATION, FACTOR_RANGE, MAX_LEFT_OUT, calibrate_regression
from vmtl.inference.exact.laplace import leave_one_out_logits
from vmtl.inference.exact.output_prior import Dual, OutputPrior
from vmtl.inference.exact.posterior import Solution
from vmtl.inference.exact.training_moments import TrainingMoments
from vmtl.inference.exact.weight_prior import ExactPrior, infer_prior, infer_prior_under, solve
from vmtl.inference.features.kernel_selection import KernelSelection, select_kernel
from vmtl.inference.fitted import Fitted
from vmtl.inference.recipes.steps import (
    adopt,
    build_model,
    gather_hyperparameters,
    know_tasks,
    learn_features,
    relatedness_of,
)
from vmtl.inference.structure.covariance import DenseCovariance
from vmtl.inference.training_data import TrainingData
from vmtl.inference.variational.history import History
from vmtl.inference.variational.run import Callbacks, record_terms, train_model
from vmtl.model.likelihoods import GaussianNoise
from vmtl.model.method import Method
from vmtl.model.model import Model
from vmtl.model.priors.tensor_normal import TensorNormalW

#: Updates of the covariance of the tasks at most, and the change at which they end.
ROUNDS, SETTLED = 10, 0.01


@dataclass(frozen=True)
class Point:
    """For point estimates of w under a Gaussian prior."""

    name = "point"

    def fit(self, method: Method, settings: Settings, data: TrainingData, seed: int, callbacks: Callbacks) -> Fitted:
        callbacks.before_phase("choosing a kernel")
        kernel = select_kernel(data.distinct, seed)
        feature_map = learn_features(method, settings, data.distinct, kernel, seed)
        features = data.through(feature_map)
        rows = one_task(features.distinct) if method.shared_head else features.distinct
        callbacks.before_phase("how large weights may be")
        prior = infer_prior(rows, kernel, "independent", seed)
        maps = prior.structure  # of z, which may be mixed where w is a point
        if method.mixes:
            maps = infer_prior(rows, kernel, relatedness_of(method, settings), seed).structure
        model = build_model(
            method, settings, features.rows, maps, logit_scale=prior.outputs.scale, noise=prior.noise, seed=seed
        )
        solution = solve(rows, prior)
        adopt(model, solution)
        if isinstance(model.prior_w, TensorNormalW):
            prior = learn_covariance(model, model.prior_w, rows, kernel, prior, seed)
            solution = solve(rows, prior)
            adopt(model, solution)
        history = train_the_rest(model, features, seed, callbacks)
        callbacks.before_phase("confidence by left-out rows")
        calibrate(model, features.distinct, rows, prior.outputs, solution)
        shown = replace(prior, structure=maps) if method.mixes else prior
        inferred = gather_hyperparameters(self.name, kernel, shown, model)
        return Fitted.complete(feature_map, model, history, inferred, known=know_tasks(model, features.distinct))


def train_the_rest(model: Model, features: TrainingData, seed: int, callbacks: Callbacks) -> History:
    """Widths of z and weights of tasks, where the method has them; w and the noise that it was found with stay."""
    solved = [model.head.mean, *model.likelihood.parameters()]
    if len(solved) == len(list(model.parameters())):
        return record_terms(model, features.rows, seed, callbacks)
    for parameter in solved:
        parameter.requires_grad_(False)
    return train_model(model, features.rows, features.held_out, seed, callbacks)


def one_task(rows: Rows) -> Rows:
    """The same rows, blind to their tasks."""
    return replace(rows, task=torch.zeros_like(rows.task), n_tasks=1)


@torch.no_grad()
def learn_covariance(
    model: Model, tensor_normal: TensorNormalW, rows: Rows, kernel: KernelSelection, prior: ExactPrior, seed: int
) -> ExactPrior:
    """Weights given the covariance of the tasks, the covariance given the weights; then the scales under it.

    A point knows nothing of its own uncertainty, so that the rounds alone end where all tasks are one: how much of the
    covariance is kept is one of the scales.
    """
    before = torch.eye(rows.n_tasks, dtype=torch.float64)
    for _ in range(ROUNDS):
        tensor_normal.update(model.weights())
        covariance = tensor_normal.covariance.double().cpu().clone()
        prior = infer_prior_under(DenseCovariance(covariance), rows, kernel, seed)
        if float((covariance - before).abs().max()) < SETTLED:
            break
        before = covariance
        adopt(model, solve(rows, prior))
    assert isinstance(prior.outputs.covariance, DenseCovariance)
    model.log_logit_scale.copy_(torch.tensor(prior.outputs.scale).log())
    if isinstance(model.likelihood, GaussianNoise):
        torch.nn.init.constant_(model.likelihood.log_noise, math.log(prior.noise))
    tensor_normal.assign(prior.outputs.covariance.matrix)
    return prior


@torch.no_grad()
def calibrate(model: Model, rows: Rows, solved: Rows, prior: OutputPrior, solution: Solution) -> None:
    """Confidence by left-out rows: the noise of a regression, the scale of a classifier's logits.

    ``solved`` = the rows with the tasks that the solution knows of.
    """
    if not rows.is_classification:
        calibrate_regression(model, rows, solution.residuals)
        return
    if len(rows.y) > MAX_LEFT_OUT:
        return
    dual, logits = Dual.of(solved), TrainingMoments.of(model, rows).mean  # (n, C)
    kernel = prior.kernel(dual.gram, dual.task)
    left_out = leave_one_out_logits(kernel, logits, logits.softmax(-1), dual.y, dual.weight)

    def loss(log_factor: float) -> float:
        nll = F.cross_entropy(math.exp(log_factor) * left_out, dual.y, reduction="none")
        return float((dual.weight * nll).sum()) + 0.5 * (log_factor / FACTOR_DEVIATION) ** 2

    tried = torch.linspace(-FACTOR_RANGE, FACTOR_RANGE, 25, dtype=torch.float64).tolist()
    model.log_logit_scale.add_(min(tried, key=loss))
