"""Predictions: three modes against brute force, and independence of what else is predicted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from helpers.paper_models import SMALL, build
from helpers.toys import Toy, toy
from vmtl.data import prediction_blocks
from vmtl.paper import prediction
from vmtl.paper.distributions import Gaussian
from vmtl.paper.fit import fit
from vmtl.paper.fitted import FittedVMTL
from vmtl.paper.logits import logit_moments
from vmtl.paper.methods import METHODS
from vmtl.paper.model import Model
from vmtl.paper.prediction import Predictor
from vmtl.paper.training.training import Trainer

CLASSES = toy([9, 14, 11], classes=4, features=6)
VALUES = toy([9, 14, 11], features=6)
MODES = ("monte-carlo", "moment", "mean")


def trained(problem: Toy, **options: object) -> Model:
    settings = replace(SMALL, encoder="linear", max_steps=20, **options)  # type: ignore[arg-type]
    model = build("vmtl", problem.rows(), settings)
    Trainer(model, problem.rows(), seed=0).run()
    return model.requires_grad_(False)


def predictor(model: Model, mode: str, seed: int = 0) -> Predictor:
    return Predictor(model, mode, seed)


def brute_force(model: Model, problem: Toy, draws: int) -> torch.Tensor:
    """Logits (S, n, C) with z and w drawn in full for every row."""
    generator = torch.Generator().manual_seed(0)
    rows = problem.rows()
    q_z, q_w = model.encoder(rows.x[None]), model.q_w()
    assert isinstance(q_z, Gaussian)
    assert isinstance(q_w, Gaussian)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    z = q_z.mean[0] + q_z.scale[0] * normal(draws, *q_z.mean[0].shape)
    mean, scale = q_w.mean[rows.task], q_w.scale[rows.task]  # (n, C, K+1)
    w = mean + scale * normal(draws, *mean.shape)
    return torch.einsum("snk,snck->snc", z, w[..., :-1]) + w[..., -1]


def test_monte_carlo_of_classes_against_brute_force() -> None:
    model = trained(CLASSES, predict_z=40, predict_w=40)
    predicted = predictor(model, "monte-carlo").classes(CLASSES.X, CLASSES.task)
    p = brute_force(model, CLASSES, 4000).softmax(-1)
    np.testing.assert_allclose(predicted.probabilities, p.mean(0), atol=0.03)
    entropies = -(p * p.clamp_min(1e-300).log()).sum(-1).mean(0)
    np.testing.assert_allclose(predicted.aleatoric, entropies, atol=0.05)
    np.testing.assert_allclose(
        predicted.total, -(predicted.probabilities * np.log(predicted.probabilities)).sum(1), atol=1e-9
    )


def test_monte_carlo_and_moments_of_values_against_brute_force() -> None:
    model = trained(VALUES, predict_z=60, predict_w=60)
    draws = brute_force(model, VALUES, 20_000)[..., 0]
    for mode in ("monte-carlo", "moment"):
        predicted = predictor(model, mode).values(VALUES.X, VALUES.task)
        np.testing.assert_allclose(predicted.mean, draws.mean(0), atol=0.05)
        np.testing.assert_allclose(predicted.epistemic, draws.std(0), rtol=0.15)
        np.testing.assert_allclose(predicted.aleatoric, model.likelihood.scale().numpy()[VALUES.task])
    mean = predictor(model, "mean").values(VALUES.X, VALUES.task)
    assert (mean.epistemic == 0).all()
    np.testing.assert_allclose(mean.mean, predictor(model, "moment").values(VALUES.X, VALUES.task).mean)


def test_mean_is_the_softmax_of_the_posterior_means() -> None:
    model, rows = trained(CLASSES), CLASSES.rows()
    z, w = model.encoder(rows.x[None]).mean[0], model.q_w().mean[rows.task]
    logits = torch.einsum("nk,nck->nc", z, w[..., :-1]) + w[..., -1]
    predicted = predictor(model, "mean").classes(CLASSES.X, CLASSES.task)
    np.testing.assert_allclose(predicted.probabilities, logits.softmax(-1))
    np.testing.assert_allclose(predicted.total, predicted.aleatoric)


def test_moment_is_near_many_draws() -> None:
    model = trained(CLASSES)
    p = brute_force(model, CLASSES, 2000).softmax(-1).mean(0)
    predicted = predictor(model, "moment").classes(CLASSES.X, CLASSES.task)
    np.testing.assert_allclose(predicted.probabilities, p, atol=0.12)
    assert (predicted.probabilities.argmax(1) == p.argmax(1).numpy()).mean() > 0.9


def test_the_moments_split_their_entropy_as_draws_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws as wide as MacKay's pi / 8 would have to take them for the same probabilities."""
    monkeypatch.setattr(prediction, "MOMENT_DRAWS", 4000)
    model, rows = trained(CLASSES), CLASSES.rows()
    found = predictor(model, "moment").classes(CLASSES.X, CLASSES.task)
    moments = logit_moments(model.encoder(rows.x[:, None], rows.task), model.q_w().at(rows.task))
    mean, deviation = moments.mean[:, 0], moments.variance[:, 0].sqrt()
    noise = torch.randn((4000, *mean.shape), generator=torch.Generator().manual_seed(1), dtype=mean.dtype)
    draws = (mean + (prediction.SHRINKAGE / (np.pi / 8)) ** 0.5 * deviation * noise).softmax(-1)
    part = prediction.entropy(draws).mean(0) / prediction.entropy(draws.mean(0))
    np.testing.assert_allclose(found.aleatoric, found.total * part.numpy(), rtol=0, atol=0.005)
    assert (part < 0.9).any()


