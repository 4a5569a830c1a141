"""Many rows by iterations: the same posterior as with a table of all pairs of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from helpers.toys import toy
from vmtl.data.rows import Rows, Sums
from vmtl.inference.exact.iterative import DataTerm, solve_iteratively
from vmtl.inference.exact.output_prior import OutputPrior
from vmtl.inference.exact.posterior import solve_classifier, solve_regression
from vmtl.inference.structure.covariance import DenseCovariance, LowRankCovariance, TaskCovariance

B = torch.tensor([[1, 0.4, 0.7], [0.4, 1, 0.2], [0.7, 0.2, 1]], dtype=torch.float64)
COVARIANCES: dict[str, TaskCovariance] = {
    "dense": DenseCovariance(B),
    "alike": LowRankCovariance(torch.full((3, 1), 0.6**0.5, dtype=torch.float64)),
    "low rank": LowRankCovariance(torch.tensor([[0.8, 0.1], [0.6, -0.3], [0.2, 0.9]], dtype=torch.float64)),
}
NOISE = 0.4


def outputs(weights: Tensor, rows: Rows) -> Tensor:
    """(n, C) of the rows."""
    own = weights.to(rows.x)[rows.task]
    return torch.einsum("nck,nk->nc", own[..., :-1], rows.x) + own[..., -1]


def differences(rows: Rows, prior: OutputPrior) -> tuple[float, float]:
    """The largest difference of a probability, or of a mean in units of the target; and of a weight."""
    found = solve_iteratively(rows, prior, NOISE)
    exact = (solve_classifier(rows, prior) if rows.is_classification else solve_regression(rows, prior, NOISE)).weights
    one, two = outputs(found, rows), outputs(exact, rows)
    if rows.is_classification:
        one, two = one.softmax(-1), two.softmax(-1)
    return float((one - two).abs().max()), float((found.to(exact) - exact).abs().max())


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("sizes", [(30, 25, 35), (4, 90, 17)], ids=["even", "skewed"])
@pytest.mark.parametrize("scale", [0.2, 2.0])
def test_it_is_the_posterior_of_the_dual(covariance: str, classes: int, sizes: tuple[int, ...], scale: float) -> None:
    """Predictions to 0.002, weights to 0.02: the search ends at a slope of 1e-3."""
    weight = np.random.default_rng(0).integers(1, 4, sum(sizes)).astype(float)
    rows = toy(sizes, classes=classes, spread=2.0).rows(weight=weight)
    prior = OutputPrior(COVARIANCES[covariance], scale, task_level=0.5)
    prediction, of_weights = differences(rows, prior)
    assert prediction < 0.002
    assert of_weights < 0.02


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_one_task(classes: int) -> None:
    rows = toy([60], classes=classes, spread=2.0).rows()
    one = OutputPrior(DenseCovariance(torch.ones(1, 1, dtype=torch.float64)), 0.7, task_level=0.3)
    assert max(differences(rows, one)) < 0.02


def test_single_precision_is_enough() -> None:
    rows = toy([30, 25, 35], classes=3, spread=2.0).rows(torch.float32)
    prediction, _ = differences(rows, OutputPrior(COVARIANCES["alike"], 0.7, task_level=0.5))
    assert prediction < 0.005


def test_tasks_without_rows_follow_the_others() -> None:
    """Such tasks are in samples of the tasks; their weights are the prior's given the other tasks."""
    rows = toy([40, 40], classes=2, spread=2.0).rows()
    rows = replace(rows, task=2 * rows.task, n_tasks=3)  # task 1 has none
    _, of_weights = differences(rows, OutputPrior(COVARIANCES["dense"], 0.7, task_level=0.5))
    assert of_weights < 0.02


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_slopes_are_those_of_the_loss(classes: int) -> None:
    rows = toy([4, 9, 7], classes=classes, spread=2.0).rows()
    outputs = 1 if classes < 3 else classes
    weights = torch.randn(3, outputs, rows.x.shape[1] + 1, dtype=torch.float64)

    def loss(weights: Tensor) -> Tensor:
        return DataTerm(weights, NOISE)(rows)[0]

    slope, step = DataTerm(weights, NOISE)(rows)[1], 1e-6
    for place in ((0, 0, 0), (1, outputs - 1, 2), (2, 0, -1)):
        moved = torch.zeros_like(weights)
        moved[place] = step
        numeric = float(loss(weights + moved) - loss(weights - moved)) / (2 * step)
        assert float(slope[place]) == pytest.approx(numeric, rel=1e-6, abs=1e-6)


def test_it_does_not_matter_in_which_parts_rows_are_added_up() -> None:
    rows = toy([30, 25, 35], classes=3, spread=2.0).rows(torch.float32)
    parts = [part.sort().values for part in torch.randperm(90).split(20)]

    class InParts(Rows):
        def total(self, part: Callable[[Rows], Sums]) -> Sums:
            several = [part(rows.take(numbers)) for numbers in parts]
            return tuple(torch.stack(values).sum(0) for values in zip(*several, strict=True))

        def cpu(self) -> Rows:
            return self

    prior, in_parts = OutputPrior(COVARIANCES["low rank"], 0.7, task_level=0.5), InParts(**vars(rows))
    one, two = solve_iteratively(rows, prior, NOISE), solve_iteratively(in_parts, prior, NOISE)
    torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-9)
