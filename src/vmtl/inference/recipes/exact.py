"""The default: means and widths of q(w) from the exact posterior, confidence by left-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from vmtl.config.settings import Settings
from vmtl.data.rows import Rows
from vmtl.inference.exact.calibration import Calibration, calibrate_classifier, calibrate_regression
from vmtl.inference.exact.laplace import shared_curvature
from vmtl.inference.exact.output_prior import OutputPrior
from vmtl.inference.exact.posterior import Solution
from vmtl.inference.exact.training_moments import TrainingMoments, training_loss
from vmtl.inference.exact.weight_prior import ExactPrior, infer_prior, solve
from vmtl.inference.exact.widths import WeightPosterior, information
from vmtl.inference.features.kernel_selection import select_kernel
from vmtl.inference.fitted import Fitted
from vmtl.inference.left_out import LeftOutScores
from vmtl.inference.recipes.steps import (
    adopt,
    build_model,
    gather_hyperparameters,
    know_tasks,
    learn_features,
    relatedness_of,
)
from vmtl.inference.structure.known_tasks import ExactEvidence
from vmtl.inference.training_data import TrainingData
from vmtl.inference.variational.history import History
from vmtl.inference.variational.run import Callbacks, train_model
from vmtl.model.heads import DirectHead
from vmtl.model.likelihoods import GaussianNoise
from vmtl.model.method import Method
from vmtl.model.model import Model


@dataclass(frozen=True)
class Exact:
    """For priors under which the posterior means of w are those of a joint Gaussian: the mixture, and N(0, I).

    With the noise as it is and z deterministic, the posterior means of a regression are the optimum of the objective,
    so neither they nor the noise are trained further. Nor is the mode of a classifier: left-out rows are predicted
    better by it than by the optimum of the objective, whose factorised q(w) is too wide in all the directions that no
    row has seen. Nor is alpha, which the means depend on. The widths of q(w) are known in closed form; gradient steps
    of the objective, if they are asked for, go on from there with the widths of q(w) and q(z).
    """

    name = "exact"

    def fit(self, method: Method, settings: Settings, data: TrainingData, seed: int, callbacks: Callbacks) -> Fitted:
        callbacks.before_phase("choosing a kernel")
        kernel = select_kernel(data.distinct, seed)
        feature_map = learn_features(method, settings, data.distinct, kernel, seed)
        features = data.through(feature_map)
        callbacks.before_phase("who is like whom, and how much")
        prior = infer_prior(features.distinct, kernel, relatedness_of(method, settings), seed)
        model = build_model(
            method,
            settings,
            features.rows,
            prior.structure,
            logit_scale=prior.outputs.scale,
            noise=prior.noise,
            seed=seed,
        )
        callbacks.before_phase("solving for the weights")
        solution = solve(features.distinct, prior)
        adopt(model, solution)
        told = set_widths(model, features.distinct, prior)
        if settings.refine or features.held_out is not None:
            freeze_means(model)
            history = train_model(model, features.rows, features.held_out, seed, callbacks)
            moments = TrainingMoments.of(model, features.distinct)
        else:
            moments = TrainingMoments.of(model, features.distinct)
            history = History.of_solution(training_loss(model, features.distinct, moments))
        callbacks.before_phase("confidence by left-out rows")
        calibration, left_out = calibrate(model, features.distinct, prior.outputs, solution, moments)
        inferred = gather_hyperparameters(self.name, kernel, prior, model, calibration)
        known = know_tasks(model, features.distinct)
        if known is not None:
            known = replace(
                known, belief=prior.belief, exact=evidence_of(model, prior, told, features.distinct, left_out)
            )
        return Fitted.complete(feature_map, model, history, inferred, left_out, known)


@torch.no_grad()
def set_widths(model: Model, rows: Rows, prior: ExactPrior) -> Tensor:
    """The widths of q(w) in closed form, from how curved the likelihood is at the means; and what the rows told."""
    assert isinstance(model.head, DirectHead)
    assert model.head.log_scale is not None
    weight = rows.weight.double().cpu()
    if rows.is_classification:
        mean = TrainingMoments.of(model, rows).mean
        curvature = shared_curvature(mean.softmax(-1), weight)
    else:
        curvature = weight / prior.noise**2
    told = information(rows, curvature, prior.outputs.scale)
    widths = WeightPosterior.of(told, prior.outputs).deviations()  # (T, K + 1)
    model.head.log_scale.copy_(widths.log().unsqueeze(1).expand_as(model.head.log_scale))
    return told


def freeze_means(model: Model) -> None:
    """The exact means, the noise and the mixing weights that they were found with are not trained."""
    model.head.mean.requires_grad_(False)
    model.freeze_mixing()
    model.likelihood.requires_grad_(False)


@torch.no_grad()
def calibrate(
    model: Model, rows: Rows, prior: OutputPrior, solution: Solution, moments: TrainingMoments
) -> tuple[Calibration | None, LeftOutScores]:
    """Confidence by left-out rows, the noise of a regression or scale and widths of a classifier; and how far they are
    off then."""
    calibration = None
    task, weight = rows.task.cpu(), rows.weight.cpu().double()
    if rows.is_classification:
        calibration = calibrate_classifier(model, rows, prior, moments)
        score = 1 - calibration.left_out.gather(1, rows.y.cpu()[:, None])[:, 0]
    else:
        residuals = calibrate_regression(model, rows, solution.residuals, moments)
        assert isinstance(model.likelihood, GaussianNoise)
        noise = model.likelihood.scale().cpu().double()[task]
        score = residuals.abs() / (noise.square() + moments.variance[:, 0]).sqrt()
    return calibration, LeftOutScores(score, task, weight)


@torch.no_grad()
def evidence_of(model: Model, prior: ExactPrior, told: Tensor, rows: Rows, left_out: LeftOutScores) -> ExactEvidence:
    """What a task that is added later needs to know of the solution."""
    errors = torch.zeros(rows.n_tasks, 2, dtype=torch.float64)
    if isinstance(model.likelihood, GaussianNoise):
        weight, noise = left_out.weight / rows.unit, model.likelihood.scale().cpu().double()[left_out.task]
        variance = noise.square() + TrainingMoments.of(model, rows).variance[:, 0]
        errors.index_add_(0, left_out.task, torch.stack([weight * left_out.score.square() * variance, weight], 1))
    outputs = prior.outputs
    numbers = (outputs.scale, outputs.task_level, outputs.shared_level, prior.noise)
    return ExactEvidence(torch.tensor(numbers, dtype=torch.float64), told, errors)
