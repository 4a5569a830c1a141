"""The prior of the latent function: covariances entry by entry, and weights as drawn functions have them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from helpers.toys import toy
from vmtl.gp.latent_prior import CONSTANT, Gram, LatentPrior
from vmtl.gp.task_covariance import DenseCovariance, LowRankCovariance, TaskCovariance

PHI = torch.tensor([[0.9, 0.1], [0.5, -0.6], [0.2, 0.3]], dtype=torch.float64)
FACTOR = LowRankCovariance(PHI)
TABLE = DenseCovariance(FACTOR.apply(torch.eye(3, dtype=torch.float64)))
ROWS = toy([5, 7, 4]).rows()


def naive_kernel(prior: LatentPrior, x: Tensor, task: Tensor) -> Tensor:
    """cov(f_t(z), f_i(z')) = A^2 + tau^2 [t = i] + s^2 B_ti (z . z' + kappa^2)."""
    table = TABLE.matrix.tolist()
    kernel = torch.zeros(len(x), len(x), dtype=torch.float64)
    for n in range(len(x)):
        for m in range(len(x)):
            t, i = int(task[n]), int(task[m])
            products = float((x[n] * x[m]).sum()) + CONSTANT
            kernel[n, m] = (
                prior.shared_level**2 + prior.task_level**2 * (t == i) + prior.scale**2 * table[t][i] * products
            )
    return kernel


@pytest.mark.parametrize("covariance", [TABLE, FACTOR], ids=["table", "factor"])
def test_the_kernel_is_that_of_the_formula(covariance: TaskCovariance) -> None:
    prior = LatentPrior(covariance, 0.7, 0.4, 1.3)
    expected = naive_kernel(prior, ROWS.x, ROWS.task)
    torch.testing.assert_close(Gram.of(ROWS).kernel(prior), expected)
    torch.testing.assert_close(Gram.of(ROWS).kernel(prior.scaled(3.0)), 9 * expected)


def test_the_inner_products_stay_as_they_are() -> None:
    gram = Gram.of(ROWS)
    before = gram.products.clone()
    gram.kernel(LatentPrior(TABLE, 0.7, 0.4))
    assert torch.equal(gram.products, before)


@pytest.mark.parametrize("covariance", [TABLE, FACTOR], ids=["table", "factor"])
def test_weights_give_the_function_of_the_dual_at_any_row_of_any_task(covariance: TaskCovariance) -> None:
    """f(z*) = k(z*, Z) a, of rows of other tasks too."""
    prior, gram = LatentPrior(covariance, 0.7, 0.4, 1.3), Gram.of(ROWS)
    generator = torch.Generator().manual_seed(0)
    dual = torch.randn(16, 2, generator=generator, dtype=torch.float64)
    new, task = torch.randn(6, 6, generator=generator, dtype=torch.float64), torch.arange(6) % 3
    both = naive_kernel(prior, torch.cat([new, ROWS.x]), torch.cat([task, ROWS.task]))
    weights = gram.weights(dual, prior)
    found = torch.einsum("nlk,nk->nl", weights[task][..., :-1], new) + weights[task][..., -1]
    torch.testing.assert_close(found, both[:6, 6:] @ dual)
