"""Point estimates of w: the same model as scikit-learn's at the same strength, and no worse than it with its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss

from helpers.toys import toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl.config.presets import PRESETS
from vmtl.data.rows import Rows
from vmtl.data.splits import random_split
from vmtl.datasets import load_digits_domains, load_rotated_digits
from vmtl.evaluation import REFERENCES, fit_reference
from vmtl.inference.exact import lattice
from vmtl.inference.exact.output_prior import SHARED_LEVEL
from vmtl.inference.features.maps import apply_map
from vmtl.inference.fitted import Fitted
from vmtl.inference.recipes import point
from vmtl.inference.strategy import fit
from vmtl.methods import METHODS
from vmtl.model.priors.tensor_normal import TensorNormalW

CLASSES, VALUES = toy([20, 25, 15], classes=3, spread=2.0).rows(), toy([20, 25, 15]).rows()
DEFAULT = PRESETS["default"].with_options(max_steps=200)


def solved(method: str, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> tuple[Fitted, float, Rows]:
    """The fit at one point of the scales before its confidence is calibrated, its logit scale, and its features.

    A last feature stands for the level: its weight has the variance 1 of the others if it is deviation / scale.
    """
    monkeypatch.setattr(point, "calibrate", lambda *arguments: None)
    monkeypatch.setattr(lattice, "MAX_POINTS", 1)
    fitted = fit(METHODS[method], DEFAULT, rows, 0)
    features, scale = apply_map(fitted.feature_map, rows), float(fitted.model.logit_scale)
    level = fitted.hyperparameters.task_level
    assert level is not None
    if method == "pooled":
        unit = 1.0 if rows.is_classification else noise_of(fitted)
        level = float(np.hypot(level, SHARED_LEVEL * unit))
    constant = torch.full((len(rows.y), 1), level / scale).double()
    return fitted, scale, replace(features, x=torch.cat([features.x, constant], 1))


def noise_of(fitted: Fitted) -> float:
    assert fitted.hyperparameters.noise is not None
    return fitted.hyperparameters.noise


def weights_of(fitted: Fitted, rows: Rows) -> torch.Tensor:
    """(T, C, K + 1) with the level in units of the last feature."""
    mean = fitted.model.q_w().mean.clone()
    mean[..., -1] /= rows.x[0, -1]
    return mean


@pytest.mark.parametrize("method", ["bmtl", "stl", "pooled", "kendall", "qian"])
def test_a_classifier_is_logistic_regression_at_the_same_strength(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logits s w . x with |w|^2 / 2 are logits v . x with |v|^2 / (2 s^2), scikit-learn's C = s^2."""
    fitted, scale, rows = solved(method, CLASSES, monkeypatch)
    for t in range(3):
        seen = rows.task == t if method != "pooled" else rows.task >= 0
        sklearn = LogisticRegression(C=scale**2, fit_intercept=False, tol=1e-8, max_iter=10_000)
        sklearn.fit(rows.x[seen], rows.y[seen])
        ours = scale * weights_of(fitted, rows)[t] @ rows.x[seen].T
        expected = torch.as_tensor(sklearn.decision_function(rows.x[seen])).T
        torch.testing.assert_close(
            ours - ours.mean(0), expected - expected.mean(0), atol=5e-3, rtol=5e-3
        )  # of the search for the mode


