"""The simplest feature map: one scale for all columns."""

from __future__ import annotations

import torch

from vmtl.inference.features.feature_map import ScaledMap

X = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 3 + 1


def test_scaled_rows_are_centred_with_mean_squared_norm_one():
    weight = torch.arange(1.0, 10.0, dtype=torch.float64)
    scaled = ScaledMap.fitted(X, weight)(X[None])[0]
    p = weight / weight.sum()
    torch.testing.assert_close(p @ scaled, torch.zeros(4, dtype=torch.float64))
    torch.testing.assert_close(p @ scaled.square().sum(-1), torch.ones((), dtype=torch.float64))
    repeated = ScaledMap.fitted(X.repeat_interleave(weight.long(), 0), torch.ones(45))
    torch.testing.assert_close(repeated(X[None])[0], scaled)


def test_identity_leaves_rows_alone():
    assert torch.equal(ScaledMap.identity(4).double()(X[None])[0], X)
