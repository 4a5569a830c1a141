"""The mode of the softmax model against scikit-learn, and left-out predictions against refitting."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch.distributions import MultivariateNormal
from torch.nn import functional as F

from vmtl._utils import cholesky
from vmtl.inference.exact import laplace
from vmtl.inference.exact.laplace import (
    Mode,
    evidence_and_left_out,
    leave_one_out_logits,
    left_out_log_likelihood,
    log_evidence,
    posterior_blocks,
    posterior_mode,
)


def problem(n: int = 40, classes: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Features x (n, 5), noisy labels (n,), weights (n,)."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5))
    y = (x @ rng.normal(size=(5, classes)) + rng.gumbel(size=(n, classes))).argmax(1)
    return torch.as_tensor(x), torch.as_tensor(y), torch.as_tensor(rng.integers(1, 4, n).astype(float))


@pytest.mark.parametrize(("classes", "variance"), [(2, 2.0), (3, 1.0)])
def test_the_mode_is_that_of_penalised_logistic_regression(classes, variance):
    """Of two classes scikit-learn has one set of weights, for the difference of the logits: of twice the variance."""
    x, y, weight = problem(classes=classes)
    logits, _ = posterior_mode(x @ x.T, y, classes, weight)
    model = LogisticRegression(C=variance, fit_intercept=False, tol=1e-10, max_iter=5000)
    model.fit(x.numpy(), y.numpy(), sample_weight=weight.numpy())
    expected = torch.as_tensor(model.predict_proba(x.numpy()))
    torch.testing.assert_close(logits.softmax(-1), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0, 40.0])
@pytest.mark.parametrize("size", [5, 60])
def test_the_mode_solves_its_own_equation(classes, scale, size):
    """f = K a and a = weight (y - softmax(f)), also where the kernel has no inverse or the scale is large;
    the search of many classes ends at a slope of 3e-4."""
    _, y, weight = problem(classes=classes)
    x = torch.as_tensor(np.random.default_rng(1).normal(size=(40, size)))
    kernel = scale**2 * (x @ x.T)
    logits, solved = posterior_mode(kernel, y, classes, weight)
    torch.testing.assert_close(logits, kernel @ solved, rtol=0, atol=5e-3)
    own = weight[:, None] * (F.one_hot(y, classes) - logits.softmax(-1))
    torch.testing.assert_close(x.T @ solved, x.T @ own, rtol=0, atol=5e-3)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_newton_finds_what_the_search_of_many_classes_finds(scale):
    x, y, weight = problem(classes=2)
    kernel = scale**2 * (x @ x.T + torch.eye(40))
    newton, search = (
        posterior_mode(kernel, y, 2, weight),
        laplace._lbfgs(kernel, y, 2, weight, None, torch.zeros(40, 2)),
    )
    torch.testing.assert_close(newton.logits, search.logits, rtol=0, atol=5e-3)
    torch.testing.assert_close(newton.solution, search.solution, rtol=0, atol=5e-3)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("other", [0.01, 30.0])
def test_where_the_search_begins_does_not_matter(classes, other):
    x, y, weight = problem(classes=classes)
    kernel = x @ x.T + torch.eye(40)
    near = posterior_mode(other * kernel, y, classes, weight).solution
    again, alone = posterior_mode(kernel, y, classes, weight, near), posterior_mode(kernel, y, classes, weight)
    torch.testing.assert_close(again.logits, alone.logits, rtol=0, atol=5e-3)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_single_precision_of_the_factors_does_not_show(scale, monkeypatch):
    x, y, weight = problem(60, 2)
    kernel = scale**2 * (x @ x.T + torch.eye(60))
    mode = posterior_mode(kernel, y, 2, weight)
    evidence, left_out = (score(kernel, mode, y, weight) for score in (log_evidence, left_out_log_likelihood))
    monkeypatch.setattr(cholesky, "SINGLE_PRECISION", 0.0)
    exact = posterior_mode(kernel, y, 2, weight)
    torch.testing.assert_close(mode.logits, exact.logits, rtol=0, atol=2e-3)
    assert evidence == pytest.approx(log_evidence(kernel, exact, y, weight), abs=1e-3)
    assert left_out == pytest.approx(left_out_log_likelihood(kernel, exact, y, weight), abs=1e-2)


# ------------------------------------------------------------------ evidence


def log_joint(f, inverse, y, weight):
    """log p(labels | f) - 1/2 f' K^-1 f of logits f (n, C)."""
    return -weight @ F.cross_entropy(f, y, reduction="none") - 0.5 * torch.einsum("nc,nm,mc->", f, inverse, f)


