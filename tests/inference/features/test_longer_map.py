"""A map that grows: further features are what the first ones miss of the kernel, and those stay as they are."""

from __future__ import annotations

import pytest
import torch

from vmtl.inference.features import longer_map as module
from vmtl.inference.features.candidate_kernels import CANDIDATES
from vmtl.inference.features.kernel_map import KernelMap
from vmtl.inference.features.longer_map import longer_map, shorter_map, stage_sizes, with_landmarks
from vmtl.inference.features.maps import from_tensors

SCALE = 1.7


def rows(n: int, seed: int) -> torch.Tensor:
    return torch.randn(n, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def learned(size_out: int = 100, linear: bool = False) -> KernelMap:
    shares = torch.zeros(len(CANDIDATES), dtype=torch.float64)
    shares[0] = 0.3
    shares[4] = 0.0 if linear else 0.7
    weight = 0.5 + torch.rand(20, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    return KernelMap.learn(rows(20, 0), weight, shares, standardise=False, size_out=size_out, scale=SCALE)


def inner_products(kernel_map: KernelMap, x: torch.Tensor) -> torch.Tensor:
    """scale^2 k_c among the rows x, the long way."""
    everywhere = with_landmarks(kernel_map, x)
    kernel = everywhere.kernel(everywhere.landmarks)[0]
    p = everywhere.weight[0]
    centred = kernel - (kernel @ p)[:, None] - kernel @ p + p @ kernel @ p
    return SCALE**2 * centred[-len(x) :, -len(x) :]


@pytest.mark.parametrize("size_out", [100, 7])
def test_inner_products_of_the_new_rows_are_those_of_the_kernel(size_out: int) -> None:
    first, x, y = learned(size_out), rows(6, 1), rows(4, 2)
    once = longer_map(first, x, SCALE, 0)
    twice = longer_map(once, y, SCALE, 0)
    for kernel_map, known in ((once, x), (twice, torch.cat([x, y]))):
        features = kernel_map(known[None])[0]
        torch.testing.assert_close(features @ features.T, inner_products(first, known), rtol=1e-4, atol=1e-4)
    size = stage_sizes(first)[0]
    torch.testing.assert_close(once(x[None])[..., :size], first(x[None]))
    assert stage_sizes(twice) == [size, size + 6, size + 10]


def test_rows_that_the_map_was_learned_on_have_none_of_it() -> None:
    kernel_map = longer_map(learned(), rows(6, 1), SCALE, 0)
    assert float(kernel_map(rows(20, 0)[None])[..., stage_sizes(kernel_map)[0] :].abs().max()) < 1e-4


def test_a_map_that_reaches_everything_stays_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    first = learned(linear=True)  # five columns, and all five components are there
    assert longer_map(first, rows(30, 1), SCALE, 0) is first
    monkeypatch.setattr(module, "MOST_LANDMARKS", 20)  # as one that has grown too often
    other = learned()
    assert longer_map(other, rows(6, 1), SCALE, 0) is other


def test_of_many_rows_some_are_landmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NEW_LANDMARKS", 8)
    grown = longer_map(learned(), rows(50, 1), SCALE, 0)
    assert grown.landmarks.shape[1] == 28
    assert set(map(tuple, grown.landmarks[0, 20:].tolist())) <= set(map(tuple, rows(50, 1).tolist()))


def test_a_stage_is_found_again_to_the_bit_also_from_a_file() -> None:
    first = learned().float()
    twice = longer_map(longer_map(first, rows(6, 1).float(), SCALE, 0), rows(4, 2).float(), SCALE, 0)
    loaded = from_tensors(dict(twice.state_dict()))
    assert isinstance(loaded, KernelMap)
    x = rows(9, 3).float()[None]
    assert torch.equal(shorter_map(loaded, stage_sizes(first)[0])(x), first(x))
    assert torch.equal(shorter_map(loaded, stage_sizes(twice)[-1])(x), twice(x))
