"""Many rows without a table of all pairs: the same mode as the dual solution of the same prior."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.gp.latent_prior import Gram, LatentPrior
from vmtl.gp.likelihoods import softmax
from vmtl.gp.many_rows import DataTerm, solve_many_rows
from vmtl.gp.task_covariance import DenseCovariance, LowRankCovariance, TaskCovariance

PHI = torch.tensor([[0.9, 0.1], [0.5, -0.6], [0.2, 0.3]], dtype=torch.float64)
FACTOR = LowRankCovariance(PHI)
TABLE = DenseCovariance(FACTOR.apply(torch.eye(3, dtype=torch.float64)))
SIZES = [40, 25, 31]


def weighted(rows: Rows) -> Rows:
    return replace(rows, weight=torch.linspace(0.5, 2, len(rows.y), dtype=torch.float64))


@pytest.mark.parametrize("covariance", [TABLE, FACTOR], ids=["table", "factor"])
def test_numbers_are_those_of_the_dual(covariance: TaskCovariance) -> None:
    rows, noise = weighted(toy(SIZES).rows()), 0.4
    prior, gram = LatentPrior(covariance, 0.7, 0.4, 1.3), Gram.of(rows)
    dual = torch.linalg.solve(gram.kernel(prior) + torch.diag(noise**2 / rows.weight), rows.y)
    torch.testing.assert_close(
        solve_many_rows(rows, prior, noise), gram.weights(dual[:, None], prior), rtol=0, atol=5e-3
    )


@pytest.mark.parametrize("covariance", [TABLE, FACTOR], ids=["table", "factor"])
@pytest.mark.parametrize(("classes", "missing"), [(2, ()), (3, ()), (4, ((0, 1),))])
def test_classes_are_those_of_the_dual(
    covariance: TaskCovariance, classes: int, missing: tuple[tuple[int, int], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of a class that a task has no rows of."""
    rows = weighted(toy(SIZES, classes=classes, missing=missing, spread=2.0).rows())
    prior, gram = LatentPrior(covariance, 0.7, 0.4, 1.3), Gram.of(rows)
    monkeypatch.setattr(softmax, "ITERATIONS", 3000)
    monkeypatch.setattr(softmax, "LEAST_CHANGE", 1e-14)
    weight = rows.weight[:, None]
    labels = softmax.Labels(rows.y, classes, softmax.absent_classes(rows, weight))
    _, dual = softmax.solve(gram.kernel(prior), labels, weight)
    expected = gram.weights(softmax.dual_of_classes(dual[:, 0], classes), prior)
    found = solve_many_rows(rows, prior, 1.0)
    z = torch.cat([rows.x, torch.ones(len(rows.y), 1, dtype=torch.float64)], 1)
    for t in range(3):  # at the rows of all tasks
        torch.testing.assert_close((z @ found[t].T).softmax(-1), (z @ expected[t].T).softmax(-1), rtol=0, atol=5e-3)


@pytest.mark.parametrize("classes", [0, 2, 4])
def test_slopes_are_finite_differences(classes: int) -> None:
    rows = weighted(toy([6, 9, 5], classes=classes, features=3).rows())
    outputs = 1 if classes in (0, 2) else classes
    weights = torch.randn(3, outputs, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    _, slope = DataTerm(weights, 0.7, None)(rows)
    for t, c, k in ((0, 0, 0), (1, outputs - 1, 2), (2, 0, 3)):
        step = torch.zeros_like(weights)
        step[t, c, k] = 1e-5
        high, low = (DataTerm(weights + side * step, 0.7, None)(rows)[0] for side in (1, -1))
        assert float(slope[t, c, k]) == pytest.approx(float(high - low) / 2e-5, rel=1e-5, abs=1e-7)