def test_the_evidence_of_two_classes_is_laplaces_approximation():
    """log p(f) p(y | f) at the mode - 1/2 log |K x curvature|, the curvature of all logits by autograd."""
    x, y, weight = problem(6, 2)
    kernel = x @ x.T + 0.5 * torch.eye(6)
    mode = posterior_mode(kernel, y, 2, weight)
    inverse = torch.linalg.inv(kernel)
    hessian = torch.autograd.functional.hessian(lambda f: log_joint(f, inverse, y, weight), mode.logits)
    both = torch.kron(kernel.contiguous(), torch.eye(2, dtype=torch.float64))
    volume = torch.linalg.slogdet(-both @ hessian.reshape(12, 12)).logabsdet
    expected = float(log_joint(mode.logits, inverse, y, weight) - 0.5 * volume)
    assert log_evidence(kernel, mode, y, weight) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("scale", "error"), [(0.2, 0.005), (0.5, 0.02), (1.0, 0.06)])
def test_the_evidence_of_two_rows_is_near_the_integral(scale, error):
    """By a grid over the two differences of logits, d ~ N(0, 2 K); what Laplace's approximation errs by is known."""
    kernel = scale**2 * torch.tensor([[1.0, 0.6], [0.6, 1.5]], dtype=torch.float64)
    y, weight = torch.tensor([1, 0]), torch.tensor([1.0, 2.0], dtype=torch.float64)
    axis = torch.linspace(-9, 9, 400, dtype=torch.float64) * scale * 2
    d = torch.cartesian_prod(axis, axis)
    prior = MultivariateNormal(torch.zeros(2, dtype=torch.float64), 2 * kernel)
    log_p = prior.log_prob(d) + F.logsigmoid(d * (2 * y - 1)) @ weight
    integral = float(log_p.logsumexp(0) + 2 * torch.log(axis[1] - axis[0]))
    evidence = log_evidence(kernel, posterior_mode(kernel, y, 2, weight), y, weight)
    assert evidence == pytest.approx(integral, abs=error)


def test_outputs_without_variance_have_the_evidence_of_a_coin():
    _, y, weight = problem(classes=3)
    kernel, nothing = 1e-12 * torch.eye(40, dtype=torch.float64), torch.zeros(40, 3, dtype=torch.float64)
    coin = -float(weight.sum()) * np.log(3)
    assert log_evidence(kernel, Mode(nothing, nothing), y, weight) == pytest.approx(coin, abs=1e-5)
    assert left_out_log_likelihood(kernel, Mode(nothing, nothing), y, weight) == pytest.approx(coin, abs=1e-6)


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
    if shared:
        total = left_out_log_likelihood(kernel, Mode(seen, seen), y, weight)
        assert total == pytest.approx(-float(weight @ F.cross_entropy(moved, y, reduction="none")), abs=1e-8)
    else:
        assert np.corrcoef(moved.flatten(), refitted.flatten())[0, 1] > 0.995


def test_two_classes_share_one_curvature():
    """So that the step of one curvature is the step of the blocks."""
    x, y, weight = problem(30, 2)
    kernel = x @ x.T + torch.eye(30)
    logits = posterior_mode(kernel, y, 2, weight).logits
    p = logits.softmax(-1)
    block = posterior_blocks(kernel, weight[:, None] * p).blocks
    curvature = weight[:, None, None] * (torch.diag_embed(p) - p[:, :, None] * p[:, None, :])
    gradient = weight[:, None] * (F.one_hot(y, 2) - p)
    step = torch.linalg.solve(torch.eye(2) - block @ curvature, block @ gradient[..., None])[..., 0]
    torch.testing.assert_close(leave_one_out_logits(kernel, logits, p, y, weight), logits - step)


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
    found = posterior_blocks(kernel, weight[:, None] * p)
    torch.testing.assert_close(found.blocks, dense)
    prior = torch.kron(kernel, torch.eye(3, dtype=torch.float64))
    assert found.log_determinant == pytest.approx(float(torch.logdet(prior @ precision)))  # |K (K^-1 + W)|


