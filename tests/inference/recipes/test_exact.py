"""The exact way: its means are the optimum of the objective and are not trained; errors are calibrated."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from helpers.toys import toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils.noise import Noise
from vmtl.config.presets import PRESETS
from vmtl.datasets import load_digits_domains
from vmtl.inference.exact.output_prior import OutputPrior
from vmtl.inference.exact.posterior import solve_regression
from vmtl.inference.features.kernel_selection import ASSUMED
from vmtl.inference.recipes.exact import calibrate, freeze_means
from vmtl.inference.recipes.steps import adopt, build_model, relatedness_of
from vmtl.inference.strategy import fit
from vmtl.inference.structure.covariance import alike
from vmtl.inference.structure.mixing_weights import exchangeable
from vmtl.inference.variational.batches import FullBatch
from vmtl.methods import METHODS
from vmtl.model.model import Model
from vmtl.model.objective import Objective, Scales
from vmtl.model.priors.learned_gaussian import LearnedGaussianW

SETTINGS = PRESETS["default"].with_options(mixing="mean", relatedness="uniform", latent_dim=6, bayesian_z=False)
ROWS = toy([20, 15, 25], seed=3).rows()
SCALE, NOISE = 0.7, 0.4


def solved(method: str) -> Model:
    """A model whose levels have the prior of its slopes, which is that of the objective."""
    correlation = 0.0 if method == "vbmtl" else ASSUMED.correlation
    structure = exchangeable(3, correlation)
    shared, own = correlation**0.5 * SCALE, (1 - correlation) ** 0.5 * SCALE
    prior = OutputPrior(alike(3, correlation), SCALE, task_level=own, shared_level=shared)
    model = build_model(METHODS[method], SETTINGS, ROWS, structure, logit_scale=SCALE, noise=NOISE, seed=0)
    solution = solve_regression(ROWS, prior, float(model.likelihood.scale().detach()[0]))
    adopt(model, solution)
    return model


@pytest.mark.parametrize("method", ["vmtl", "vbmtl"])
def test_the_closed_form_is_the_optimum_of_the_objective(method: str) -> None:
    """With everything alike and mixing weights without noise, the gradient on the means vanishes."""
    model = solved(method)
    batch, noise = FullBatch(ROWS).draw(None), Noise(0, torch.device("cpu"), torch.float64)
    objective = Objective(model, ROWS)
    loss = objective.loss(objective.terms(batch, 1.0, noise), Scales(0.0, 1.0, 0.0))
    (gradient,) = torch.autograd.grad(loss, [model.head.mean])
    size = float(loss.detach())
    assert gradient.abs().max() < 1e-6 * max(1.0, abs(size))


@pytest.mark.parametrize("method", ["vmtl", "vbmtl"])
def test_refining_trains_widths_only(method: str) -> None:
    model = solved(method)
    freeze_means(model)
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert "head.log_scale" in trained
    assert not any(name.startswith(("head.mean", "likelihood", "mixing")) for name in trained)


def test_only_methods_with_a_mixture_may_share() -> None:
    assert relatedness_of(METHODS["vbmtl"], SETTINGS) == "independent"
    assert relatedness_of(METHODS["vmtl"], SETTINGS) == "uniform"
    assert relatedness_of(METHODS["vmtl"], PRESETS["default"]) == "averaged"
    learnable = PRESETS["default"].with_options(mixing="learnable")
    assert relatedness_of(METHODS["vmtl"], learnable) == "most probable"


@pytest.mark.parametrize("method", ["vmtl", "vbmtl"])
@pytest.mark.parametrize("classes", [0, 3])
def test_means_stay_what_was_solved_and_widths_do_not(method: str, classes: int) -> None:
    rows = toy([15, 20, 12], classes=classes).rows(torch.float32)
    one, many = (
        fit(METHODS[method], PRESETS["default"].with_options(max_steps=steps), rows, 0).model for steps in (1, 20)
    )
    assert torch.equal(one.head.mean, many.head.mean)
    assert not torch.equal(one.head.log_scale, many.head.log_scale)


def test_solved_means_and_noise_are_not_trained_and_the_error_is_calibrated() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(240, 4))
    task = np.repeat(np.arange(6), 40)
    y = x @ rng.normal(size=4) + 0.1 * x[:, 0] * task + rng.normal(size=240)
    train = np.arange(240) % 2 == 0
    short = MultiTaskRegressor(max_steps=1, random_state=0).fit(x[train], y[train], tasks=task[train])
    full = MultiTaskRegressor(random_state=0).fit(x[train], y[train], tasks=task[train])
    np.testing.assert_allclose(
        short.predict(x[~train], tasks=task[~train]), full.predict(x[~train], tasks=task[~train]), atol=1e-4
    )
    mean, std = full.predict(x[~train], tasks=task[~train], return_std=True)
    standardised = (y[~train] - mean) / std
    assert 0.8 < standardised.std() < 1.25


def test_a_constant_target_is_predicted() -> None:
    x, task = np.random.default_rng(0).normal(size=(32, 3)), np.arange(32) % 4
    model = MultiTaskRegressor(random_state=0).fit(x, np.zeros(32), tasks=task)
    np.testing.assert_allclose(model.predict(x, tasks=task), 0, atol=1e-6)


@pytest.mark.parametrize("classes", [0, 3])
def test_what_was_inferred_is_that_of_the_model(classes: int) -> None:
    fitted = fit(METHODS["vmtl"], PRESETS["default"].with_options(max_steps=2), toy([9, 9, 9], classes).rows(), 0)
    inferred = fitted.hyperparameters
    assert inferred.strategy == "exact"
    assert inferred.logit_scale == pytest.approx(float(fitted.model.logit_scale))
    assert inferred.scale is not None
    assert inferred.structure is not None
    torch.testing.assert_close(inferred.structure.sharing, fitted.model.sharing())
    torch.testing.assert_close(inferred.structure.alpha, fitted.model.alpha())
    assert inferred.structure.beta is not None
    torch.testing.assert_close(inferred.structure.beta, fitted.model.beta())
    between = inferred.structure.covariance[~torch.eye(3, dtype=torch.bool)]
    assert float(between.mean()) == pytest.approx(inferred.correlation)
    assert (inferred.noise is None) == (inferred.width_factor is not None) == bool(classes)


@torch.no_grad()
def test_scores_of_left_out_rows_are_those_of_a_fit_without_them() -> None:
    """A regression: the mean without each row, one solution after the other, over the deviation that is predicted."""
    rows, structure = toy([8, 6, 7], seed=3).rows(), exchangeable(3, 0.6)
    model = build_model(METHODS["vmtl"], SETTINGS, rows, structure, logit_scale=0.7, noise=0.4, seed=0)
    prior = OutputPrior(alike(3, 0.6), 0.7, 0.3)
    solution = solve_regression(rows, prior, 0.4)
    adopt(model, solution)
    _, _, found = calibrate(model, rows, prior, solution)
    noise, q_w = model.likelihood.scale(), model.q_w()  # type: ignore[operator]
    for n in range(len(rows.y)):
        others = rows.take(torch.tensor([i for i in range(len(rows.y)) if i != n]))
        t = int(rows.task[n])
        x = torch.cat([rows.x[n], torch.ones(1, dtype=rows.x.dtype)])
        mean = solve_regression(others, prior, 0.4).weights[t, 0] @ x
        variance = 0.7**2 * q_w.variance[t, 0] @ x.square()
        expected = (rows.y[n] - mean).abs() / (noise[t].square() + variance).sqrt()
        assert float(found.score[n]) == pytest.approx(float(expected), rel=1e-6, abs=1e-9)


def test_scores_of_a_classifier_are_those_of_its_left_out_probabilities() -> None:
    digits = load_digits_domains().subset(range(0, 1797, 30))
    model = MultiTaskClassifier(max_steps=5, dtype="float64", random_state=0)
    model.fit(digits.X, digits.labels, tasks=digits.tasks)
    found = model._fitted.left_out
    assert found is not None
    assert len(found.score) == len(digits.y)
    p = model.predict_proba(digits.X, tasks=digits.tasks)[np.arange(len(digits.y)), digits.y]
    assert found.score.mean() > (1 - p).mean()  # a row that is left out is predicted worse
    assert 0 <= float(found.score.min()) <= float(found.score.max()) <= 1


@pytest.mark.parametrize("classes", [0, 3])
def test_one_gaussian_of_all_tasks_has_the_means_of_an_even_mixture(classes: int) -> None:
    """Bakker and Heskes's prior, whose M step then follows from the posterior."""
    rows = toy([15, 20, 12], classes=classes).rows()
    even = fit(METHODS["vmtl"], PRESETS["default"].with_options(mixing="mean"), rows, 0)
    bakker = fit(METHODS["bakker"], PRESETS["default"], rows, 0)
    torch.testing.assert_close(bakker.model.head.mean, even.model.head.mean)
    assert bakker.hyperparameters.correlation == pytest.approx(even.hyperparameters.correlation)
    assert isinstance(bakker.model.prior_w, LearnedGaussianW)
    torch.testing.assert_close(bakker.model.prior_w.mean, bakker.model.head.mean.mean(0))
