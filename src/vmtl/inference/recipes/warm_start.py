"""Gradient steps that begin at the exact posterior, for priors of w that change while they are trained."""

from __future__ import annotations

from dataclasses import dataclass

from vmtl.config.settings import Settings
from vmtl.data.rows import Rows
from vmtl.inference.exact.calibration import Calibration, calibrate_regression, calibrate_trained_classifier
from vmtl.inference.exact.output_prior import OutputPrior
from vmtl.inference.exact.posterior import Solution
from vmtl.inference.exact.weight_prior import infer_prior, solve
from vmtl.inference.features.kernel_selection import select_kernel
from vmtl.inference.fitted import Fitted
from vmtl.inference.recipes.steps import (
    adopt,
    build_model,
    gather_hyperparameters,
    know_tasks,
    learn_features,
    relatedness_of,
)
from vmtl.inference.recipes.variational import learning_rate_factor, trainable_scale
from vmtl.inference.training_data import TrainingData
from vmtl.inference.variational.run import Callbacks, train_model
from vmtl.model.method import Method
from vmtl.model.model import Model


@dataclass(frozen=True)
class WarmStart:
    """For a Gaussian q(w) under another prior than the exact model's: its means are a start, and are trained on."""

    name = "warm start"

    def fit(self, method: Method, settings: Settings, data: TrainingData, seed: int, callbacks: Callbacks) -> Fitted:
        callbacks.before_phase("choosing a kernel")
        kernel = select_kernel(data.distinct, seed)
        feature_map = learn_features(method, settings, data.distinct, kernel, seed)
        features = data.through(feature_map)
        callbacks.before_phase("who is like whom, and how much")
        prior = infer_prior(features.distinct, kernel, relatedness_of(method, settings), seed)
        scale = trainable_scale(prior.scale, data.rows.is_classification)
        model = build_model(
            method,
            settings,
            features.rows,
            prior.structure,
            logit_scale=kernel.logit_scale(scale),
            noise=prior.noise,
            seed=seed,
        )
        solution = solve(features.distinct, prior)
        adopt(model, solution)
        factor = learning_rate_factor(scale)
        history = train_model(model, features.rows, features.held_out, seed, callbacks, factor)
        callbacks.before_phase("confidence by left-out rows")
        calibration = calibrate(model, features.distinct, prior.outputs, solution)
        inferred = gather_hyperparameters(self.name, kernel, prior, model, calibration, factor)
        return Fitted.complete(feature_map, model, history, inferred, known=know_tasks(model, features.distinct))


def calibrate(model: Model, rows: Rows, prior: OutputPrior, solution: Solution) -> Calibration | None:
    """Confidence by left-out rows: the noise of a regression, the scale of a classifier."""
    if rows.is_classification:
        return calibrate_trained_classifier(model, rows, prior)
    calibrate_regression(model, rows, solution.residuals)
    return None