def test_classes_without_any_probability_have_blocks_too() -> None:
    """Probabilities that round to 0 count as hardly any."""
    x, _, weight = problem(12, 3)
    kernel = x @ x.T + torch.eye(12)
    p = torch.cat([(3 * x[:, :2]).softmax(-1), torch.zeros(12, 1).double()], 1)
    small = torch.cat([p[:, :2], torch.full((12, 1), 1e-13).double()], 1)
    found, near = (posterior_blocks(kernel, weight[:, None] * q) for q in (p, small))
    torch.testing.assert_close(found.blocks, near.blocks, atol=1e-6, rtol=1e-6)
    assert found.log_determinant == pytest.approx(near.log_determinant)


@pytest.mark.parametrize("affordable", [True, False])
def test_evidence_and_left_out_rows_from_the_same_factors(affordable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the density of a Gaussian at the mode: log p(y, f) + C n / 2 log 2 pi - 1/2 log |K^-1 + W|."""
    x, y, weight = problem(12, 3)
    kernel = x @ x.T + torch.eye(12)
    mode = posterior_mode(kernel, y, 3, weight)
    if not affordable:
        monkeypatch.setattr(laplace, "MAX_COST", 0.0)
    evidence, left_out = evidence_and_left_out(kernel, mode, y, weight)
    assert left_out == pytest.approx(left_out_log_likelihood(kernel, mode, y, weight))
    if not affordable:
        assert evidence == log_evidence(kernel, mode, y, weight)
        return
    p = mode.logits.softmax(-1)
    precision = torch.kron(torch.linalg.inv(kernel).contiguous(), torch.eye(3, dtype=torch.float64))
    for n in range(12):
        own = slice(3 * n, 3 * n + 3)
        precision[own, own] += weight[n] * (torch.diag(p[n]) - torch.outer(p[n], p[n]))
    law = MultivariateNormal(torch.zeros(12).double(), kernel)
    joint = law.log_prob(mode.logits.T).sum() - weight @ F.cross_entropy(mode.logits, y, reduction="none")
    expected = joint + 18 * math.log(2 * math.pi) - 0.5 * torch.logdet(precision)
    assert evidence == pytest.approx(float(expected), abs=1e-3)


def test_a_row_that_nobody_resembles_is_predicted_by_the_prior():
    kernel = torch.eye(4, dtype=torch.float64) * 3
    y, weight = torch.tensor([0, 1, 1, 0]), torch.ones(4, dtype=torch.float64)
    seen, _ = posterior_mode(kernel, y, 2, weight)
    moved = leave_one_out_logits(kernel, seen, seen.softmax(-1), y, weight)
    assert float(moved.abs().max()) < 0.5 * float(seen.abs().max())


def test_left_out_rows_of_hundreds_of_classes_on_two_threads() -> None:
    """Where torch's own LU of several matrices of that size raises on more than one thread."""
    n, classes, generator = 4, 300, torch.Generator().manual_seed(0)
    x = torch.randn(n, 3, generator=generator, dtype=torch.float64)
    logits = torch.randn(n, classes, generator=generator, dtype=torch.float64)
    arguments = (x @ x.T + torch.eye(n), logits, logits.softmax(-1), torch.arange(n), torch.ones(n).double())
    threads, found = torch.get_num_threads(), []
    for number in (1, 2):
        torch.set_num_threads(number)
        try:
            found.append(leave_one_out_logits(*arguments))
        finally:
            torch.set_num_threads(threads)
    torch.testing.assert_close(*found)
    assert (found[0] != logits).all()
