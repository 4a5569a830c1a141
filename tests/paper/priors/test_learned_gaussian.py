"""The prior of Bakker and Heskes: its M step, and that EM raises the evidence."""

import numpy as np
import torch
from scipy.stats import multivariate_normal
from torch.distributions import Normal, kl_divergence

from vmtl.paper.distributions import Gaussian
from vmtl.paper.priors import Context
from vmtl.paper.priors.learned_gaussian import LearnedGaussianW, m_step
from vmtl.paper.settings import Settings

SHAPE = (3, 2, 4)


def nothing() -> Context:
    return None  # type: ignore[return-value]


def test_m_step_maximises_the_expected_density() -> None:
    generator = torch.Generator().manual_seed(0)
    q = Gaussian(
        torch.randn(4, 2, 3, generator=generator, dtype=torch.float64),
        torch.rand(4, 2, 3, generator=generator, dtype=torch.float64) + 0.1,
    )
    centre, variance = m_step(q.mean, q.variance)

    def cost(m: torch.Tensor, v: torch.Tensor) -> float:
        return float(q.kl(Gaussian(m, v.sqrt())).sum())

    best = cost(centre, variance)
    for factor in (0.95, 1.05):
        assert best < cost(factor * centre, variance)
        assert best < cost(centre, factor * variance)


def test_em_never_decreases_the_evidence_on_a_linear_gaussian_toy() -> None:
    """Orthogonal designs make the factorised posterior exact, so this is EM and the evidence must rise."""
    rng = np.random.default_rng(0)
    T, N, K, noise = 5, 12, 3, 0.5
    designs = [np.linalg.qr(rng.normal(size=(N, K)))[0] * rng.uniform(0.5, 2, K) for _ in range(T)]
    targets = [X @ (rng.normal(size=K) * 0.7 + np.array([1.0, -2, 0.5])) + noise * rng.normal(size=N) for X in designs]
    prior = LearnedGaussianW(Settings(), torch.ones(T, 1, dtype=torch.bool), K).double()
    evidence = []
    for _ in range(30):
        m, v = prior.mean[0].numpy(), prior.variance[0].numpy()
        evidence.append(
            sum(
                multivariate_normal.logpdf(y, X @ m, X * v @ X.T + noise**2 * np.eye(N))
                for X, y in zip(designs, targets, strict=True)
            )
        )
        precision = np.stack([1 / v + (X**2).sum(0) / noise**2 for X in designs])
        mean = np.stack([(m / v + X.T @ y / noise**2) for X, y in zip(designs, targets, strict=True)]) / precision
        q = Gaussian(torch.as_tensor(mean)[:, None], torch.as_tensor(precision**-0.5)[:, None])
        prior.update(q)
    assert np.all(np.diff(evidence) >= -1e-9)
    assert evidence[-1] > evidence[0] + 1


def test_the_learned_prior_costs_a_kl() -> None:
    prior = LearnedGaussianW(Settings(), torch.ones(3, 2, dtype=torch.bool), 4).double()
    generator = torch.Generator().manual_seed(0)
    q = Gaussian(
        torch.randn(SHAPE, generator=generator, dtype=torch.float64),
        torch.rand(SHAPE, generator=generator, dtype=torch.float64) + 0.1,
    )
    prior.update(q)
    other = Normal(prior.mean, prior.variance.sqrt())
    expected = kl_divergence(Normal(q.mean, q.scale), other).sum((-1, -2))
    torch.testing.assert_close(prior.penalty(q, nothing()), expected)
