"""Training stays finite over wide ranges, says where it diverges, and agrees between float32 and float64."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from helpers.reliable import Toy
from vmtl import METHODS, PRESETS, MultiTaskClassifier, VMTLClassifier, VMTLRegressor
from vmtl.datasets import load_digits_domains
from vmtl.estimators import variational_fit
from vmtl.estimators.variational_fit import settings_of
from vmtl.paper.objective import Objective
from vmtl.paper.settings import Settings
from vmtl.paper.training.training import DivergenceError

LEARNING_RATES = (1e-5, 1e-4, 1e-3, 1e-2)
SCALES = (1e-3, 1.0, 1e3)
KL_SCALES = (0.0, 1e-4, 1.0)
GRID = tuple(itertools.product(LEARNING_RATES, SCALES, KL_SCALES))
CORNERS = tuple(itertools.product(LEARNING_RATES[::3], SCALES[::2], KL_SCALES[::2]))


@pytest.fixture(scope="module")
def digits() -> Any:
    """The embedded digits under four rotations, a small share of them."""
    problem = load_digits_domains()
    return problem.subset(np.arange(0, problem.n_rows, 30))


def check_stable(
    monkeypatch: pytest.MonkeyPatch,
    problem: Any,
    grid: tuple[tuple[float, float, float], ...],
    steps: int,
    **options: Any,
) -> None:
    """No NaN in any weight, term or prediction: each fit checks its own weights, and here is the rest."""

    def tempered(estimator: Any) -> Settings:
        """Both KL scales set by hand."""
        return replace(settings_of(estimator), kl_scale_w=("constant", kl), kl_scale_z=("constant", kl))

    monkeypatch.setattr(variational_fit, "settings_of", tempered)
    for kind in (VMTLClassifier, VMTLRegressor):
        y = problem.labels if kind is VMTLClassifier else problem.y.astype(float)
        for rate, scale, kl in grid:
            model: Any = kind(max_steps=steps, learning_rate=rate, random_state=0, **options)
            X = scale * np.asarray(problem.X, dtype=np.float64)
            model.fit(X, y, tasks=problem.tasks)
            where = f"{kind.__name__} rate {rate} scale {scale} kl {kl}"
            assert np.isfinite(model.history_[["nll", "kl_z", "kl_w"]].to_numpy()).all(), where
            assert np.isfinite(model.uncertainty(X, tasks=problem.tasks).to_numpy()).all(), where


@pytest.mark.parametrize("preset", PRESETS)
def test_stable_at_the_corners(preset: str, digits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check_stable(monkeypatch, digits, CORNERS, steps=8, preset=preset, latent_dim=16, n_z=2, n_w=2)


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
def test_stable_over_the_grid(preset: str, digits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check_stable(monkeypatch, digits, GRID, steps=60, preset=preset, latent_dim=32, n_z=2, n_w=2)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_stable_at_the_corners(method: str, digits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check_stable(monkeypatch, digits, CORNERS, steps=30, method=method, latent_dim=32)


def test_the_default_does_not_depend_on_the_unit_of_the_features(digits: Any) -> None:
    """Views, distances and kernels are relative to the training rows, so accuracy is the same in any unit."""
    X, y, tasks = np.asarray(digits.X, dtype=float), digits.labels, digits.tasks

    def predicted(scale: float) -> Any:
        model = MultiTaskClassifier(random_state=0).fit(scale * X[::2], y[::2], tasks=tasks[::2])
        return model.predict(scale * X, tasks=tasks)

    small, same, large = map(predicted, SCALES)
    assert (small == same).mean() > 0.9
    assert (large == same).mean() > 0.9


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("encoder", ["linear", "mlp"])
def test_divergence_names_step_term_and_task(encoder: str, dtype: str, toy: Toy) -> None:
    model = VMTLClassifier(encoder=encoder, dtype=dtype, max_steps=50, learning_rate=1e300, random_state=0)
    with pytest.raises(DivergenceError, match=r"diverged at step \d+: .* is not finite; lower learning_rate") as caught:
        model.fit(toy.X, toy.labels, tasks=toy.tasks)
    assert 0 <= caught.value.step <= 50
    assert caught.value.term
    if caught.value.task is not None:
        assert str(toy.tasks[caught.value.task]) in str(caught.value)
    assert not hasattr(model, "tasks_")


@pytest.mark.parametrize("term", ["nll", "kl_z", "kl_w"])
def test_divergence_of_one_term_names_its_task(term: str, toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third of three tasks breaks in the fifth step."""
    true_terms, calls = Objective.terms, itertools.count(1)

    def broken_terms(*arguments: Any) -> Any:
        true = true_terms(*arguments)
        if next(calls) < 5:
            return true
        return replace(true, **{term: getattr(true, term) * torch.tensor([1.0, 1.0, torch.nan])})

    monkeypatch.setattr(Objective, "terms", broken_terms)
    with pytest.raises(DivergenceError, match=f"at step 4: {term} of task 'west' is not finite") as caught:
        VMTLRegressor(encoder="linear", max_steps=9, random_state=0).fit(toy.X, toy.values, tasks=toy.tasks)
    assert (caught.value.step, caught.value.term, caught.value.task) == (4, term, 2)


#: Largest difference of a probability, and of a prediction in units of the target's deviation, after 100 steps: Adam
#: divides by the size of a gradient, so that the rounding of a weight that hardly matters is not small.
TOLERANCE = {VMTLClassifier: 5e-3, VMTLRegressor: 3e-2}


@pytest.mark.parametrize("kind", [VMTLClassifier, VMTLRegressor])
@pytest.mark.parametrize("method", ["vmtl", "bmtl", "long", "stl"])
def test_float32_agrees_with_float64(method: str, kind: Any, toy: Toy) -> None:
    """Where no random numbers differ: draws of float32 and float64 are not the same numbers, so none are drawn."""
    options: dict[str, Any] = {"encoder": "linear", "bayesian_z": False, "bayesian_w": False, "mixing": "mean"}
    y = toy.labels if kind is VMTLClassifier else toy.values
    predictions = []
    for dtype in ("float32", "float64"):
        model = kind(method=method, dtype=dtype, max_steps=100, random_state=0, **options)
        model.fit(toy.X, y, tasks=toy.tasks)
        ask = model.predict_proba if kind is VMTLClassifier else model.predict
        predictions.append(np.asarray(ask(toy.X, tasks=toy.tasks), dtype=np.float64))
    unit = 1.0 if kind is VMTLClassifier else np.std(toy.values)
    assert np.abs(predictions[0] - predictions[1]).max() <= TOLERANCE[kind] * unit