def test_rounding_never_makes_the_models_uncertainty_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws that agree have the entropy of their mean, but for rounding, which is played here."""
    true = Predictor._class_block

    def rounded(*arguments: Any, **options: Any) -> tuple[torch.Tensor, torch.Tensor]:
        p, entropies = true(*arguments, **options)
        return p, entropies + 1e-6

    monkeypatch.setattr(Predictor, "_class_block", rounded)
    predicted = predictor(trained(CLASSES), "mean").classes(CLASSES.X, CLASSES.task)
    assert (predicted.total >= predicted.aleatoric).all()


@pytest.mark.parametrize("mode", MODES)
def test_the_uncertainty_adds_up(mode: str) -> None:
    predicted = predictor(trained(CLASSES), mode).classes(CLASSES.X, CLASSES.task)
    epistemic = predicted.total - predicted.aleatoric
    assert (predicted.aleatoric >= 0).all()
    assert (epistemic >= 0).all()
    assert (epistemic.max() > 1e-3) == (mode != "mean")
    assert predicted.total.max() <= np.log(4) + 1e-9


def test_draws_depend_on_the_seed() -> None:
    model = trained(CLASSES)
    one, two, other = (predictor(model, "monte-carlo", seed).classes(CLASSES.X, CLASSES.task) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.probabilities, two.probabilities)
    assert not np.allclose(one.probabilities, other.probabilities, atol=1e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["vmtl", "vmtl_ac", "vstl", "pooled"])
def test_predictions_do_not_depend_on_batch_size_or_row_order(method: str, mode: str) -> None:
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(300, 6)), rng.integers(0, 3, 300)
    settings = replace(SMALL, encoder="mlp", predictive=mode, max_steps=3, latent_dim=6)
    for problem in (CLASSES, VALUES):
        fitted = fit(METHODS[method], settings, problem.rows(torch.float32), 0)

        def predict(x: np.ndarray, t: np.ndarray, fitted: FittedVMTL = fitted) -> np.ndarray:
            is_classification = fitted.model.is_classification
            return fitted.probabilities(x, t).probabilities if is_classification else fitted.values(x, t).mean

        whole = predict(X, task)
        order = rng.permutation(300)
        np.testing.assert_allclose(predict(X[order], task[order]), whole[order], rtol=0, atol=1e-5)
        for size, last in ((1, 12), (7, 70), (130, 300)):
            parts = [predict(X[i : i + size], task[i : i + size]) for i in range(0, last, size)]
            joined = np.concatenate(parts)
            np.testing.assert_allclose(joined, whole[: len(joined)], rtol=0, atol=1e-5)


def test_the_shape_of_a_block_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    model = trained(CLASSES)
    before = predictor(model, "monte-carlo").classes(CLASSES.X, CLASSES.task).probabilities
    monkeypatch.setattr(prediction_blocks, "CELLS", 3)
    monkeypatch.setattr(prediction_blocks, "CELL_ROWS", 5)
    after = predictor(model, "monte-carlo").classes(CLASSES.X, CLASSES.task).probabilities
    np.testing.assert_allclose(after, before, atol=1e-12)


def test_no_rows_give_no_predictions() -> None:
    predicted = predictor(trained(CLASSES), "moment").classes(np.zeros((0, 6)), np.zeros(0, dtype=int))
    assert predicted.probabilities.shape == (0, 4)


@pytest.mark.parametrize("mode", ["monte-carlo", "moment", "mean"])
def test_probabilities_alone_are_those_beside_the_uncertainty(mode: str) -> None:
    problem = toy([6, 9, 8], classes=3, missing=[(1, 0)])
    fitted = predictor(build("vmtl", problem.rows(), replace(SMALL, encoder="mlp")), mode)
    alone = fitted.probabilities(problem.X, problem.task).probabilities
    assert np.array_equal(alone, fitted.classes(problem.X, problem.task).probabilities)
