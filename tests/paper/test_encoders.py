"""Encoders: shapes, groups, and the affine first layer that the prior of z relies on."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from helpers.priors import cpu_noise
from vmtl.paper.encoders import (
    Encoder,
    GroupedLinear,
    LinearEncoder,
    MlpEncoder,
)
from vmtl.paper.noisy_encoders import NoisyLinearEncoder, NoisyMlpEncoder

T, N, D, K = 3, 4, 6, 5
X = torch.randn(T, N, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
MAKE: dict[str, Callable[[int], Encoder]] = {
    "linear": lambda groups: LinearEncoder(groups, D, K, stochastic=True, dropout=0.5),
    "noisy-linear": lambda groups: NoisyLinearEncoder(groups, D, K, dropout=0.5),
    "mlp": lambda groups: MlpEncoder(groups, D, 7, K, stochastic=True, dropout=0.5),
    "noisy-mlp": lambda groups: NoisyMlpEncoder(groups, D, 7, K, dropout=0.5),
}


def make(name: str, groups: int = 1) -> Encoder:
    encoder = MAKE[name](groups).double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return encoder


@pytest.mark.parametrize("name", MAKE)
def test_one_per_task_is_that_many_shared_ones(name: str) -> None:
    """Group t, asked alone, says what the grouped encoder says of task t; ``task`` picks groups."""
    grouped = make(name, groups=T)
    whole, picked = grouped(X), grouped(X[[2, 0]], torch.tensor([2, 0]))
    torch.testing.assert_close(picked.mean, whole.mean[[2, 0]])
    for t in range(T):
        single = MAKE[name](1).double()
        state = {key: value[t : t + 1] for key, value in grouped.state_dict().items()}
        single.load_state_dict(state)
        alone = single(X[t : t + 1])
        torch.testing.assert_close(alone.mean, whole.mean[t : t + 1])
        torch.testing.assert_close(alone.scale, whole.scale[t : t + 1])


@pytest.mark.parametrize("name", [name for name in MAKE if name != "noisy-linear"])
def test_the_first_layer_is_affine(name: str) -> None:
    encoder = make(name)
    assert encoder.commutes
    weights = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)
    mixed = torch.einsum("t,tnd->nd", weights, X)[None]
    torch.testing.assert_close(encoder.first(mixed)[0], torch.einsum("t,tnf->nf", weights, encoder.first(X)))


@pytest.mark.parametrize("name", ["linear", "mlp", "noisy-linear"])
def test_dropout_is_on_with_noise_and_off_without(name: str) -> None:
    encoder = make(name)
    assert torch.equal(encoder(X).mean, encoder(X).mean)
    assert not torch.equal(encoder(X, None, cpu_noise()).mean, encoder(X).mean)


def test_layers_start_as_those_of_torch() -> None:
    layer = GroupedLinear(2, 100, 50)
    layer.reset(torch.Generator().manual_seed(0))
    weight = layer.weight.detach()
    assert float(weight.abs().max()) <= 0.1
    assert float(weight.std()) == pytest.approx(0.1 / math.sqrt(3), rel=0.05)
    given = GroupedLinear(1, 4, 3, bias=-2.0)
    given.reset(torch.Generator().manual_seed(0))
    assert (given.bias == -2).all()
