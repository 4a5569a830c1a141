"""The prior of the outputs against loops over pairs of rows."""

from __future__ import annotations

import numpy as np
import torch

from helpers.toys import toy
from vmtl.inference.exact.output_prior import Dual, OutputPrior
from vmtl.inference.structure.covariance import DenseCovariance

B = torch.tensor([[1, 0.4, 0.7], [0.4, 1, 0.2], [0.7, 0.2, 1]], dtype=torch.float64)
PRIOR = OutputPrior(DenseCovariance(B), scale=0.7, task_level=0.3, shared_level=1.5)
WEIGHT = np.r_[np.ones(7), 0.0, np.full(7, 2.0)]
ROWS = toy([6, 4, 5]).rows(weight=WEIGHT)


def test_the_kernel_is_that_of_a_mixed_model() -> None:
    dual = Dual.of(ROWS)
    actual = PRIOR.kernel(dual.gram, dual.task)
    for n in range(14):
        for m in range(14):
            t, u = dual.task[n], dual.task[m]
            slopes = 0.7**2 * B[t, u] * sum(dual.z[n, k] * dual.z[m, k] for k in range(6))
            expected = 1.5**2 + 0.3**2 * float(t == u) + slopes
            torch.testing.assert_close(actual[n, m], expected, atol=1e-12, rtol=1e-12)


def test_the_kernel_is_the_covariance_of_drawn_outputs() -> None:
    """f_t(z) = a + b_t + s w_t . z, drawn 200,000 times: a covariance of 4 has a standard error of 0.01."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(200_000, *shape, generator=generator, dtype=torch.float64)

    dual = Dual.of(ROWS.take(torch.tensor([0, 1, 6, 12])))
    slopes = 0.7 * torch.einsum("tu,suk->stk", torch.linalg.cholesky(B), normal(3, 6))
    level = 1.5 * normal(1) + 0.3 * normal(3)
    f = level[:, dual.task] + (slopes[:, dual.task] * dual.z).sum(-1)
    kernel = PRIOR.kernel(dual.gram, dual.task)
    torch.testing.assert_close(f.T @ f / len(f), kernel, rtol=0, atol=0.02 * float(kernel.max()))


def test_weights_are_sums_over_the_rows_of_all_tasks() -> None:
    dual, a = Dual.of(ROWS), torch.randn(14, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    actual = dual.weights(a, PRIOR)  # (T, C, K + 1)
    expected = torch.zeros(3, 2, 7, dtype=torch.float64)
    for t in range(3):
        for c in range(2):
            for n in range(14):
                expected[t, c, :-1] += 0.7**2 * B[t, dual.task[n]] * a[n, c] * dual.z[n]
                expected[t, c, -1] += (1.5**2 + 0.3**2 * float(dual.task[n] == t)) * a[n, c]
    torch.testing.assert_close(actual, expected, atol=1e-12, rtol=1e-12)


def test_outputs_of_the_weights_are_the_kernel_times_the_dual_solution() -> None:
    dual, a = Dual.of(ROWS), torch.randn(14, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    weights = dual.weights(a, PRIOR)[dual.task]  # (n, C, K + 1)
    outputs = torch.einsum("nck,nk->nc", weights[..., :-1], dual.z) + weights[..., -1]
    torch.testing.assert_close(outputs, PRIOR.kernel(dual.gram, dual.task) @ a, atol=1e-10, rtol=0)


def test_rows_of_no_weight_are_not_there() -> None:
    dual = Dual.of(ROWS)
    assert len(dual.y) == len(dual.z) == len(dual.task) == len(dual.weight) == len(dual.gram) == 14
    everywhere = dual.to_all_rows(torch.arange(1.0, 15.0))
    assert everywhere.tolist() == [*range(1, 8), 0, *range(8, 15)]
