"""Class labels: modes by independent optimisers, held-out rows by separate fits, and scores that cannot run away."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from torch.nn import functional as F

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.gp.latent_prior import Gram, LatentPrior
from vmtl.gp.likelihoods import softmax as module
from vmtl.gp.likelihoods.softmax import (
    LOG_OMEGA,
    OMEGA_COST,
    Labels,
    SoftmaxLikelihood,
    absent_classes,
    both_classes,
    dual_of_classes,
    solve,
)
from vmtl.gp.task_covariance import exchangeable

PRIOR = LatentPrior(exchangeable(3, 0.6), 1.5, 0.4, 2.0)
TWO = toy([14, 9, 8], classes=2, spread=2.0).rows()
THREE = toy([14, 9, 8], classes=3, spread=2.0).rows()
LACKING = toy([14, 9, 8], classes=3, missing=((0, 1),), spread=2.0).rows()
CASES = {"two": TWO, "three": THREE, "lacking": LACKING}


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Iterate until nothing changes."""
    monkeypatch.setattr(module, "ITERATIONS", 3000)
    monkeypatch.setattr(module, "LEAST_CHANGE", 1e-14)


def naive_mode(rows: Rows, kernel: Tensor, weight: Tensor) -> Tensor:
    """(n, C) f, by SciPy in the coordinates of an eigenvector basis, with the cross-entropy row by row."""
    values, vectors = torch.linalg.eigh(kernel)
    root = vectors * values.clamp_min(0).sqrt()
    mask = rows.class_mask[rows.task] if rows.n_classes > 2 else torch.ones(len(rows.y), rows.n_classes).bool()

    def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
        place = torch.from_numpy(v).view(len(kernel), -1).requires_grad_()
        f = root @ place
        total = 0.5 * place.square().sum()
        for n in range(len(rows.y)):
            seen = mask[n].nonzero().flatten().tolist()
            total = total + weight[n] * (f[n, seen].logsumexp(0) - f[n, rows.y[n]])
        (slope,) = torch.autograd.grad(total, place)
        return float(total.detach()), slope.numpy().ravel()

    start = np.zeros(len(kernel) * rows.n_classes)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "gtol": 1e-7, "ftol": 1e-15})
    return root @ torch.from_numpy(found.x).view(len(kernel), -1)


def labels_of(rows: Rows, weight: Tensor) -> Labels:
    return Labels(rows.y, rows.n_classes, absent_classes(rows, weight))


def probabilities(latent: Tensor) -> Tensor:
    return both_classes(latent, 2 if latent.shape[-1] == 1 else 3).softmax(-1)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("kind", CASES)
def test_the_mode_is_that_of_an_independent_optimiser(kind: str) -> None:
    """Also of a class that a task has no rows of, and of two classes, which have one latent output here."""
    rows, kernel = CASES[kind], Gram.of(CASES[kind]).kernel(PRIOR)
    weight = torch.linspace(0.5, 2, len(rows.y), dtype=torch.float64)
    modes, dual = solve(kernel, labels_of(rows, weight[:, None]), weight[:, None])
    expected = naive_mode(rows, kernel, weight)
    torch.testing.assert_close(probabilities(modes[:, 0]), expected.softmax(-1), rtol=0, atol=1e-5)
    latent = kernel @ dual_of_classes(dual[:, 0], rows.n_classes)
    torch.testing.assert_close(latent.softmax(-1), expected.softmax(-1), rtol=0, atol=1e-5)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("kind", CASES)
def test_at_the_mode_the_slope_is_zero(kind: str) -> None:
    """a = sum of the weighted errors of the probabilities, the stationary point of the dual."""
    rows, kernel = CASES[kind], Gram.of(CASES[kind]).kernel(PRIOR)
    weight = torch.ones(len(rows.y), 1, dtype=torch.float64)
    _, dual = solve(kernel, labels_of(rows, weight), weight)
    latent = (kernel @ dual_of_classes(dual[:, 0], rows.n_classes)).requires_grad_()
    mask = rows.class_mask[rows.task]
    masked = latent if rows.n_classes == 2 else latent.masked_fill(~mask, -torch.inf)
    F.cross_entropy(masked, rows.y, reduction="sum").backward()
    torch.testing.assert_close(dual_of_classes(dual[:, 0], rows.n_classes), -latent.grad, rtol=0, atol=1e-5)