@pytest.mark.parametrize("method", ["bmtl", "stl", "pooled"])
def test_a_regression_is_ridge_at_the_same_strength(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted, scale, rows = solved(method, VALUES, monkeypatch)
    noise = noise_of(fitted)
    for t in range(3):
        seen = rows.task == t if method != "pooled" else rows.task >= 0
        ridge = Ridge(alpha=(noise / scale) ** 2, fit_intercept=False, solver="cholesky").fit(
            rows.x[seen], rows.y[seen]
        )
        ours = scale * weights_of(fitted, rows)[t, 0] @ rows.x[seen].T
        torch.testing.assert_close(ours, torch.as_tensor(ridge.predict(rows.x[seen])), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("rows", [CLASSES, VALUES], ids=["classes", "values"])
def test_slopes_of_long_are_the_mode_under_their_covariance(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient of the loss of all rows and of the tensor-normal penalty cancel; related tasks are found so."""
    fitted, scale, features = solved("long", rows, monkeypatch)
    prior = fitted.model.prior_w
    assert isinstance(prior, TensorNormalW)
    w = fitted.model.head.mean.clone().requires_grad_()
    x = torch.cat([features.x[:, :-1], torch.ones(len(rows.y), 1).double()], 1)
    outputs = scale * torch.einsum("nk,nck->nc", x, w[features.task])
    if rows.is_classification:
        loss = torch.nn.functional.cross_entropy(outputs, rows.y, reduction="sum")
    else:
        noise = noise_of(fitted)
        loss = 0.5 * (outputs[:, 0] - rows.y).square().sum() / noise**2
    likelihood = torch.autograd.grad(loss, w)[0][..., :-1]
    penalty = (prior.inverse @ w.detach().flatten(1)).view_as(w)[..., :-1]
    torch.testing.assert_close(likelihood, -penalty, atol=2e-3 * float(penalty.abs().max()), rtol=0)
    off_diagonal = prior.covariance[~torch.eye(3, dtype=torch.bool)]
    assert float(off_diagonal.min()) > 0.2


def test_weights_of_tasks_move_to_where_kendall_puts_them() -> None:
    """At the optimum of exp(-s) loss + s / 2 is s = log(2 loss); labels are those of equal weights."""
    fitted = fit(METHODS["kendall"], DEFAULT, CLASSES, 0)
    assert fitted.history.step[-1] == DEFAULT.max_steps
    losses = fitted.history.nll[-1] + fitted.history.kl_w[-1] / CLASSES.task_weight
    torch.testing.assert_close(fitted.model.weighting.log_variance, (2 * losses).log(), atol=0.05, rtol=0)
    equal = fit(METHODS["bmtl"], DEFAULT, CLASSES, 0)
    torch.testing.assert_close(fitted.model.head.mean, equal.model.head.mean)
    assert equal.history.step == [1]


SEEDS = range(2)
BASELINES = ("stl", "bmtl", "pooled", "qian", "long", "vstl", "vbmtl", "bakker")


@pytest.fixture(scope="module")
def baseline_scores() -> dict[str, dict[str, float]]:
    """Test scores of baselines and scikit-learn's rows (C by cross-validation), means over tasks and seeds."""
    errors: dict[str, dict[str, list[float]]] = {"accuracy": {}, "nll": {}, "rmse": {}}
    for problem, share, kind in (
        (load_digits_domains(), 0.05, "accuracy"),
        (load_rotated_digits(), 0.1, "rmse"),
    ):
        for seed in SEEDS:
            split = random_split(problem, share, seed)
            train, test = problem.subset(split.train), problem.subset(split.test)
            for name in BASELINES:
                estimator = MultiTaskClassifier if kind == "accuracy" else MultiTaskRegressor
                model = estimator(name, random_state=seed).fit(train.X, train.labels, tasks=train.tasks)
                predicted = model.predict(test.X, tasks=test.tasks)
                error = predicted == test.labels if kind == "accuracy" else np.square(predicted - test.labels)
                errors[kind].setdefault(name, []).append(float(np.mean(error)))
                if isinstance(model, MultiTaskClassifier):
                    nll = log_loss(test.labels, model.predict_proba(test.X, tasks=test.tasks), labels=model.classes_)
                    errors["nll"].setdefault(name, []).append(nll)
            for name in ("per_task_linear", "pooled_linear"):
                linear = fit_reference(REFERENCES[name], train, test, None, seed)
                if linear.p is not None:
                    error = np.asarray(train.class_names)[linear.p.argmax(1)] == np.asarray(train.class_names)[test.y]
                else:
                    error = np.square(linear.mean - test.y)
                errors[kind].setdefault(name, []).append(float(np.mean(error)))
    accuracy = {name: 100 * float(np.mean(values)) for name, values in errors["accuracy"].items()}
    nll = {name: float(np.mean(values)) for name, values in errors["nll"].items()}
    rmse = {name: float(np.sqrt(np.mean(values))) for name, values in errors["rmse"].items()}
    return {"accuracy": accuracy, "nll": nll, "rmse": rmse}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*BASELINES} - {"pooled"}))
def test_no_baseline_is_behind_one_linear_model_per_task(
    name: str, baseline_scores: dict[str, dict[str, float]]
) -> None:
    """By more than two points, or 8 % of the error: measured they are level or ahead."""
    assert baseline_scores["accuracy"][name] > baseline_scores["accuracy"]["per_task_linear"] - 2
    assert baseline_scores["rmse"][name] < 1.08 * baseline_scores["rmse"]["per_task_linear"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pooled", "long", "bakker"])
def test_what_learns_from_all_rows_is_not_behind_one_linear_model_on_them(
    name: str, baseline_scores: dict[str, dict[str, float]]
) -> None:
    assert baseline_scores["accuracy"][name] > baseline_scores["accuracy"]["pooled_linear"] - 2
    assert baseline_scores["rmse"][name] < 1.08 * baseline_scores["rmse"]["pooled_linear"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "point"), [("vstl", "stl"), ("vbmtl", "bmtl"), ("bakker", "pooled")])
def test_posteriors_of_w_are_as_sure_as_points(
    name: str, point: str, baseline_scores: dict[str, dict[str, float]]
) -> None:
    """Widths that are too large would show in the likelihood, not in the labels."""
    assert baseline_scores["nll"][name] < 1.05 * baseline_scores["nll"][point]
