"""The exact model against a dense Gaussian, gradients, refitting and the objective itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from sklearn.metrics import log_loss
from torch.nn import functional as F

from helpers.toys import SMALL, build, toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils.noise import Noise
from vmtl.config.presets import PRESETS
from vmtl.data.rows import Rows
from vmtl.inference import fitting
from vmtl.inference.exact import closed_form
from vmtl.inference.exact.closed_form import error_variances
from vmtl.inference.exact.relatedness import mixture, uniform_similarity
from vmtl.inference.exact.selection import CLASSES, Selection
from vmtl.inference.features.maps import apply_map
from vmtl.inference.fitting import draft
from vmtl.inference.prediction import SHRINKAGE
from vmtl.inference.variational.batches import FullBatch
from vmtl.methods import METHODS
from vmtl.model.logits import logit_moments
from vmtl.model.objective import Objective, Scales

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
    torch.testing.assert_close(means[:, 0], dense_posterior())


def test_residuals_are_those_of_refitting_without_the_row():
    _, residual = closed_form.posterior_mean(ROWS, B, SCALE, NOISE)
    for i in (0, 7, 14):
        weight = ROWS.weight.clone()
        weight[i] = 0
        without = toy([6, 4, 5]).rows(weight=weight.numpy())
        means, _ = closed_form.posterior_mean(without, B, SCALE, NOISE)
        x = torch.cat([ROWS.x[i], torch.ones(1, dtype=torch.float64)])
        assert float(residual[i]) == pytest.approx(float(ROWS.y[i] - SCALE * means[ROWS.task[i], 0] @ x), rel=1e-8)


def test_the_mode_is_where_the_gradient_of_the_joint_density_vanishes():
    """Of all weights at once, under the dense Gaussian prior kron(B, I)."""
    rows = toy([6, 4, 5], classes=3).rows()
    found = closed_form.posterior_mode(rows, B, SCALE).requires_grad_()  # (T, C, K+1)
    x = torch.cat([rows.x, torch.ones(15, 1, dtype=torch.float64)], 1)
    logits = SCALE * torch.einsum("nck,nk->nc", found[rows.task], x)
    prior = torch.einsum("tck,ti,ick->", found, torch.linalg.inv(B), found)
    (gradient,) = torch.autograd.grad(F.cross_entropy(logits, rows.y, reduction="sum") + 0.5 * prior, [found])
    assert float(gradient.abs().max()) < 1e-3


def noisy_classes(signal: float, correlation: float, seed: int = 0) -> Rows:
    """Ten tasks of two classes whose weights correlate; labels follow logits of size ``signal``."""
    rng = np.random.default_rng(seed)
    x, task = rng.normal(size=(200, 4)) / 2, np.repeat(np.arange(10), 20)
    w = correlation**0.5 * rng.normal(size=4) + (1 - correlation) ** 0.5 * rng.normal(size=(10, 4))
    y = (signal * (x * w[task]).sum(1) + rng.logistic(size=200) > 0).astype(int)
    return Rows(*(torch.as_tensor(v) for v in (x, y, task, np.ones(200))), 10, 2, True)


def refined(rows: Rows, likeness: torch.Tensor | None) -> Selection:
    begin = Selection(False, CLASSES.shares(), correlation=0.9, scale=4.0, bias=1.0, noise=1.0)
    return closed_form.refine(rows, begin, likeness, 0)


def test_the_scale_follows_the_signal():
    faint, clear = (
        np.mean([refined(noisy_classes(s, 0.95, k), uniform_similarity(10)).scale for k in range(3)]) for s in (0.5, 20)
    )
    assert 4 * faint < clear


def test_what_a_task_has_of_its_own_follows_the_relatedness():
    """s sqrt(1 - rho), the prior deviation of a task's weights from what it shares."""

    def own(correlation: float, seed: int) -> float:
        found = refined(noisy_classes(10.0, correlation, seed), uniform_similarity(10))
        return found.scale * (1 - found.correlation) ** 0.5

    unrelated, related = (np.mean([own(rho, k) for k in range(3)]) for rho in (0.0, 0.98))
    assert 2 * related < unrelated


