"""The closed form of a regression against a dense Gaussian, refitting and the objective itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss

from toys import toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor, closed_form
from vmtl.batches import FullBatch
from vmtl.fitting import draft
from vmtl.kernels import apply_map
from vmtl.methods import METHODS
from vmtl.noise import Noise
from vmtl.objective import Scales, task_losses, task_shares, terms
from vmtl.presets import PRESETS
from vmtl.relatedness import mixture, uniform_similarity

B = mixture(uniform_similarity(3), 0.7).covariance
ROWS = toy([6, 4, 5]).rows()
SCALE, NOISE = 1.3, 0.4


def dense_posterior() -> torch.Tensor:
    """E[w | y] of the stacked weights, from the joint Gaussian of all of them."""
    x = torch.cat([ROWS.x, torch.ones(15, 1, dtype=torch.float64)], 1)
    design = torch.zeros(15, 3, x.shape[1], dtype=torch.float64)
    design[torch.arange(15), ROWS.task] = SCALE * x
    design = design.flatten(1)
    prior = torch.linalg.inv(torch.kron(B, torch.eye(x.shape[1], dtype=torch.float64)))
    precision = prior + design.T @ design / NOISE**2
    return torch.linalg.solve(precision, design.T @ ROWS.y / NOISE**2).view(3, -1)


def test_posterior_mean_is_that_of_the_dense_gaussian():
    means, _ = closed_form.posterior_mean(ROWS, B, SCALE, NOISE)
    torch.testing.assert_close(means, dense_posterior())


def test_residuals_are_those_of_refitting_without_the_row():
    _, residual = closed_form.posterior_mean(ROWS, B, SCALE, NOISE)
    for i in (0, 7, 14):
        weight = ROWS.weight.clone()
        weight[i] = 0
        without = toy([6, 4, 5]).rows(weight=weight.numpy())
        means, _ = closed_form.posterior_mean(without, B, SCALE, NOISE)
        x = torch.cat([ROWS.x[i], torch.ones(1, dtype=torch.float64)])
        assert float(residual[i]) == pytest.approx(float(ROWS.y[i] - SCALE * means[ROWS.task[i]] @ x), rel=1e-8)


@pytest.mark.parametrize("method", ["vmtl", "vbmtl"])
def test_the_closed_form_is_the_optimum_of_the_objective(method):
    """With everything alike and mixing weights without noise, the gradient on the means vanishes."""
    settings = PRESETS["default"].with_options(mixing="mean", relatedness="uniform", latent_dim=6, bayesian_z=False)
    made = draft(METHODS[method], settings, toy([20, 15, 25], seed=3).rows(), 0)
    model, rows = made.model, made.features
    assert made.residual is not None
    model.attach(rows)
    model.head.mean.requires_grad_(True)
    batch, noise = FullBatch(rows).draw(None), Noise(0, torch.device("cpu"), torch.float64)
    values = terms(model, model(batch, 1.0, noise), batch)
    losses = task_losses(model, values, Scales(0.0, 1.0, 0.0))
    (gradient,) = torch.autograd.grad((task_shares(model) * losses).sum(), [model.head.mean])
    size = float((task_shares(model) * losses).sum().detach())
    assert gradient.abs().max() < 1e-6 * max(1.0, abs(size))


def test_solved_means_and_noise_are_not_trained_and_the_error_is_calibrated():
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


def test_a_strength_given_by_hand_is_trained_not_solved():
    made = draft(METHODS["vmtl"], PRESETS["default"].with_options(sharing=0.9, latent_dim=4), ROWS, 0)
    assert made.residual is None
    assert made.model.head.mean.requires_grad


@pytest.mark.parametrize("method", ["vmtl", "vbmtl"])
def test_a_classifier_too_sure_of_itself_is_tempered(method: str) -> None:
    """Labels that are half noise: a scale four times too large is taken back, and left-out rows gain by it."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 4))
    task = np.arange(300) % 3
    label = np.where(rng.random(300) < 0.5, (x @ rng.normal(size=4) > 0).astype(int), rng.integers(0, 2, 300))
    train = np.arange(300) < 120
    model = MultiTaskClassifier(method, random_state=0, max_steps=60).fit(x[train], label[train], tasks=task[train])
    rows = toy([40, 40, 40], classes=2).rows(torch.float32)
    rows = replace(rows, x=torch.as_tensor(x[train], dtype=torch.float32), y=torch.as_tensor(label[train]))
    rows = replace(rows, task=torch.as_tensor(task[train]))
    fitted = model._fitted
    features = apply_map(fitted.feature_map, rows)
    fitted.model.log_logit_scale += np.log(4)
    before = log_loss(label[~train], model._make_predictor().classes(x[~train], task[~train]).probabilities)
    scale = float(fitted.model.logit_scale)
    closed_form.temper(fitted.model, features, torch.eye(3, dtype=torch.float64))
    after = log_loss(label[~train], model._make_predictor().classes(x[~train], task[~train]).probabilities)
    assert float(fitted.model.logit_scale) < 0.7 * scale
    assert after < before


def test_duplicates_and_weights_are_the_same_to_the_correction() -> None:
    rows = toy([8, 9, 7], classes=3, seed=2)
    again = np.r_[np.arange(24), [0, 5, 9]]
    weight = np.ones(24)
    weight[[0, 5, 9]] = 2
    twice = MultiTaskClassifier(random_state=0, max_steps=5).fit(rows.X[again], rows.y[again], tasks=rows.task[again])
    once = MultiTaskClassifier(random_state=0, max_steps=5).fit(rows.X, rows.y, tasks=rows.task, sample_weight=weight)
    assert float(once._fitted.model.logit_scale) == pytest.approx(float(twice._fitted.model.logit_scale), rel=1e-5)
