"""Calibration: left-out rows decide how sure a model may be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss
from torch.nn import functional as F

from helpers.toys import SMALL, build, toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl.inference.exact import calibration
from vmtl.inference.exact.calibration import (
    TrainingLogits,
    calibrate_classifier,
    calibrate_regression,
    calibrate_trained_classifier,
    explained_variance,
)
from vmtl.inference.features.maps import apply_map
from vmtl.inference.prediction import SHRINKAGE
from vmtl.model.logits import logit_moments


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


@pytest.mark.parametrize("method", ["vmtl", "vbmtl"])
def test_a_classifier_too_sure_of_itself_is_taken_back(method: str) -> None:
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
    factors = calibrate_classifier(fitted.model, features, torch.eye(3, dtype=torch.float64))
    after = log_loss(label[~train], model._make_predictor().classes(x[~train], task[~train]).probabilities)
    assert float(fitted.model.logit_scale) < 0.7 * scale
    assert factors.log_scale == pytest.approx(float(fitted.model.logit_scale.log()) - np.log(scale), abs=1e-5)
    assert after < before


def test_duplicates_and_weights_are_the_same_to_the_correction() -> None:
    rows = toy([8, 9, 7], classes=3, seed=2)
    again = np.r_[np.arange(24), [0, 5, 9]]
    weight = np.ones(24)
    weight[[0, 5, 9]] = 2
    twice = MultiTaskClassifier(random_state=0, max_steps=5).fit(rows.X[again], rows.y[again], tasks=rows.task[again])
    once = MultiTaskClassifier(random_state=0, max_steps=5).fit(rows.X, rows.y, tasks=rows.task, sample_weight=weight)
    assert float(once._fitted.model.logit_scale) == pytest.approx(float(twice._fitted.model.logit_scale), rel=1e-5)


def test_the_correction_knows_the_variance_that_predictions_will_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Narrower widths of q(w) leave the part of the variance alone that comes from q(z)."""
    rows = toy([12, 9, 10], classes=3, spread=1.5).rows()
    model = build("vmtl", rows, replace(SMALL, encoder="linear", sharing=None))
    tried: list[torch.Tensor] = []
    cross_entropy = F.cross_entropy
    monkeypatch.setattr(F, "cross_entropy", lambda z, *more, **rest: tried.append(z) or cross_entropy(z, *more, **rest))
    monkeypatch.setattr(calibration, "leave_one_out_logits", lambda kernel, logits, *more: logits)
    monkeypatch.setattr(calibration, "FACTOR_RANGE", 0.0)
    monkeypatch.setattr(calibration, "WIDTHS", (-1.0,))
    calibrate_classifier(model, rows, torch.eye(3, dtype=torch.float64))
    with torch.no_grad():
        q_w, scale = model.q_w(), model.logit_scale
        moments = logit_moments(model.encoder(rows.x[:, None], rows.task), q_w.at(rows.task))
        shrunk = scale * moments.mean / (1 + SHRINKAGE * scale**2 * moments.variance).sqrt()
    torch.testing.assert_close(tried[0], shrunk[:, 0])


def test_training_logits_are_those_of_each_row_in_its_order() -> None:
    weight = np.ones(31)
    weight[4] = 0
    rows = toy([12, 9, 10], classes=3).rows(weight=weight)
    order = torch.randperm(31, generator=torch.Generator().manual_seed(0))
    model, rows = build("vmtl", rows, replace(SMALL, encoder="linear")), rows.take(order)
    with torch.no_grad():
        logits = TrainingLogits.of(model, rows)
        moments = logit_moments(model.encoder(rows.x[:, None], rows.task), model.q_w().at(rows.task))
    counted = rows.weight > 0
    torch.testing.assert_close(logits.mean, model.logit_scale * moments.mean[counted, 0])
    torch.testing.assert_close(logits.variance, model.logit_scale**2 * moments.variance[counted, 0])
    assert (logits.variance_of_z < logits.variance).all()


def test_a_trained_classifier_keeps_its_widths() -> None:
    rows = toy([12, 9, 10], classes=3, spread=3.0).rows()
    model = build("vbmtl", rows, replace(SMALL, encoder="linear", logit_scale=40.0))
    widths = model.head.log_scale.detach().clone()
    factors = calibrate_trained_classifier(model, rows, torch.eye(3, dtype=torch.float64))
    assert torch.equal(model.head.log_scale, widths)
    assert factors.log_width == 0
    assert float(model.logit_scale) == pytest.approx(40 * np.exp(factors.log_scale))


def test_noise_and_model_variance_add_up_to_the_errors() -> None:
    rows = toy([30, 40, 20]).rows()
    model = build("vmtl", rows, replace(SMALL, encoder="linear", logit_scale=0.1))
    residuals = torch.linspace(-2, 2, 90, dtype=torch.float64)
    calibrate_regression(model, rows, residuals)
    with torch.no_grad():
        total = explained_variance(model, rows) + (model.likelihood.scale() - model.likelihood.floor).square()
    square = torch.zeros(3, dtype=torch.float64).index_add(0, rows.task, residuals.square())
    torch.testing.assert_close(total, calibration.error_variances(square, rows.task_weight), rtol=1e-6, atol=1e-9)
