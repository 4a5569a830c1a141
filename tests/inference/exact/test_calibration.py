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
    MAX_NEUTRAL,
    NARROW,
    TYPICAL_WIDTH,
    WIDTHS,
    calibrate_classifier,
    calibrate_regression,
)
from vmtl.inference.exact.output_prior import OutputPrior
from vmtl.inference.exact.training_moments import TrainingMoments, task_sum
from vmtl.inference.features.maps import apply_map
from vmtl.inference.prediction import SHRINKAGE
from vmtl.inference.structure.covariance import alike

PRIOR = OutputPrior(alike(3, 0.0), scale=1.0, task_level=0.3)


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
    model = MultiTaskClassifier(method, random_state=0).fit(x[train], label[train], tasks=task[train])
    rows = toy([40, 40, 40], classes=2).rows(torch.float32)
    rows = replace(rows, x=torch.as_tensor(x[train], dtype=torch.float32), y=torch.as_tensor(label[train]))
    rows = replace(rows, task=torch.as_tensor(task[train]))
    fitted = model._fitted
    features = apply_map(fitted.feature_map, rows)
    fitted.model.log_logit_scale += np.log(4)
    test = x[~train], task[~train]
    before = log_loss(label[~train], model._make_predictor(fitted).classes(*test).probabilities)
    scale = float(fitted.model.logit_scale)
    moments = TrainingMoments.of(fitted.model, features)
    factors = calibrate_classifier(fitted.model, features, PRIOR, moments)
    after = log_loss(label[~train], model._make_predictor(fitted).classes(*test).probabilities)
    assert float(fitted.model.logit_scale) < 0.7 * scale
    assert factors.log_scale == pytest.approx(float(fitted.model.logit_scale.log()) - np.log(scale), abs=1e-5)
    assert after < before


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
    calibrate_classifier(model, rows, PRIOR, TrainingMoments.of(model, rows))
    moments = TrainingMoments.of(model, rows)  # of the calibrated model
    shrunk = moments.mean / (1 + SHRINKAGE * moments.variance).sqrt()
    torch.testing.assert_close(tried[0], shrunk, atol=1e-8, rtol=0)


@pytest.mark.parametrize("size", [0.1, 1.0, 3.0])
def test_the_neutral_factor_keeps_the_size_of_the_logits(size: float) -> None:
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(50, 3, generator=generator, dtype=torch.float64)
    variance = size * 0.2 * torch.rand(50, 3, generator=generator, dtype=torch.float64)
    a = np.exp(calibration._neutral_factor(mean, variance))
    shrunk = a * mean / (1 + a**2 * variance).sqrt()
    if a < np.exp(MAX_NEUTRAL):
        assert float(shrunk.square().sum()) == pytest.approx(float(mean.square().sum()), rel=1e-2)
    else:  # at the bound it is not made up for
        assert float(shrunk.square().sum()) < float(mean.square().sum())


def test_the_neutral_factor_of_nothing_is_one() -> None:
    mean, nothing = torch.ones(4, 2, dtype=torch.float64), torch.zeros(4, 2, dtype=torch.float64)
    assert calibration._neutral_factor(mean, nothing) == pytest.approx(0, abs=1e-12)
    assert calibration._neutral_factor(nothing, mean) == 0
    assert calibration._neutral_factor(mean, 1e9 * mean) == MAX_NEUTRAL


def test_of_many_rows_none_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mode keeps its confidence: the widths are typical ones, the scale makes up for them."""
    rows = toy([12, 9, 10], classes=3, spread=1.5).rows()
    model = build("vmtl", rows, replace(SMALL, encoder="linear", sharing=None))
    before = TrainingMoments.of(model, rows)
    monkeypatch.setattr(calibration, "MAX_LEFT_OUT", 30)
    monkeypatch.setattr(calibration, "leave_one_out_logits", None)
    factors = calibrate_classifier(model, rows, PRIOR, before)
    assert factors.log_width == TYPICAL_WIDTH
    after = TrainingMoments.of(model, rows)
    shrunk = after.mean / (1 + SHRINKAGE * after.variance).sqrt()
    assert float(shrunk.square().mean()) == pytest.approx(float(before.mean.square().mean()), rel=0.02)


@pytest.mark.parametrize(("method", "tried"), [("vbmtl", WIDTHS + NARROW), ("bakker", WIDTHS), ("vmtl", WIDTHS)])
def test_only_tasks_that_share_nothing_may_be_narrower_than_all_others(method: str, tried: tuple[float, ...]) -> None:
    """Clear labels under widths that are far too large: the least width there is."""
    rows = toy([12, 9, 10], classes=3, spread=1.5).rows()
    model = build(method, rows, replace(SMALL, encoder="linear", sharing=None))
    moments = TrainingMoments.of(model, rows)
    mean, nothing = 20.0 * F.one_hot(rows.y, 3).double(), torch.zeros_like(moments.variance)
    clear = replace(moments, mean=mean, variance=nothing + 1e6, variance_of_z=nothing)
    assert calibrate_classifier(model, rows, PRIOR, clear).log_width == min(tried)


def test_noise_and_model_variance_add_up_to_the_errors() -> None:
    rows = toy([30, 40, 20]).rows()
    model = build("vmtl", rows, replace(SMALL, encoder="linear", logit_scale=0.1))
    residuals = torch.linspace(-2, 2, 90, dtype=torch.float64)
    moments = TrainingMoments.of(model, rows)
    calibrate_regression(model, rows, residuals)
    with torch.no_grad():
        noise = (model.likelihood.scale() - model.likelihood.floor).square()
    total = task_sum(rows, moments.variance[:, 0]) / rows.task_weight + noise
    square = torch.zeros(3, dtype=torch.float64).index_add(0, rows.task, residuals.square())
    torch.testing.assert_close(total, calibration.error_variances(square, rows.task_weight), rtol=1e-6, atol=1e-9)


def test_errors_of_many_rows_are_what_is_left_in_training_without_their_own_part() -> None:
    """y - f over 1 - h is the leave-one-out error of least squares, h = the variance of f over that of the noise."""
    rows = toy([30, 40, 20]).rows()
    one, other = (build("vmtl", rows, replace(SMALL, encoder="linear", logit_scale=0.1)) for _ in range(2))
    moments = TrainingMoments.of(one, rows)
    with torch.no_grad():
        h = moments.variance[:, 0] / one.likelihood.scale()[rows.task].square()
    assert 0 < float(h.min()) < float(h.max()) < calibration.MAX_LEVERAGE
    calibrate_regression(one, rows, (rows.y - moments.mean[:, 0]) / (1 - h))
    calibrate_regression(other, rows, None)
    torch.testing.assert_close(other.likelihood.scale(), one.likelihood.scale(), atol=1e-8, rtol=0)
