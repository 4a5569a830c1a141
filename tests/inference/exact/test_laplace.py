"""The mode of the softmax model against scikit-learn, and left-out predictions against refitting."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn import functional as F

from vmtl.inference.exact import laplace
from vmtl.inference.exact.laplace import leave_one_out_logits, posterior_blocks, posterior_mode


def problem(n: int = 40, classes: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Features x (n, 5), noisy labels (n,), weights (n,)."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5))
    y = (x @ rng.normal(size=(5, classes)) + rng.gumbel(size=(n, classes))).argmax(1)
    return torch.as_tensor(x), torch.as_tensor(y), torch.as_tensor(rng.integers(1, 4, n).astype(float))


def test_the_mode_is_that_of_penalised_logistic_regression():
    x, y, weight = problem()
    found, _ = posterior_mode(x @ x.T, y, 3, weight)
    model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=5000)
    model.fit(x.numpy(), y.numpy(), sample_weight=weight.numpy())
    expected = torch.as_tensor(x.numpy() @ model.coef_.T)
    torch.testing.assert_close(found.softmax(-1), expected.softmax(-1), atol=1e-5, rtol=0)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0, 40.0])
@pytest.mark.parametrize("size", [5, 60])
def test_the_mode_solves_its_own_equation(scale, size):
    """f = K a and a = weight (y - softmax(f)), also where the kernel has no inverse or the scale is large."""
    _, y, weight = problem()
    x = torch.as_tensor(np.random.default_rng(1).normal(size=(40, size)))
    kernel = scale**2 * (x @ x.T)
    logits, solved = posterior_mode(kernel, y, 3, weight)
    torch.testing.assert_close(logits, kernel @ solved, rtol=0, atol=1e-3)
    own = weight[:, None] * (F.one_hot(y, 3) - logits.softmax(-1))
    torch.testing.assert_close(x.T @ solved, x.T @ own, rtol=0, atol=1e-3)


@pytest.mark.parametrize(("classes", "shared", "tolerance"), [(2, False, 0.05), (3, False, 0.25), (3, True, 0.5)])
def test_left_out_predictions_are_close_to_refitting(classes, shared, tolerance, monkeypatch):
    """One Newton step finds most of the way from a row's own prediction to that of a model without it."""
    if shared:
        monkeypatch.setattr(laplace, "MAX_COST", 0.0)
    x, y, weight = problem(60, classes)
    kernel = 2 * (x @ x.T)
    seen, _ = posterior_mode(kernel, y, classes, weight)
    moved = leave_one_out_logits(kernel, seen, seen.softmax(-1), y, weight)
    refitted = torch.empty_like(seen)
    for n in range(60):
        others = torch.arange(60) != n
        _, solved = posterior_mode(kernel[others][:, others], y[others], classes, weight[others])
        refitted[n] = kernel[n, others] @ solved
    score = {name: float(F.cross_entropy(v, y)) for name, v in [("seen", seen), ("moved", moved), ("true", refitted)]}
    assert score["seen"] < score["true"] - 0.05
    assert abs(score["moved"] - score["true"]) < tolerance * (score["true"] - score["seen"])
    if not shared:
        assert np.corrcoef(moved.flatten(), refitted.flatten())[0, 1] > 0.995


def test_blocks_of_the_posterior_are_those_of_the_dense_inverse():
    x, y, weight = problem(12, 3)
    kernel = x @ x.T + torch.eye(12)
    p = posterior_mode(kernel, y, 3, weight)[0].softmax(-1)
    inverse = torch.linalg.inv(kernel).contiguous()
    precision = torch.kron(inverse, torch.eye(3, dtype=torch.float64))  # the classes of row 0, of row 1, ...
    for n in range(12):
        own = slice(3 * n, 3 * n + 3)
        precision[own, own] += weight[n] * (torch.diag(p[n]) - torch.outer(p[n], p[n]))
    dense = torch.linalg.inv(precision).view(12, 3, 12, 3)[torch.arange(12), :, torch.arange(12)]
    torch.testing.assert_close(posterior_blocks(kernel, weight[:, None] * p), dense)


def test_a_row_that_nobody_resembles_is_predicted_by_the_prior():
    kernel = torch.eye(4, dtype=torch.float64) * 3
    y, weight = torch.tensor([0, 1, 1, 0]), torch.ones(4, dtype=torch.float64)
    seen, _ = posterior_mode(kernel, y, 2, weight)
    moved = leave_one_out_logits(kernel, seen, seen.softmax(-1), y, weight)
    assert float(moved.abs().max()) < 0.5 * float(seen.abs().max())
