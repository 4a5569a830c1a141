"""Encoders with Gaussian weights: their mean and variance are those of the layer whose weights are drawn."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from helpers.priors import cpu_noise
from vmtl.paper.noisy_encoders import NoisyLinear, NoisyLinearEncoder, NoisyMlpEncoder

T, N, D, K = 3, 4, 6, 5
X = torch.randn(T, N, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def random_weights(module: torch.nn.Module) -> None:
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))


def test_an_output_adds_the_variances_of_its_weights() -> None:
    """Term by term, of tasks with a layer each, of which two are asked."""
    layer = NoisyLinear(T, D, K).double()
    random_weights(layer)
    asked = [2, 0]
    q = layer(X[asked], torch.tensor(asked))
    for place, t in enumerate(asked):
        for n in range(N):
            for k in range(K):
                mean = layer.mean.bias[t, 0, k] + sum(X[t, n, d] * layer.mean.weight[t, d, k] for d in range(D))
                variance = F.softplus(layer.rho_bias[t, 0, k]) ** 2
                variance = variance + sum((X[t, n, d] * F.softplus(layer.rho[t, d, k])) ** 2 for d in range(D))
                torch.testing.assert_close(q.mean[place, n, k], mean)
                torch.testing.assert_close(q.variance[place, n, k], variance)


def test_the_released_encoder_is_a_layer_with_random_weights() -> None:
    """Many draws of its weight matrix have the mean and variance that it states; it does not commute."""
    encoder = NoisyLinearEncoder(1, D, K, dropout=0.5).double()
    random_weights(encoder)
    assert not encoder.commutes
    q_z = encoder(X[:1])
    draws = cpu_noise().normal(40_000, D, K)
    layer = encoder.layer
    weight = layer.mean.weight[0] + F.softplus(layer.rho[0]) * draws
    bias = layer.mean.bias[0] + F.softplus(layer.rho_bias[0]) * cpu_noise(seed=1).normal(40_000, 1, K)
    z = (X[0] @ weight + bias).detach()  # (S, N, K)
    torch.testing.assert_close(z.mean(0), q_z.mean[0].detach(), atol=0.1, rtol=0.02)
    torch.testing.assert_close(z.std(0), q_z.scale[0].detach(), atol=0.02, rtol=0.03)


def test_the_network_has_two_elu_layers_before_the_noisy_one() -> None:
    encoder = NoisyMlpEncoder(1, D, 7, K, dropout=0.0).double()
    random_weights(encoder)
    network = encoder.network
    hidden = X
    for layer in (network.layer1, network.layer2):
        affine = hidden @ layer.weight[0] + layer.bias[0]
        hidden = torch.where(affine > 0, affine, affine.exp() - 1)
    spread, bias_spread = F.softplus(network.last.rho[0]), F.softplus(network.last.rho_bias[0])
    q_z = encoder(X)
    torch.testing.assert_close(q_z.mean, hidden @ network.last.mean.weight[0] + network.last.mean.bias[0])
    torch.testing.assert_close(q_z.variance, hidden**2 @ spread**2 + bias_spread**2)
