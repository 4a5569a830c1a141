"""A kernel that is constant but for rounding is left out, instead of having its rounding blown up."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vmtl.inference.features.candidate_kernels import CANDIDATES, centred_kernels
from vmtl.inference.features.kernel_map import KernelMap
from vmtl.inference.features.score import CLASSES


def rows(scale: float) -> torch.Tensor:
    return torch.from_numpy(scale * np.random.default_rng(0).normal(size=(40, 4)))


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e-15, 1e-25, 1e-30, 1e-37])
@pytest.mark.parametrize("standardise", [False, True])
def test_features_are_as_large_in_single_precision_as_in_double(scale: float, standardise: bool) -> None:
    x = rows(scale).float()
    learned = KernelMap.learn(x, torch.ones(40), CLASSES.shares(), standardise=standardise, size_out=40)
    double = learned(x.double()[None])
    single = learned.to(torch.float32)(x[None])
    assert single.isfinite().all()
    assert float(double.square().sum(-1).mean()) <= 1.001
    assert float(single.square().sum(-1).mean()) == pytest.approx(float(double.square().sum(-1).mean()), rel=0.2)


def test_equal_rows_have_no_kernel() -> None:
    """Rounding leaves 1e-16 of every difference; a kernel divided by that would be noise."""
    x = rows(1.0)[:1].expand(40, 4) / 3
    weight = torch.rand(40, generator=torch.Generator().manual_seed(0))
    gauss = [kind != "linear" for _, kind, _ in CANDIDATES]
    assert centred_kernels(x, weight, False)[gauss].count_nonzero() == 0
    learned = KernelMap.learn(x, weight, CLASSES.shares(), standardise=False, size_out=40)
    assert learned.coefficient[0, gauss].count_nonzero() == 0


def test_an_ordinary_kernel_has_mean_diagonal_one() -> None:
    weight = torch.rand(40, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    kernels = centred_kernels(rows(1.0), weight, True)
    mean = kernels.diagonal(dim1=1, dim2=2) @ weight / weight.sum()
    torch.testing.assert_close(mean, torch.ones(len(CANDIDATES), dtype=torch.float64))
