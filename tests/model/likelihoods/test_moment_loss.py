"""The loss over logits with given moments against drawing them: values and gradients."""

from __future__ import annotations

import pytest
import torch

from helpers.class_labels import C, N, T, categorical, labels
from helpers.priors import assert_same, cpu_noise, random_gaussian
from vmtl._utils.noise import antithetic
from vmtl.model.logits import Moments


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("draws", [1, 2, 5, 10])
def test_cross_entropy_of_moments(draws: int, hidden: bool) -> None:
    given = random_gaussian(T, N, C)
    leaves = [given.mean, given.scale]  # any positive number is a variance
    likelihood, y = categorical(hidden), labels()
    fast = likelihood.nll_moments(Moments(*leaves), y, cpu_noise(), draws)
    eps = antithetic(cpu_noise().halves(draws, T, N, C), draws)
    plain = likelihood.nll(torch.addcmul(leaves[0], leaves[1].sqrt(), eps), y)
    assert_same(fast, plain, leaves)
