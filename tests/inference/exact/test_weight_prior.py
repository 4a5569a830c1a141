"""The prior of the weights as one thing, and by which way its posterior is found."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.inference.exact import weight_prior
from vmtl.inference.exact.posterior import solve_classifier, solve_regression
from vmtl.inference.exact.weight_prior import infer_prior, solve
from vmtl.inference.features.kernel_selection import ASSUMED

pytestmark = pytest.mark.usefixtures("quick_inference")


def make_rows(classes: int) -> Rows:
    return toy([20, 12, 16], classes=classes, spread=2.0).rows()


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_the_parts_of_the_prior_agree(classes: int) -> None:
    kernel = replace(ASSUMED, bias=0.25)  # features are twice as large
    prior = infer_prior(make_rows(classes), kernel, "averaged", 0)
    assert prior.scale == pytest.approx(2 * prior.outputs.scale)
    assert prior.task_level == prior.outputs.task_level
    assert prior.correlation == pytest.approx(prior.outputs.covariance.correlation)
    between = prior.structure.covariance
    assert between is not None
    torch.testing.assert_close(between, prior.outputs.covariance.apply(torch.eye(3, dtype=torch.float64)))
    assert (prior.noise == 1) == bool(classes)


def test_tasks_that_may_not_share_do_not() -> None:
    prior = infer_prior(make_rows(2), ASSUMED, "independent", 0)
    assert prior.correlation == 0
    assert prior.structure.sharing.tolist() == [0.0] * 3


def test_a_constant_target_stays_finite() -> None:
    rows = make_rows(0)
    prior = infer_prior(replace(rows, y=torch.zeros_like(rows.y)), ASSUMED, "averaged", 0)
    assert prior.structure.covariance is not None
    assert prior.structure.covariance.isfinite().all()
    assert 0 < prior.noise < 1e-3


def predictions(weights: torch.Tensor, rows: Rows) -> torch.Tensor:
    """(n, C) targets or probabilities; large logits of rows that are easy to tell are not well determined."""
    own = weights.to(rows.x)[rows.task]
    outputs = torch.einsum("nck,nk->nc", own[..., :-1], rows.x) + own[..., -1]
    return outputs.softmax(-1) if rows.is_classification else outputs


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_few_rows_are_averaged_over_scales_and_more_are_solved_in_their_middle(
    classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = make_rows(classes)
    whole = infer_prior(rows, ASSUMED, "averaged", 0)
    torch.testing.assert_close(solve(rows, whole).weights, whole.scales.solution().weights)
    monkeypatch.setattr(weight_prior, "SCALE_ROWS", 30)
    monkeypatch.setattr(weight_prior, "MAX_CUBE", 3 * 30.5**3)
    some = infer_prior(rows, ASSUMED, "averaged", 0)
    assert len(some.scales.dual.y) == 30
    solution = solve(rows, some)
    if classes:
        exact = solve_classifier(rows, some.outputs)
        assert solution.residuals is None
    else:
        exact = solve_regression(rows, some.outputs, some.noise)
        torch.testing.assert_close(solution.residuals, exact.residuals)
    torch.testing.assert_close(solution.weights, exact.weights)
    monkeypatch.setattr(weight_prior, "MAX_DUAL_ROWS", 40)
    iterated = solve(rows, some)
    assert iterated.residuals is None
    actual, expected = predictions(iterated.weights, rows), predictions(exact.weights, rows)
    torch.testing.assert_close(actual, expected, atol=0.005, rtol=0)


def test_many_classes_are_iterated_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    original = weight_prior.solve_iteratively
    monkeypatch.setattr(weight_prior, "solve_iteratively", lambda *rest: asked.append(1) or original(*rest))
    monkeypatch.setattr(weight_prior, "MAX_LOGITS", 3 * 48**2 - 1)
    monkeypatch.setattr(weight_prior, "SCALE_ROWS", 30)
    monkeypatch.setattr(weight_prior, "MAX_CUBE", 3 * 30.5**3)
    for classes, iterated in ((0, 0), (2, 0), (3, 1)):
        asked.clear()
        rows = make_rows(classes)
        solve(rows, infer_prior(rows, ASSUMED, "uniform", 0))
        assert len(asked) == iterated
