"""Feature maps on training rows: learned, applied task by task, stored and loaded."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from helpers.toys import toy
from vmtl.inference.features import maps
from vmtl.inference.features.candidate_kernels import CANDIDATES
from vmtl.inference.features.feature_map import ScaledMap
from vmtl.inference.features.kernel_map import KernelMap
from vmtl.inference.features.maps import apply_map, feature_spread, from_tensors, learn_kernel_map

X = torch.as_tensor(np.random.default_rng(0).normal(size=(12, 5)))
SHARES = torch.full((len(CANDIDATES),), 1 / len(CANDIDATES), dtype=torch.float64)


def test_a_map_survives_its_tensors():
    kernel_map = KernelMap.learn(X, torch.ones(12), SHARES, standardise=True, size_out=6)
    again = from_tensors(kernel_map.state_dict())
    torch.testing.assert_close(again(X[None]), kernel_map(X[None]), rtol=0, atol=0)
    scaled = ScaledMap.fitted(X, torch.ones(12))
    torch.testing.assert_close(from_tensors(scaled.state_dict())(X[None]), scaled(X[None]), rtol=0, atol=0)


def test_a_map_of_version_0_1_0_predicts_as_it_did():
    """It had neither relevance nor splines, and one kernel less."""
    shares = SHARES.clone()
    shares[-1] = 0
    now = KernelMap.learn(X, torch.ones(12), shares, standardise=True, size_out=6)
    then = now.state_dict()
    del then["views.relevance"], then["views.spline_shift"]
    then["views.scale"], then["coefficient"] = then["views.scale"][:, :-1], then["coefficient"][:, :-1]
    torch.testing.assert_close(from_tensors(then)(X[None]), now(X[None]), rtol=0, atol=0)


def test_apply_map_gives_each_task_its_own_features():
    rows = toy([4, 6], classes=2).rows()
    options = {"standardise": False, "size_out": 4}
    both = learn_kernel_map(rows, SHARES, **options, scale=1.0, per_task=True, seed=0)
    features = apply_map(both, rows).x
    for t in range(2):
        x = rows.x[rows.task == t]
        alone = KernelMap.learn(x, torch.ones(len(x)), SHARES, **options)
        torch.testing.assert_close(features[rows.task == t], alone(x[None])[0])


def test_landmarks_are_some_of_many_rows_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "MAX_LANDMARKS", 7)
    rows = toy([20, 5], classes=2).rows()

    def learned(per_task: bool, seed: int) -> KernelMap:
        return learn_kernel_map(rows, SHARES, standardise=False, size_out=4, scale=1.0, per_task=per_task, seed=seed)

    one, same, other = (learned(False, seed).landmarks for seed in (0, 0, 1))
    assert one.shape == (1, 7, 6)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert (learned(True, 0).weight > 0).sum(-1).tolist() == [7, 5]


def test_spread_is_the_weighted_deviation_and_never_zero() -> None:
    rows = toy([20, 15], classes=2).rows(weight=np.arange(1.0, 36))
    rows.x[:, 2] = 3.0
    for t, spread in enumerate(feature_spread(rows, per_task=True)):
        x, weight = (value[rows.task == t].numpy() for value in (rows.x, rows.weight))
        variance = np.cov(x.T, aweights=weight, bias=True).diagonal()
        np.testing.assert_allclose(spread, np.maximum(np.sqrt(variance), 1e-4), atol=1e-12)
    assert feature_spread(rows, per_task=False).shape == (1, 6)
