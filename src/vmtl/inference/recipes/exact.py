"""The default: means and widths of q(w) from the exact posterior, confidence by left-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from vmtl.config.settings import Settings
from vmtl.data.rows import Rows, Sums
from vmtl.data.subsampling import subsample_evenly
from vmtl.inference.exact.calibration import (
    Calibration,
    approximate_residuals,
    calibrate_classifier,
    calibrate_regression,
)
from vmtl.inference.exact.laplace import shared_curvature
from vmtl.inference.exact.output_prior import OutputPrior
from vmtl.inference.exact.posterior import Solution
from vmtl.inference.exact.training_moments import TrainingMoments, training_loss
from vmtl.inference.exact.weight_prior import ExactPrior, infer_prior, solve
from vmtl.inference.exact.widths import WeightPosterior, information
from vmtl.inference.features.kernel_selection import select_kernel
from vmtl.inference.fitted import Fitted
from vmtl.inference.forest.growing import GrownForest, grow_forest, is_asked
from vmtl.inference.forest.share import infer_share
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
from vmtl.results.left_out_scores import LeftOutScores

#: Most rows whose left-out scores are kept, or so many of each task.
KEPT_SCORES, TASK_SCORES = 20_000, 20


@dataclass(frozen=True)
class Exact:
    """For priors under which the posterior means of w are those of a joint Gaussian: the mixture, N(0, I), and one
    Gaussian that all tasks come from.

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
        told, loss = set_widths(model, features.distinct, prior)
        if model.prior_w is not None:
            model.prior_w.update(model.weights())
        if settings.refine or features.held_out is not None:
            freeze_means(model)
            history = train_model(model, features.rows, features.held_out, seed, callbacks)
        else:
            history = History.of_solution((loss / features.distinct.task_weight.cpu()).to(features.distinct.x))
        grown = None
        if settings.forest and method.mixes_w and is_asked(data.distinct):
            callbacks.before_phase("a second opinion")
            grown = grow_forest(data.distinct, seed)
        callbacks.before_phase("confidence by left-out rows")
        calibration, errors, left_out = calibrate(model, features.distinct, prior.outputs, solution, grown)
        forest = None if grown is None else grown.forest
        inferred = gather_hyperparameters(self.name, kernel, prior, model, calibration, forest)
        known = know_tasks(model, features.distinct)
        if known is not None:
            known = replace(known, belief=prior.belief, exact=ExactEvidence(prior.numbers, told, errors))
        return Fitted.complete(feature_map, model, history, inferred, left_out, known, forest)


@torch.no_grad()
def set_widths(model: Model, rows: Rows, prior: ExactPrior) -> tuple[Tensor, Tensor]:
    """The widths of q(w) in closed form; what the rows told (T, K + 1), and their loss at the means (T,)."""
    assert isinstance(model.head, DirectHead)
    assert model.head.log_scale is not None
    told, loss = rows.total(AtTheMeans(model, prior.outputs.scale, prior.noise))
    widths = WeightPosterior.of(told, prior.outputs).deviations()  # (T, K + 1)
    model.head.log_scale.copy_(widths.log().unsqueeze(1).expand_as(model.head.log_scale))
    return told, loss


@dataclass(frozen=True)
class AtTheMeans:
    """What rows tell about the weights, by how curved the likelihood is at the means, and their loss there."""

    model: Model
    scale: float
    noise: float

    def __call__(self, rows: Rows) -> Sums:
        """(T, K + 1), (T,)."""
        moments, weight = TrainingMoments.of(self.model, rows), rows.weight.double().cpu()
        if rows.is_classification:
            curvature = shared_curvature(moments.mean.softmax(-1), weight)
        else:
            curvature = weight / self.noise**2
        return information(rows, curvature, self.scale), training_loss(self.model, rows, moments)


def freeze_means(model: Model) -> None:
    """The exact means, the noise and the mixing weights that they were found with are not trained."""
    model.head.mean.requires_grad_(False)
    model.freeze_mixing()
    model.likelihood.requires_grad_(False)


@torch.no_grad()
def calibrate(
    model: Model, rows: Rows, prior: OutputPrior, solution: Solution, grown: GrownForest | None = None
) -> tuple[Calibration | None, Tensor, LeftOutScores]:
    """Confidence by left-out rows: the share of a forest, the noise of a regression or scale and widths of a
    classifier; the squares and the number of a regression's errors (T, 2); how far some of the rows are off then."""
    some = some_rows(rows)
    moments, task, weight = TrainingMoments.of(model, some), some.task.cpu(), some.weight.cpu().double()
    if rows.is_classification:
        calibration = calibrate_classifier(model, some, prior, moments)
        right = calibration.left_out.gather(1, some.y.cpu()[:, None])[:, 0]
        if grown is not None:
            right = join_forest(grown, right, some)
        return calibration, torch.zeros(rows.n_tasks, 2, dtype=torch.float64), LeftOutScores(1 - right, task, weight)
    residuals = solution.residuals
    if residuals is None:
        residuals = approximate_residuals(model, some, moments)
    errors = calibrate_regression(model, rows, solution.residuals)
    assert isinstance(model.likelihood, GaussianNoise)
    noise = model.likelihood.scale().cpu().double()[task]
    score = residuals.abs() / (noise.square() + moments.variance[:, 0]).sqrt()
    return None, errors, LeftOutScores(score, task, weight)


def join_forest(grown: GrownForest, by_model: Tensor, rows: Rows) -> Tensor:
    """The share of the forest; and the probability of each row's class (n,) with it, from that of the model."""
    by_forest = grown.out_of_bag.gather(1, rows.y.cpu()[:, None])[:, 0]
    grown.forest.share.fill_(infer_share(by_model, by_forest, rows.weight.cpu()))
    return grown.forest.join(by_model, by_forest)


def some_rows(rows: Rows) -> Rows:
    """Rows that are looked at one by one, as many of each task as it has or others do; they stand for all of theirs."""
    limit = max(KEPT_SCORES, TASK_SCORES * rows.n_tasks)
    some = rows.take(subsample_evenly(rows.task.cpu(), limit, 0).to(rows.task.device))
    return replace(some, weight=some.weight * (rows.task_weight / some.task_weight)[some.task])
