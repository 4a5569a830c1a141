"""The largest eigenvalues of a matrix that is known by its products, against a decomposition of its table."""

from __future__ import annotations

import torch

from vmtl.gp.positions.leading_axes import leading_axes


def test_axes_that_stand_out_are_those_of_the_table() -> None:
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(400, 400, generator=generator, dtype=torch.float64) / 400**0.5
    signal = torch.linalg.qr(torch.randn(400, 4, generator=generator, dtype=torch.float64))[0]
    matrix = (noise + noise.T) / 2**0.5 + signal @ torch.diag(torch.tensor([9.0, 7.0, 5.0, 4.0]).double()) @ signal.T
    values, axes = leading_axes(lambda x: matrix @ x, 400, seed=0)
    expected, vectors = torch.linalg.eigh(matrix)
    torch.testing.assert_close(values[:4], expected.flip(0)[:4], rtol=1e-6, atol=0)
    inner = axes[:, :4].T @ vectors.flip(1)[:, :4]
    torch.testing.assert_close(inner.abs(), torch.eye(4, dtype=torch.float64), rtol=0, atol=1e-3)
    assert abs(float(values[4] / expected[-5]) - 1) < 0.02  # the edge of what does not stand out
    torch.testing.assert_close(axes.T @ axes, torch.eye(axes.shape[1], dtype=torch.float64))