@pytest.mark.usefixtures("exact")
def test_two_classes_are_scikit_learns_logistic_regression() -> None:
    """One task without levels of its own: d = x w, w ~ N(0, 2 s^2)."""
    x = torch.cat([TWO.x, torch.ones(31, 1, dtype=torch.float64)], 1)
    scale = 0.8
    modes, _ = solve(scale**2 * x @ x.T, Labels(TWO.y, 2), torch.ones(31, 1, dtype=torch.float64))
    theirs = LogisticRegression(C=2 * scale**2, fit_intercept=False, tol=1e-10, max_iter=1000).fit(x, TWO.y)
    np.testing.assert_allclose(modes[:, 0, 0], theirs.decision_function(x), atol=1e-4)


@pytest.mark.usefixtures("exact")
def test_two_classes_are_three_of_which_nobody_has_the_last() -> None:
    kernel = Gram.of(TWO).kernel(PRIOR)
    weight = torch.ones(31, 1, dtype=torch.float64)
    two, _ = solve(kernel, Labels(TWO.y, 2), weight)
    full = Labels(TWO.y, 3, torch.tensor([False, False, True]).expand(31, 1, 3))
    modes, dual = solve(kernel, full, weight)
    torch.testing.assert_close(modes[:, 0, 1] - modes[:, 0, 0], two[:, 0, 0], rtol=0, atol=1e-4)
    assert float(dual[:, 0, 2].abs().max()) < 1e-5


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("kind", CASES)
def test_held_out_rows_are_predicted_by_fits_without_their_fold(kind: str) -> None:
    """Fits of the other rows alone; classes that a task lacks among them count as often as suits the held-out rows."""
    rows, kernel = CASES[kind], Gram.of(CASES[kind]).kernel(PRIOR)
    likelihood = SoftmaxLikelihood(Gram.of(rows), 3)
    found = likelihood.evaluate(PRIOR)
    divisions = likelihood.left_out_of.shape[1]
    latent = torch.zeros(len(rows.y), divisions, rows.n_classes, dtype=torch.float64)
    absent = torch.zeros_like(latent, dtype=torch.bool)
    for number in range(1, 1 + 5 * divisions):
        out = likelihood.left_out_of == number  # (n, R)
        rest = (~out.any(1)).nonzero().flatten()
        some, ones = rows.take(rest), torch.ones(len(rest), 1, dtype=torch.float64)
        _, dual = solve(kernel[rest][:, rest], labels_of(some, ones), ones)
        latent[out] = (kernel[:, rest] @ dual_of_classes(dual[:, 0], rows.n_classes))[:, None].expand_as(latent)[out]
        absent[out] = ~some.class_mask[rows.task][:, None].expand_as(absent)[out]
    absent &= rows.n_classes > 2

    def score(log_omega: float) -> tuple[float, Tensor]:
        log_p = (latent + log_omega * absent).log_softmax(-1)
        right = log_p.gather(2, rows.y[:, None, None].expand(-1, divisions, 1))[..., 0].mean(1)
        return float(right.sum()) + OMEGA_COST * log_omega, log_p

    best, log_p = max((score(log_omega) for log_omega in LOG_OMEGA), key=lambda pair: pair[0])
    assert found.log_score == pytest.approx(best, abs=1e-3)
    torch.testing.assert_close(found.held_out, log_p.exp().mean(1), rtol=0, atol=1e-4)


def orthogonal(n: int, classes: int) -> Rows:
    y = torch.arange(n) % classes
    return Rows(torch.eye(n, dtype=torch.float64), y, torch.zeros(n, dtype=torch.long), torch.ones(n).double(), 1,
                classes, True)  # fmt: skip


def separable(n: int, classes: int) -> Rows:
    rows = orthogonal(n, classes)
    return replace(rows, x=10 * F.one_hot(rows.y, classes).double())


def at_random(n: int, classes: int) -> Rows:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n, 3, generator=generator, dtype=torch.float64)
    return replace(orthogonal(n, classes), x=x, y=torch.randint(classes, (n,), generator=generator))


EXTREMES = {
    "separable": separable(30, 3),
    "two separable classes": separable(30, 2),
    "orthogonal": orthogonal(30, 3),
    "100 classes of two rows": orthogonal(200, 100),
    "a single class": replace(at_random(12, 2), y=torch.zeros(12, dtype=torch.long)),
    "a class of three": replace(at_random(12, 3), y=torch.full((12,), 1)),
    "random labels": at_random(40, 4),
    "one row": orthogonal(1, 2),
}


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("kind", EXTREMES)
def test_scores_cannot_run_away(kind: str, scale: float) -> None:
    """They are log probabilities of rows that were really held out, at any scale."""
    rows = EXTREMES[kind]
    prior = LatentPrior(exchangeable(1, 0.0), scale, 0.3)
    found = SoftmaxLikelihood(Gram.of(rows), 0).evaluate(prior)
    assert math.isfinite(found.log_score)
    assert found.log_score <= 0
    assert float(found.by_row.max()) <= 0
    assert bool(found.held_out.isfinite().all())
    torch.testing.assert_close(found.held_out.sum(1), torch.ones(len(rows.y), dtype=torch.float64))
    assert bool(found.dual.isfinite().all())


