"""The baselines' own mathematics against independent computations."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import invwishart, multivariate_normal
from torch.distributions import Independent, Normal, kl_divergence

from helpers.toys import SMALL, Quiet, build, full_batch_loss, toy
from vmtl.model.distributions import Delta, Gaussian
from vmtl.model.objective import Objective, Scales
from vmtl.model.priors import Context, PriorSettings
from vmtl.model.priors.learned_gaussian import LearnedGaussianW, m_step
from vmtl.model.priors.tensor_normal import TensorNormalW, negative_log_density, unfold_covariance
from vmtl.model.task_weighting import EqualWeighting, UncertaintyWeighting

SHAPE = (3, 2, 4)


@pytest.fixture
def factors() -> list[torch.Tensor]:
    found = [invwishart.rvs(size + 2, np.eye(size), random_state=size) for size in SHAPE]
    return [torch.as_tensor(factor, dtype=torch.float64) for factor in found]


@pytest.fixture
def w() -> torch.Tensor:
    return torch.randn(SHAPE, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def nothing() -> Context:
    return None  # type: ignore[return-value]


def test_tensor_normal_density_is_a_dense_kronecker_gaussian(w: torch.Tensor, factors: list[torch.Tensor]) -> None:
    inverses = tuple(factor.inverse() for factor in factors)
    log_dets = torch.stack([factor.logdet() for factor in factors])
    dense = np.kron(np.kron(factors[0], factors[1]), factors[2])
    expected = -multivariate_normal.logpdf(w.numpy().ravel(), np.zeros(24), dense)
    assert float(negative_log_density(w, inverses, log_dets)) == pytest.approx(expected)  # type: ignore[arg-type]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_flip_flop_step_maximises_the_density_in_its_factor(
    axis: int, w: torch.Tensor, factors: list[torch.Tensor]
) -> None:
    inverses = tuple(factor.inverse() for factor in factors)
    found = unfold_covariance(w, axis, inverses)  # type: ignore[arg-type]
    unfolded = w.movedim(axis, 0).flatten(1)
    rest = [factors[other] for other in range(3) if other != axis]
    expected = unfolded @ torch.kron(rest[0], rest[1]).inverse() @ unfolded.T / unfolded.shape[1]
    torch.testing.assert_close(found, expected)

    def cost(factor: torch.Tensor) -> float:
        trial = list(factors)
        trial[axis] = factor
        log_dets = torch.stack([f.logdet() for f in trial])
        return float(negative_log_density(w, tuple(f.inverse() for f in trial), log_dets))  # type: ignore[arg-type]

    assert cost(found) < min(cost(1.1 * found), cost(0.9 * found), cost(factors[axis]))


def test_the_prior_uses_its_own_factors_and_shares_the_cost(w: torch.Tensor) -> None:
    prior = TensorNormalW(PriorSettings(), torch.ones(3, 2, dtype=torch.bool), 4).double()
    start = prior.penalty(Delta(w), nothing())
    torch.testing.assert_close(start.sum(), 0.5 * (w.square().sum() + 24 * math.log(2 * math.pi)))
    torch.testing.assert_close(start, start[:1].expand(3))
    prior.update(Delta(w))
    factors = [prior.get_buffer(f"covariance_{axis}") for axis in range(3)]
    dense = np.kron(np.kron(factors[0], factors[1]), factors[2])
    expected = -multivariate_normal.logpdf(w.numpy().ravel(), np.zeros(24), dense)
    assert float(prior.penalty(Delta(w), nothing()).sum()) == pytest.approx(expected, rel=1e-6)
    for axis, factor in enumerate(factors):
        values = torch.linalg.eigvalsh(factor)
        assert float(factor.trace()) <= SHAPE[axis] * (1 + prior.floor) + 1e-6
        assert float(values.min()) >= 0.999 * prior.floor


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_factors_stay_stable_however_large_the_weights(size: float, w: torch.Tensor) -> None:
    prior = TensorNormalW(PriorSettings(), torch.ones(3, 2, dtype=torch.bool), 4)
    low_rank = Delta(size * w[..., :1].expand(SHAPE).float())
    for _ in range(50):
        prior.update(low_rank)
    for axis in range(3):
        values = torch.linalg.eigvalsh(prior.get_buffer(f"covariance_{axis}"))
        assert float(values.sum()) <= SHAPE[axis] * (1 + prior.floor) + 1e-4
        assert float(values.min()) >= 0.999 * prior.floor
    assert prior.penalty(low_rank, nothing()).isfinite().all()


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
    prior = LearnedGaussianW(PriorSettings(), torch.ones(T, 1, dtype=torch.bool), K).double()
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
    prior = LearnedGaussianW(PriorSettings(), torch.ones(3, 2, dtype=torch.bool), 4).double()
    generator = torch.Generator().manual_seed(0)
    q = Gaussian(
        torch.randn(SHAPE, generator=generator, dtype=torch.float64),
        torch.rand(SHAPE, generator=generator, dtype=torch.float64) + 0.1,
    )
    prior.update(q)
    other = Normal(prior.mean, prior.variance.sqrt())
    expected = kl_divergence(Normal(q.mean, q.scale), other).sum((-1, -2))
    torch.testing.assert_close(prior.penalty(q, nothing()), expected)


def test_kendall_by_hand() -> None:
    losses, share = torch.tensor([0.5, 2.0]), torch.tensor([0.25, 0.75])
    weighting = UncertaintyWeighting(2)
    weighting.log_variance.data = torch.tensor([math.log(0.5), math.log(3.0)])
    sigma = np.sqrt([0.5, 3.0])
    by_hand = 0.25 * (0.5 / sigma[0] ** 2 + np.log(sigma[0])) + 0.75 * (2.0 / sigma[1] ** 2 + np.log(sigma[1]))
    assert float(weighting(losses, share).detach()) == pytest.approx(by_hand)
    assert float(EqualWeighting(2)(losses, share)) == pytest.approx(0.25 * 0.5 + 0.75 * 2)


def test_kendall_classification_on_a_toy_by_hand() -> None:
    rows = toy([4, 6], classes=2).rows()
    model = build("kendall", rows, SMALL)
    model.weighting.log_variance.data = torch.tensor([0.3, -0.7], dtype=torch.float64)
    w = model.head.mean
    each = [w[t, :, :-1] @ x + w[t, :, -1] for t, x in zip(rows.task, rows.x, strict=True)]
    logits = model.logit_scale * torch.stack(each)
    nll = torch.nn.functional.cross_entropy(logits, rows.y, reduction="none")
    means = torch.stack([nll[rows.task == t].mean() for t in range(2)])
    s = model.weighting.log_variance
    by_hand = (torch.tensor([0.4, 0.6]).double() * ((-s).exp() * means + s / 2)).sum()
    torch.testing.assert_close(full_batch_loss(Objective(model, rows), rows, Quiet()), by_hand, rtol=1e-6, atol=1e-8)


def test_kendall_regression_is_the_gaussian_likelihood_with_noise_per_task() -> None:
    rows = toy([4, 6]).rows()
    model = build("kendall", rows, SMALL)
    model.likelihood.log_own.data = torch.tensor([-0.5, 0.2], dtype=torch.float64)
    sigma, strength = model.likelihood.scale(), 0.5 * (model.likelihood.log_own / 0.25).square().sum()
    torch.testing.assert_close(sigma[1].log() - sigma[0].log(), torch.tensor(0.7).double(), atol=0.01, rtol=0)
    scale, w = model.logit_scale, model.head.mean
    by_hand = torch.zeros((), dtype=torch.float64)
    for t, x, y in zip(rows.task, rows.x, rows.y, strict=True):
        error = y - scale * (w[t, 0, :-1] @ x + w[t, 0, -1])
        by_hand = by_hand + error**2 / (2 * sigma[t] ** 2) + sigma[t].log() + 0.5 * math.log(2 * math.pi)
    torch.testing.assert_close(full_batch_loss(Objective(model, rows), rows, Quiet()), (by_hand + strength) / 10)


def test_shared_noise_makes_regression_a_plain_sum_of_squares() -> None:
    for method, shared in (("bmtl", True), ("pooled", True), ("long", True), ("kendall", False), ("vmtl", False)):
        likelihood = build(method, toy([4, 6]).rows()).likelihood
        assert (likelihood.log_own is None) == shared
        assert likelihood.scale().shape == (2,)


def test_bottleneck_kl_against_torch() -> None:
    rows = toy([4, 6], classes=2).rows()
    model = build("qian", rows, SMALL)
    objective = Objective(model, rows)
    prior = objective.prior_z
    prior.mean.data = torch.randn(6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    prior.log_scale.data = torch.linspace(-1, 1, 6, dtype=torch.float64)
    batch = rows.batch(*rows.by_task)
    q_z = model.encoder(batch.x)
    each = kl_divergence(
        Independent(Normal(q_z.mean, q_z.scale), 1), Independent(Normal(prior.mean, prior.log_scale.exp()), 1)
    )
    found = prior.kl(q_z, Context(batch, model.encoder, None, None, None))  # type: ignore[arg-type]
    expected = torch.stack([each[t][batch.weight[t] > 0].mean() for t in range(2)])
    torch.testing.assert_close(found, expected)
    start, more = (full_batch_loss(objective, rows, Quiet(), scales=Scales(s, 1.0, 0.0)) for s in (0.0, 1.0))
    torch.testing.assert_close(more - start, (torch.tensor([0.4, 0.6]).double() * expected).sum())
