"""The default: means of q(w) from the exact posterior, widths by gradient steps, confidence by left-out rows."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from vmtl.config.settings import Settings
from vmtl.data.rows import Rows
from vmtl.inference.exact.calibration import (
    Calibration,
    TrainingLogits,
    calibrate_classifier,
    calibrate_regression,
)
from vmtl.inference.exact.kernel_selection import select_kernel
from vmtl.inference.exact.posterior import Solution
from vmtl.inference.exact.task_structure import infer_prior
from vmtl.inference.fitted import Fitted
from vmtl.inference.left_out import LeftOutScores
from vmtl.inference.recipes.steps import (
    build_model,
    gather_hyperparameters,
    learn_features,
    relatedness_of,
    solve,
)
from vmtl.inference.training_data import TrainingData
from vmtl.inference.variational.run import Callbacks, train_model
from vmtl.model.likelihoods import GaussianNoise
from vmtl.model.method import Method
from vmtl.model.mixing import TaskStructure
from vmtl.model.model import Model


@dataclass(frozen=True)
class Exact:
    """For priors under which the posterior means of w are those of a joint Gaussian: the mixture, and N(0, I).

    With the noise as it is and z deterministic, the posterior means of a regression are the optimum of the objective,
    so neither they nor the noise are trained further. Nor is the mode of a classifier: left-out rows are predicted
    better by it than by the optimum of the objective, whose factorised q(w) is too wide in all the directions that no
    row has seen. Nor is alpha, which the means depend on. What is trained is the widths of q(w) and q(z).
    """

    name = "exact"

    def fit(self, method: Method, settings: Settings, data: TrainingData, seed: int, callbacks: Callbacks) -> Fitted:
        kernel = select_kernel(data.distinct, seed)
        feature_map = learn_features(method, settings, data.distinct, kernel, seed)
        features = data.through(feature_map)
        prior = infer_prior(features.distinct, kernel, relatedness_of(method, settings), seed)
        model = build_model(
            method,
            settings,
            features.rows,
            prior.structure,
            logit_scale=kernel.logit_scale(prior.scale),
            noise=kernel.noise,
            seed=seed,
        )
        solution = solve_and_freeze(model, features.distinct, prior.structure)
        history = train_model(model, features.rows, features.held_out, seed, callbacks)
        calibration = calibrate(model, features.distinct, prior.structure, solution)
        inferred = gather_hyperparameters(self.name, kernel, prior, model, calibration)
        left_out = left_out_scores(model, features.distinct, solution, calibration)
        return Fitted.complete(feature_map, model, history, inferred, left_out)


def solve_and_freeze(model: Model, rows: Rows, structure: TaskStructure) -> Solution:
    """The exact means, the noise and the mixing weights that they were found with are not trained."""
    solution = solve(model, rows, structure)
    model.head.mean.requires_grad_(False)
    model.freeze_mixing()
    model.likelihood.requires_grad_(False)
    return solution


def calibrate(model: Model, rows: Rows, structure: TaskStructure, solution: Solution) -> Calibration | None:
    """Confidence by left-out rows: the noise of a regression, scale and widths of a classifier."""
    if solution.residuals is None:
        return calibrate_classifier(model, rows, structure.covariance)
    calibrate_regression(model, rows, solution.residuals)
    return None


@torch.no_grad()
def left_out_scores(model: Model, rows: Rows, solution: Solution, calibration: Calibration | None) -> LeftOutScores:
    """How far the calibrated model is off on rows that it predicts without them."""
    task, weight = rows.task.cpu(), rows.weight.cpu().double()
    if calibration is not None:
        score = 1 - calibration.left_out.gather(1, rows.y.cpu()[:, None])[:, 0]
    else:
        assert solution.residuals is not None
        assert isinstance(model.likelihood, GaussianNoise)
        noise = model.likelihood.scale().cpu().double()[task]
        variance = TrainingLogits.of(model, rows).variance[:, 0]
        score = solution.residuals.abs() / (noise.square() + variance).sqrt()
    return LeftOutScores(score, task, weight)