def test_what_cannot_be_known_is_scored_as_chance_or_worse() -> None:
    """Rows at right angles and labels at random: no scale does better than the frequencies of the classes."""
    for rows in (EXTREMES["orthogonal"], EXTREMES["100 classes of two rows"], at_random(200, 4)):
        for scale in (0.01, 1.0, 30.0, 1e4):
            prior = LatentPrior(exchangeable(1, 0.0), scale, 0.3)
            score = SoftmaxLikelihood(Gram.of(rows), 0).evaluate(prior).log_score
            assert score / len(rows.y) < -math.log(rows.n_classes) + 0.02


@pytest.mark.parametrize("scale", [0.3, 3.0, 20.0])
@pytest.mark.parametrize("kind", CASES)
def test_the_iterations_of_a_fit_are_enough(kind: str, scale: float) -> None:
    """Beside many more."""
    likelihood = SoftmaxLikelihood(Gram.of(CASES[kind]), 0)
    prior = LatentPrior(exchangeable(3, 0.6), scale, 0.3)
    quick = likelihood.evaluate(prior)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ITERATIONS", 20_000)
        patch.setattr(module, "LEAST_CHANGE", 1e-15)
        slow = likelihood.evaluate(prior)
    assert quick.log_score == pytest.approx(slow.log_score, rel=0.03)
    torch.testing.assert_close(quick.held_out, slow.held_out, rtol=0, atol=0.05)


def test_a_huge_scale_of_separable_rows_is_solved_exactly() -> None:
    """With s = 1e4: each class on an axis of its own, where the rule of three says what the mode is."""
    rows = EXTREMES["separable"]
    kernel = Gram.of(rows).kernel(LatentPrior(exchangeable(1, 0.0), 1e4, 0.3))
    _, dual = solve(kernel, Labels(rows.y, 3), torch.ones(30, 1, dtype=torch.float64))
    f = (kernel @ dual[:, 0])[:3]
    own, other = float(f.diagonal().mean()), float((f.sum() - f.diagonal().sum()) / 6)
    p = torch.softmax(torch.tensor([own, other, other], dtype=torch.float64), 0)[0]
    assert 1 - float(p) < 1e-4  # with s = 1e4 nothing is left to gain
    assert own - other < 60  # and nothing is gained by more


def test_cells_that_a_task_lacks_cost_by_what_comes_up() -> None:
    """Where each task has classes of its own, a class that a task lacks becomes less likely; where one cell is missing,
    it stays; and rows without lacking classes have no such odds."""
    generator = torch.Generator().manual_seed(0)
    task = torch.arange(4).repeat_interleave(20)
    own = 2 * task + torch.arange(80) % 2
    x = torch.randn(80, 3, generator=generator, dtype=torch.float64)
    ones = torch.ones(80, dtype=torch.float64)
    prior = LatentPrior(exchangeable(4, 0.9), 1.0, 0.3)
    apart = Rows(x, own, task, ones, 4, 8, True)
    assert SoftmaxLikelihood(Gram.of(apart), 0).offset_of_absent_classes(prior) < -2
    assert SoftmaxLikelihood(Gram.of(THREE), 0).offset_of_absent_classes(PRIOR) == 0
    assert SoftmaxLikelihood(Gram.of(LACKING), 0).offset_of_absent_classes(PRIOR) > -2
    held_out = SoftmaxLikelihood(Gram.of(apart), 0).evaluate(prior).held_out
    seen = apart.class_mask[task]
    assert float((held_out * ~seen).sum(1).max()) < 0.2


def test_absent_classes_are_those_without_rows_of_weight() -> None:
    weight = torch.ones(31, 2, dtype=torch.float64)
    weight[(LACKING.task == 1) & (LACKING.y == 0), 1] = 0.0
    weight[LACKING.task == 2, 1] = 0.0
    absent = absent_classes(LACKING, weight)
    assert absent is not None
    for n in range(31):
        for of_set in range(2):
            rows = (LACKING.task == LACKING.task[n]) & (weight[:, of_set] > 0)
            there = set(LACKING.y[rows].tolist())
            expected = [bool(there) and c not in there for c in range(3)]
            assert absent[n, of_set].tolist() == expected
    assert absent_classes(THREE, weight[:, :1]) is None
    assert absent_classes(TWO, weight) is None
