"""The four forms of the KL to a mixture, and the facts that tie them together."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal, kl_divergence

from vmtl.paper.choices import KL_FORMS
from vmtl.paper.distributions import Gaussian
from vmtl.paper.priors.mixture_kl import mixture_kl, monte_carlo, weighted_sum

COMMON = settings(deadline=None, max_examples=60)
TASKS, SIZES, SEEDS = st.integers(2, 6), st.integers(1, 20), st.integers(0, 100_000)


def random_mixture(tasks: int, size: int, seed: int, dtype: torch.dtype = torch.float64) -> tuple[Gaussian, Tensor]:
    """Posteriors of all tasks (T, K), and mixing weights (T, T) with zero diagonal."""
    generator = torch.Generator().manual_seed(seed)
    mean = torch.randn(tasks, size, generator=generator, dtype=dtype)
    scale = torch.rand(tasks, size, generator=generator, dtype=dtype) * 2 + 0.05
    logits = 2 * torch.randn(tasks, tasks, generator=generator, dtype=dtype)
    return Gaussian(mean, scale), logits.masked_fill(torch.eye(tasks, dtype=torch.bool), -torch.inf).softmax(-1)


def shrunk(q: Gaussian, r: float) -> Gaussian:
    return Gaussian(r * q.mean, (r**2 * q.variance + 1 - r**2).sqrt())


@COMMON
@given(TASKS, SIZES, SEEDS, st.floats(0, 1))
def test_bound_is_the_weighted_sum_of_pairwise_kls(tasks: int, size: int, seed: int, r: float) -> None:
    q, weights = random_mixture(tasks, size, seed)
    components = shrunk(q, r)
    pairs = torch.stack(
        [
            kl_divergence(
                Independent(Normal(q.mean, q.scale), 1),
                Independent(Normal(components.mean[i], components.scale[i]), 1),
            )
            for i in range(tasks)
        ],
        -1,
    )
    torch.testing.assert_close(mixture_kl("bound", q, components, weights), (weights * pairs).sum(-1))


@COMMON
@given(TASKS, SIZES, SEEDS, st.floats(0, 1))
def test_monte_carlo_is_below_the_sampled_bound_draw_by_draw(tasks: int, size: int, seed: int, r: float) -> None:
    """Jensen: -log sum_i alpha_i p_i(w) <= -sum_i alpha_i log p_i(w) for every w."""
    q, weights = random_mixture(tasks, size, seed)
    components = shrunk(q, r)
    noise = torch.randn(8, tasks, size, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)
    for draw in noise:
        value = q.rsample(draw[None])[0]
        each = torch.stack(
            [Gaussian(components.mean[i], components.scale[i]).log_prob(value) for i in range(tasks)], -1
        )
        sampled_bound = q.log_prob(value) - (weights * each).sum(-1)
        kl = mixture_kl("monte-carlo", q, components, weights, draw[None])
        assert (kl <= sampled_bound + 1e-9).all()


@COMMON
@given(TASKS, SIZES, SEEDS)
def test_identical_tasks_at_full_sharing(tasks: int, size: int, seed: int) -> None:
    """bound, monte-carlo and moment-matched vanish; weighted-sum does not unless the weights are one-hot."""
    q, weights = random_mixture(tasks, size, seed)
    same = Gaussian(q.mean[:1].expand(tasks, size), q.scale[:1].expand(tasks, size))
    noise = torch.randn(4, tasks, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    zero = torch.zeros(tasks, dtype=torch.float64)
    for form in ("bound", "monte-carlo", "moment-matched"):
        torch.testing.assert_close(mixture_kl(form, same, same, weights, noise), zero, atol=1e-8, rtol=0)
    released = mixture_kl("weighted-sum", same, same, weights)
    if tasks >= 3:
        assert (released > 0).all()
    torch.testing.assert_close(
        released,  # its margin of 1e-6 on variances leaves a little
        size * 0.5 * (1 / weights.square().sum(-1) - 1 + weights.square().sum(-1).log()),
        atol=1e-3,
        rtol=1e-3,
    )
    one_hot = torch.nn.functional.one_hot((torch.arange(tasks) + 1) % tasks, tasks).double()
    torch.testing.assert_close(mixture_kl("weighted-sum", same, same, one_hot), zero, atol=1e-8, rtol=0)


def test_weighted_sum_of_identical_tasks_at_the_size_of_the_released_code() -> None:
    """Three equal weights and K = 512 cost about 230 nats where the truth is 0."""
    q = Gaussian(torch.zeros(4, 512), torch.ones(4, 512))
    kl = weighted_sum(q, q, (1 - torch.eye(4)) / 3)
    expected = torch.full((4,), 512 * 0.5 * (3 - 1 - torch.tensor(3.0).log()))
    torch.testing.assert_close(kl, expected, rtol=1e-4, atol=0)
    assert 229 < float(kl[0]) < 232


def test_monte_carlo_estimates_the_kl_to_the_true_mixture() -> None:
    torch.manual_seed(0)
    q, weights = random_mixture(4, 3, 5)
    generator = torch.Generator().manual_seed(0)
    noise, other = torch.randn(2, 100_000, 4, 3, generator=generator, dtype=torch.float64)
    kl = monte_carlo(q, q, weights, noise)
    for t in range(4):
        mixture = MixtureSameFamily(Categorical(weights[t]), Independent(Normal(q.mean, q.scale), 1))
        own = Independent(Normal(q.mean[t], q.scale[t]), 1)
        value = q.mean[t] + q.scale[t] * other[:, t]
        ratio = own.log_prob(value) - mixture.log_prob(value)
        error = float(ratio.std() * (2 / 100_000) ** 0.5)  # of the difference of two such means
        assert float(kl[t]) == pytest.approx(float(ratio.mean()), abs=4 * error)


def test_a_component_of_weight_zero_says_nothing_however_near_it_is() -> None:
    """A task's own posterior has weight 0; in many dimensions it is nearer than all others by hundreds of nats."""
    q = Gaussian(torch.tensor([0.0, 3.0]).expand(512, 2).T.double(), torch.ones(2, 512).double())
    weights = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    noise = torch.randn(64, 2, 512, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    exact = torch.full((2,), 512 * 9 / 2, dtype=torch.float64)
    for form in KL_FORMS:
        torch.testing.assert_close(mixture_kl(form, q, q, weights, noise), exact, rtol=0.05, atol=0)


def test_single_precision_keeps_its_digits_where_tasks_agree() -> None:
    """Far from 0 and narrow, as w becomes at r = 1: an expanded square must not lose the result."""
    generator = torch.Generator().manual_seed(0)
    mean = 5 + torch.randn(1, 512, generator=generator) + 1e-3 * torch.randn(3, 512, generator=generator)
    q = Gaussian(mean, torch.full((3, 512), 1e-3))
    weights = 0.5 * (1 - torch.eye(3))
    precise = Gaussian(mean.double(), q.scale.double())
    for form in ("bound", "moment-matched"):
        exact = mixture_kl(form, precise, precise, weights.double())
        torch.testing.assert_close(mixture_kl(form, q, q, weights).double(), exact, rtol=1e-3, atol=0.1)


@pytest.mark.parametrize("form", KL_FORMS)
def test_without_any_component_the_result_is_zero_and_finite_in_its_gradient(form: str) -> None:
    q, weights = random_mixture(3, 4, 0)
    mean = q.mean.clone().requires_grad_()
    noise = torch.randn(2, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weights = weights * torch.tensor([[0.0], [1.0], [1.0]])
    kl = mixture_kl(form, Gaussian(mean, q.scale), q, weights, noise)
    assert kl[0] == 0
    kl.sum().backward()
    assert mean.grad is not None
    assert mean.grad.isfinite().all()
    assert (mean.grad[0] == 0).all()


def test_bad_calls() -> None:
    q, weights = random_mixture(2, 2, 0)
    with pytest.raises(ValueError, match="needs noise"):
        mixture_kl("monte-carlo", q, q, weights)
    with pytest.raises(ValueError, match="Unknown KL form 'exact'; choose one of bound"):
        mixture_kl("exact", q, q, weights)  # type: ignore[arg-type]
