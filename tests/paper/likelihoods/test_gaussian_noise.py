"""Real targets: the Gaussian likelihood with noise per task, or one for all."""

import math

import torch

from helpers.paper_models import SMALL, Quiet, build, full_batch_loss
from helpers.toys import toy
from vmtl.paper.method import Method
from vmtl.paper.objective import Objective


def test_kendall_regression_is_the_gaussian_likelihood_with_noise_per_task() -> None:
    rows = toy([4, 6]).rows()
    method = Method("Kendall, plain", "s", "r", encoder="fixed", weighting="uncertainty")
    model = build(method, rows, SMALL)
    model.likelihood.log_own.data = torch.tensor([-0.5, 0.2], dtype=torch.float64)
    sigma, strength = model.likelihood.scale(), 0.5 * (model.likelihood.log_own / 0.25).square().sum()
    torch.testing.assert_close(sigma[1].log() - sigma[0].log(), torch.tensor(0.7).double(), atol=0.01, rtol=0)
    w = model.head.mean
    by_hand = torch.zeros((), dtype=torch.float64)
    for t, x, y in zip(rows.task, rows.x, rows.y, strict=True):
        error = y - (w[t, 0, :-1] @ x + w[t, 0, -1])
        by_hand = by_hand + error**2 / (2 * sigma[t] ** 2) + sigma[t].log() + 0.5 * math.log(2 * math.pi)
    torch.testing.assert_close(full_batch_loss(Objective(model, rows), rows, Quiet()), (by_hand + strength) / 10)


def test_shared_noise_makes_regression_a_plain_sum_of_squares() -> None:
    for method, shared in (("bmtl", True), ("pooled", True), ("long", True), ("kendall", False), ("vmtl", False)):
        likelihood = build(method, toy([4, 6]).rows()).likelihood
        assert (likelihood.log_own is None) == shared
        assert likelihood.scale().shape == (2,)
