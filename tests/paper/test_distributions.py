"""Gaussian and Delta against torch.distributions."""

import pytest
import torch
from torch.distributions import Independent, Normal, kl_divergence

from vmtl.paper.distributions import Delta, Gaussian, standard_normal_kl


@pytest.fixture
def pair() -> tuple[Gaussian, Gaussian]:
    generator = torch.Generator().manual_seed(0)

    def make() -> Gaussian:
        mean = torch.randn(3, 4, 5, generator=generator, dtype=torch.float64)
        return Gaussian(mean, torch.rand(3, 4, 5, generator=generator, dtype=torch.float64) + 0.1)

    return make(), make()


def oracle(q: Gaussian) -> Independent:
    return Independent(Normal(q.mean, q.scale), 1)


def test_kl_is_that_of_torch(pair: tuple[Gaussian, Gaussian]) -> None:
    q, p = pair
    torch.testing.assert_close(q.kl(p), kl_divergence(oracle(q), oracle(p)))
    assert q.kl(p).shape == (3, 4)
    torch.testing.assert_close(q.kl(q), torch.zeros(3, 4, dtype=torch.float64))


def test_kl_to_the_standard_normal(pair: tuple[Gaussian, Gaussian]) -> None:
    q, _ = pair
    standard = Gaussian(torch.zeros_like(q.mean), torch.ones_like(q.mean))
    torch.testing.assert_close(standard_normal_kl(q), kl_divergence(oracle(q), oracle(standard)))


def test_log_density_is_that_of_torch(pair: tuple[Gaussian, Gaussian]) -> None:
    q, p = pair
    torch.testing.assert_close(q.log_prob(p.mean), oracle(q).log_prob(p.mean))


def test_draws_have_the_moments() -> None:
    q = Gaussian(torch.tensor([1.0, -2.0]), torch.tensor([0.5, 2.0]))
    draws = q.rsample(torch.randn(200_000, 2, generator=torch.Generator().manual_seed(0)))
    torch.testing.assert_close(draws.mean(0), q.mean, atol=0.02, rtol=0)
    torch.testing.assert_close(draws.std(0), q.scale, atol=0.02, rtol=0)


def test_a_delta_repeats_its_mean() -> None:
    delta = Delta(torch.arange(6.0).view(2, 3))
    draws = delta.rsample(torch.randn(4, 2, 3))
    assert draws.shape == (4, 2, 3)
    assert (draws == delta.mean).all()
    assert (delta.variance == 0).all()


def test_detach_cuts_the_gradient() -> None:
    mean, scale = torch.zeros(2, requires_grad=True), torch.ones(2, requires_grad=True)
    frozen = Gaussian(mean, scale).detach()
    assert not frozen.mean.requires_grad
    assert not frozen.scale.requires_grad
    assert not Delta(mean).detach().mean.requires_grad
