"""Logits from z and w: local reparameterisation and closed-form moments against sampled weights."""

import pytest
import torch

from helpers.priors import cpu_noise
from vmtl._utils.noise import Noise
from vmtl.paper.distributions import Delta, Gaussian
from vmtl.paper.logits import affine, fused_affine, logit_moments, sample_logits


def posteriors(scale: float = 1.0) -> tuple[Gaussian, Gaussian]:
    generator = torch.Generator().manual_seed(0)

    def make(*shape: int) -> Gaussian:
        mean = torch.randn(shape, generator=generator, dtype=torch.float64)
        return Gaussian(mean, scale * (torch.rand(shape, generator=generator, dtype=torch.float64) + 0.1))

    return make(2, 3, 4), make(2, 5, 5)  # (T, N, K), (T, C, K+1)


def sampled_weights(q_z: Gaussian | Delta, q_w: Gaussian, draws: int) -> torch.Tensor:
    """Logits of w drawn as a matrix, a fresh one for every row and draw: (S, T, N, C)."""
    generator = torch.Generator().manual_seed(1)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    T, N, K = q_z.mean.shape
    w = q_w.mean[:, None] + q_w.scale[:, None] * normal(draws, T, N, *q_w.mean.shape[1:])
    z = q_z.rsample(normal(draws, T, N, K))
    return (w[..., :-1] * z[..., None, :]).sum(-1) + w[..., -1]


@pytest.mark.parametrize("stochastic_z", [True, False])
def test_local_reparameterisation_has_the_mean_and_variance_of_sampled_weights(stochastic_z: bool) -> None:
    q_z, q_w = posteriors()
    q = q_z if stochastic_z else Delta(q_z.mean)
    noise = Noise(2, torch.device("cpu"), torch.float64)
    drawn = sample_logits(q, q_w, noise, 200, 200 if stochastic_z else 40_000)
    assert drawn.shape == (40_000, 2, 3, 5)
    reference = sampled_weights(q, q_w, 40_000)
    torch.testing.assert_close(drawn.mean(0), reference.mean(0), atol=0.1, rtol=0.02)
    torch.testing.assert_close(drawn.var(0), reference.var(0), atol=0.1, rtol=0.2 if stochastic_z else 0.05)


@pytest.mark.parametrize("stochastic_z", [True, False])
def test_moments_are_those_of_sampled_weights(stochastic_z: bool) -> None:
    q_z, q_w = posteriors()
    q = q_z if stochastic_z else Delta(q_z.mean)
    moments, reference = logit_moments(q, q_w), sampled_weights(q, q_w, 60_000)
    torch.testing.assert_close(moments.mean, reference.mean(0), atol=0.05, rtol=0.01)
    torch.testing.assert_close(moments.variance, reference.var(0), atol=0.02, rtol=0.06)


def test_with_deltas_nothing_is_random() -> None:
    q_z, q_w = posteriors()
    z, w = Delta(q_z.mean), Delta(q_w.mean)
    noise = Noise(0, torch.device("cpu"), torch.float64)
    exact = affine(z.mean, w.mean)
    assert torch.equal(sample_logits(z, w, noise, 5, 5), exact[None])
    assert torch.equal(logit_moments(z, w).mean, exact)
    assert (logit_moments(z, w).variance == 0).all()
    expected = torch.einsum("tnk,tck->tnc", z.mean, w.mean[..., :-1]) + w.mean[:, None, :, -1]
    torch.testing.assert_close(exact, expected)


def test_partners_have_opposite_noise_of_z_and_w() -> None:
    """Averaged over four partners, logits lose everything odd in the noise: a linear readout is exact."""
    q_z, q_w = posteriors()
    draws = sample_logits(q_z, q_w, cpu_noise(), 2, 2)
    torch.testing.assert_close(
        draws.mean(0), sample_logits(q_z, Gaussian(q_w.mean, q_w.scale * 0), cpu_noise(), 2, 1).mean(0)
    )


def test_both_products_say_the_same() -> None:
    q_z, q_w = posteriors()
    expected = torch.einsum("tnk,tck->tnc", q_z.mean, q_w.mean[..., :-1]) + q_w.mean[:, None, :, -1]
    torch.testing.assert_close(affine(q_z.mean, q_w.mean), expected)
    torch.testing.assert_close(fused_affine(q_z.mean, q_w.mean), expected)
