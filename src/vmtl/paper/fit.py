"""The paper: everything that a method has is trained by gradient steps on its objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vmtl.paper.settings import Settings
from vmtl.data.rows import Rows
from vmtl.inference.exact.weight_prior import WeightPrior, infer_prior
from vmtl.inference.features.kernel_selection import ASSUMED, KernelSelection
from vmtl.inference.fitted import Fitted
from vmtl.inference.recipes.steps import build_model, gather_hyperparameters, know_tasks, learn_features, relatedness_of
from vmtl.inference.structure.mixing_weights import exchangeable
from vmtl.inference.structure.structure_posterior import Relatedness
from vmtl.inference.training_data import TrainingData
from vmtl.paper.training.run import Callbacks, train_model
from vmtl.paper.method import Method
from vmtl.results.relatedness import MAX_TASKS, TaskStructure

#: Logit scale at most where the means of q(w) are trained: beyond it they do not get there in time.
MAX_TRAINED_SCALE = 10.0


@dataclass(frozen=True)
class Variational:
    """For every method, encoder and number of rows; ``choose_kernel`` looks at raw rows, or only assumes."""

    choose_kernel: Callable[[Rows, int], KernelSelection]
    name = "variational"

    def fit(self, method: Method, settings: Settings, data: TrainingData, seed: int, callbacks: Callbacks) -> Fitted:
        callbacks.before_phase("choosing a kernel")
        kernel = self.choose_kernel(data.distinct, seed)
        feature_map = learn_features(method, settings, data.distinct, kernel, seed)
        features = data.through(feature_map)
        scale = trainable_scale(kernel.scale, data.rows.is_classification)
        callbacks.before_phase("who is like whom, and how much")
        structure = initial_structure(features.distinct, kernel, relatedness_of(method, settings), seed)
        prior = WeightPrior(structure, kernel.correlation, scale, kernel.noise)
        model = build_model(
            method,
            settings,
            features.rows,
            prior.structure,
            logit_scale=initial_logit_scale(method, settings, kernel, scale),
            noise=kernel.noise,
            seed=seed,
        )
        factor = 1.0 if settings.logit_scale is not None else learning_rate_factor(scale)
        history = train_model(model, features.rows, features.held_out, seed, callbacks, factor)
        inferred = gather_hyperparameters(self.name, kernel, prior, model, learning_rate_factor=factor)
        return Fitted.complete(feature_map, model, history, inferred, known=know_tasks(model, features.distinct))


def initial_structure(rows: Rows, kernel: KernelSelection, relatedness: Relatedness, seed: int) -> TaskStructure:
    """Where mixing weights and strengths begin; even ones are not inferred.

    Gradient steps need mixing weights as a table; thousands of tasks have none, so theirs are even.
    """
    if relatedness == "uniform" or (relatedness != "independent" and rows.n_tasks > MAX_TASKS):
        return exchangeable(rows.n_tasks, kernel.correlation)
    return infer_prior(rows, kernel, relatedness, seed).structure


def trainable_scale(scale: float, is_classification: bool) -> float:
    """s0 as far as gradient steps reach it."""
    return min(scale, MAX_TRAINED_SCALE) if is_classification else scale


def learning_rate_factor(scale: float) -> float:
    """Steps of the outputs grow with their scale; it makes up for that."""
    return min(1.0, ASSUMED.scale / scale)


def initial_logit_scale(method: Method, settings: Settings, kernel: KernelSelection, scale: float) -> float:
    """The settings' logit scale, or what gives outputs of s0; only w with a prior has weights of that scale."""
    if settings.logit_scale is not None:
        return settings.logit_scale
    return kernel.logit_scale(scale) if method.prior_w is not None else ASSUMED.scale