def test_tasks_that_share_nothing_have_only_their_scale_refined():
    found = refined(noisy_classes(5.0, 0.5), None)
    assert found.correlation == pytest.approx(0.9)
    assert found.scale != 4.0


@pytest.mark.parametrize("method", ["vmtl", "vbmtl"])
def test_the_closed_form_is_the_optimum_of_the_objective(method):
    """With everything alike and mixing weights without noise, the gradient on the means vanishes."""
    settings = PRESETS["default"].with_options(mixing="mean", relatedness="uniform", latent_dim=6, bayesian_z=False)
    made = draft(METHODS[method], settings, toy([20, 15, 25], seed=3).rows(), 0)
    model, rows = made.model, made.features
    assert made.residual is not None
    model.head.mean.requires_grad_(True)
    batch, noise = FullBatch(rows).draw(None), Noise(0, torch.device("cpu"), torch.float64)
    objective = Objective(model, rows)
    loss = objective.loss(objective.terms(batch, 1.0, noise), Scales(0.0, 1.0, 0.0))
    (gradient,) = torch.autograd.grad(loss, [model.head.mean])
    size = float(loss.detach())
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


def test_noise_of_tasks_depends_on_relative_weights_only():
    rng = np.random.default_rng(0)
    x, task = rng.normal(size=(60, 4)), np.repeat(np.arange(12), 5)
    y = x @ rng.normal(size=4) + rng.normal(size=60) * (1 + task % 2)
    light, usual = (
        MultiTaskRegressor(random_state=0).fit(x, y, tasks=task, sample_weight=np.full(60, weight))
        for weight in (1e-3, 1.0)
    )
    stds = [model.predict(x, tasks=task, return_std=True)[1] for model in (light, usual)]
    np.testing.assert_allclose(*stds, rtol=0.05)


def test_no_errors_have_no_variance_and_one_wild_task_leaves_the_others_alone():
    """A constant target, and sixty tasks of eight errors of which one has a variance of 10,000."""
    x, task = np.random.default_rng(0).normal(size=(32, 3)), np.arange(32) % 4
    model = MultiTaskRegressor(random_state=0).fit(x, np.zeros(32), tasks=task)
    np.testing.assert_allclose(model.predict(x, tasks=task), 0, atol=1e-6)
    square = torch.full((60,), 8.0, dtype=torch.float64)
    square[0] = 80_000
    found = error_variances(square, torch.full((60,), 8.0, dtype=torch.float64))
    assert found[1:].max() < 2
    assert found[0] > 5_000


def test_variances_of_tasks_equal_numerical_integration(monkeypatch):
    """E[s_t^2 | errors] and the weight of each (nu, s^2), by quadrature over s_t^2."""
    degrees, ratios = [8.0, 64.0], [0.5, 1.0]
    monkeypatch.setattr(closed_form, "DEGREES", torch.tensor(degrees, dtype=torch.float64))
    monkeypatch.setattr(closed_form, "RATIOS", torch.tensor(ratios, dtype=torch.float64))
    square, count = np.array([3.0, 20.0, 8.0]), np.array([6.0, 9.0, 4.0])
    v = np.exp(np.linspace(-8, 8, 20001))
    weights, means = [], []
    for nu in degrees:
        for ratio in ratios:
            s2 = ratio * square.sum() / count.sum()
            prior = stats.invgamma(nu / 2, scale=nu * s2 / 2).pdf(v)
            joint = [prior * v ** (-n / 2) * np.exp(-q / (2 * v)) for q, n in zip(square, count, strict=True)]
            total = [integrate.trapezoid(value, v) for value in joint]
            weights.append(np.prod(total))
            means.append([integrate.trapezoid(v * value, v) / t for value, t in zip(joint, total, strict=True)])
    expected = np.array(weights) / np.sum(weights) @ np.array(means)
    found = error_variances(torch.from_numpy(square), torch.from_numpy(count))
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("spread", "own_loses", "one_loses"), [(0.0, 0.08, -0.005), (0.7, 0.03, 0.03), (1.0, 0.02, 0.1)]
)
def test_variances_beat_those_of_each_task_and_of_all(spread, own_loses, one_loses):
    """Twenty draws of sixty tasks with eight errors each: the expected log likelihood of further errors."""
    rng = np.random.default_rng(0)
    truth = np.exp(spread * rng.normal(size=(20, 60)))
    square = (truth[..., None] * rng.normal(size=(20, 60, 8)) ** 2).sum(-1)
    own, common = square / 8, np.broadcast_to(square.mean(1, keepdims=True) / 8, square.shape)
    count = torch.full((60,), 8.0, dtype=torch.float64)
    found = np.stack([error_variances(torch.from_numpy(drawn), count).numpy() for drawn in square])

    def nll(variance: np.ndarray) -> float:
        return float(np.mean(np.log(variance) + truth / variance)) / 2

    assert nll(own) - nll(found) > own_loses
    assert nll(common) - nll(found) > one_loses


