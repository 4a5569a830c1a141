"""The bound of every row against components of its own, value and gradients."""

from __future__ import annotations

import pytest
import torch

from helpers.priors import assert_same, leaf, random_gaussian
from vmtl.paper.distributions import Gaussian
from vmtl.paper.priors import row_bound
from vmtl.paper.priors.mixture_kl import mixture_kl


@pytest.mark.parametrize("chunk", [1, 10**6])
def test_equals_the_form_of_the_bound(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_bound, "COMPONENTS_AT_ONCE", chunk)
    q, components = random_gaussian(6, 5, seed=2), random_gaussian(4, 3, 5, seed=3)
    weights = leaf(torch.Generator().manual_seed(4), 6, 3, positive=True)
    place = torch.tensor([0, 1, 1, 3, 2, 0])
    fast = row_bound.row_bound(q, components, weights, place)
    single = Gaussian(q.mean[:, None], q.scale[:, None])
    plain = mixture_kl("bound", single, components.at(place), weights[:, None]).squeeze(-1)
    assert_same(fast, plain, [q.mean, q.scale, weights, components.mean, components.scale])
    without = row_bound.row_bound(q, components.detach(), weights, place)
    assert_same(without, fast, [q.mean, q.scale, weights])