@pytest.mark.parametrize(("method", "solved"), [("vmtl", True), ("vstl", False), ("vbmtl", True), ("bakker", False)])
def test_the_mode_of_a_classifier_is_trained_on_only_under_another_prior(method, solved):
    data = toy([15, 20, 12], classes=3)
    begun = draft(METHODS[method], PRESETS["default"], data.rows(torch.float32), 0)
    if method != "vstl":  # features of its own per task: nothing is selected
        assert begun.tempers
    model = MultiTaskClassifier(method, random_state=0, max_steps=20).fit(data.X, data.y, tasks=data.task)
    same = torch.equal(model._fitted.model.head.mean, begun.model.head.mean.detach())
    assert same == solved


def test_beyond_what_is_affordable_a_classifier_is_trained(monkeypatch):
    monkeypatch.setattr(fitting, "MAX_LOGITS", 100)
    made = draft(METHODS["vmtl"], PRESETS["default"], toy([15, 20, 12], classes=3).rows(), 0)
    assert made.model.head.mean.requires_grad
    assert not made.tempers
    assert float(made.model.logit_scale) <= fitting.MAX_TRAINED_SCALE * 3


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


def test_the_correction_knows_the_variance_that_predictions_will_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Narrower widths of q(w) leave the part of the variance alone that comes from q(z)."""
    rows = toy([12, 9, 10], classes=3, spread=1.5).rows()
    model = build("vmtl", rows, replace(SMALL, encoder="linear", sharing=None))
    tried: list[torch.Tensor] = []
    cross_entropy = F.cross_entropy
    monkeypatch.setattr(F, "cross_entropy", lambda z, *more, **rest: tried.append(z) or cross_entropy(z, *more, **rest))
    monkeypatch.setattr(closed_form, "left_out", lambda kernel, logits, *more: logits)
    monkeypatch.setattr(closed_form, "FACTOR_RANGE", 0.0)
    monkeypatch.setattr(closed_form, "WIDTHS", (-1.0,))
    closed_form.temper(model, rows, torch.eye(3, dtype=torch.float64))
    with torch.no_grad():
        q_w, scale = model.q_w(), model.logit_scale
        moments = logit_moments(model.encoder(rows.x[:, None], rows.task), q_w.at(rows.task))
        shrunk = scale * moments.mean / (1 + SHRINKAGE * scale**2 * moments.variance).sqrt()
    torch.testing.assert_close(tried[0], shrunk[:, 0])


def test_duplicates_and_weights_are_the_same_to_the_correction() -> None:
    rows = toy([8, 9, 7], classes=3, seed=2)
    again = np.r_[np.arange(24), [0, 5, 9]]
    weight = np.ones(24)
    weight[[0, 5, 9]] = 2
    twice = MultiTaskClassifier(random_state=0, max_steps=5).fit(rows.X[again], rows.y[again], tasks=rows.task[again])
    once = MultiTaskClassifier(random_state=0, max_steps=5).fit(rows.X, rows.y, tasks=rows.task, sample_weight=weight)
    assert float(once._fitted.model.logit_scale) == pytest.approx(float(twice._fitted.model.logit_scale), rel=1e-5)
