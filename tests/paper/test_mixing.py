"""Mixing weights: a masked Gumbel-Softmax."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vmtl._utils.noise import Noise
from vmtl.paper.mixing import Mixing, mixing_weights, renormalise
from vmtl.results.relatedness import MAX_TASKS

NOISE = Noise(0, torch.device("cpu"), torch.float64)


def random_logits(tasks: int, seed: int) -> torch.Tensor:
    return torch.randn(tasks, tasks, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@settings(deadline=None, max_examples=50)
@given(st.integers(2, 7), st.integers(0, 10_000), st.floats(1e-3, 20))
def test_rows_sum_to_one_and_the_diagonal_is_zero(tasks: int, seed: int, tau: float) -> None:
    mixing = Mixing(tasks, "gumbel").double()
    if mixing.is_learned:
        mixing.log_pi.data = 5 * random_logits(tasks, seed)
    for weights in (mixing.sample(tau, Noise(seed, torch.device("cpu"), torch.float64).gumbel), mixing.probabilities()):
        torch.testing.assert_close(weights.sum(-1), torch.ones(tasks, dtype=torch.float64))
        assert (weights.diagonal() == 0).all()
        assert (weights >= 0).all()


@settings(deadline=None, max_examples=50)
@given(st.integers(2, 6), st.integers(0, 10_000))
def test_masked_entries_are_zero_and_the_rest_renormalised(tasks: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(tasks, tasks, generator=generator) < 0.5
    weights = mixing_weights(random_logits(tasks, seed), 0.7, mask)
    assert (weights[~mask] == 0).all()
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).double())
    full = mixing_weights(random_logits(tasks, seed), 0.7, torch.ones_like(mask))
    torch.testing.assert_close(renormalise(full, mask), weights)


def test_low_temperature_is_one_hot_at_the_largest_logit() -> None:
    logits, mask = random_logits(5, 1), ~torch.eye(5, dtype=torch.bool)
    weights = mixing_weights(logits, 1e-4, mask)
    expected = torch.nn.functional.one_hot(logits.masked_fill(~mask, -torch.inf).argmax(-1), 5).double()
    torch.testing.assert_close(weights, expected)


def test_frequencies_of_the_largest_match_pi() -> None:
    """The Gumbel-max trick: the largest entry is task i with probability pi_i, at every temperature."""
    mixing = Mixing(4, "gumbel").double()
    mixing.log_pi.data = random_logits(4, 2)
    logits = mixing.log_pi + NOISE.gumbel(20_000, 4, 4)
    weights = mixing_weights(logits, 0.5, mixing.off_diagonal)
    counts = torch.nn.functional.one_hot(weights.argmax(-1), 4).double().mean(0)
    torch.testing.assert_close(counts, mixing.probabilities().detach(), atol=0.015, rtol=0)
    one_by_one = torch.stack(
        [mixing.sample(0.5, Noise(s, torch.device("cpu"), torch.float64).gumbel) for s in range(200)]
    )
    frequencies = torch.nn.functional.one_hot(one_by_one.argmax(-1), 4).double().mean(0)
    torch.testing.assert_close(frequencies, mixing.probabilities().detach(), atol=0.1, rtol=0)


@pytest.mark.parametrize("tau", [0.0, -1.0, float("nan")])
def test_a_temperature_that_is_not_positive_is_refused(tau: float) -> None:
    with pytest.raises(ValueError, match="temperature tau must be positive"):
        mixing_weights(torch.zeros(2, 2), tau, ~torch.eye(2, dtype=torch.bool))


def test_only_three_tasks_or_more_have_something_to_learn() -> None:
    for tasks in (1, 2):
        assert list(Mixing(tasks, "gumbel").parameters()) == []
    assert len(list(Mixing(3, "gumbel").parameters())) == 1
    assert list(Mixing(3, "mean").parameters()) == []
    torch.testing.assert_close(Mixing(2, "gumbel").probabilities(), torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    assert (Mixing(1, "gumbel").probabilities() == 0).all()


def test_modes() -> None:
    learnable, mean = Mixing(3, "learnable").double(), Mixing(3, "mean").double()
    learnable.log_pi.data = random_logits(3, 3)
    torch.testing.assert_close(learnable.sample(0.1, NOISE.gumbel), learnable.probabilities())
    torch.testing.assert_close(mean.sample(0.1, NOISE.gumbel), 0.5 * (1 - torch.eye(3, dtype=torch.float64)))
    gumbel = Mixing(3, "gumbel").double()
    assert not torch.equal(gumbel.sample(0.5, NOISE.gumbel), gumbel.sample(0.5, NOISE.gumbel))


@pytest.mark.parametrize("mode", ["gumbel", "learnable", "mean"])
def test_thousands_of_tasks_have_no_table_and_are_even(mode: str) -> None:
    n_tasks = MAX_TASKS + 1
    mixing = Mixing(n_tasks, mode)
    assert sum(tensor.numel() for tensor in mixing.state_dict().values()) == 0
    for alpha in (mixing.probabilities(), mixing.sample(0.5, NOISE.gumbel)):
        assert (alpha.diagonal() == 0).all()
        even = torch.full((n_tasks,), 1 / MAX_TASKS)
        torch.testing.assert_close(alpha.amax(1), even, atol=1e-8, rtol=0)
        torch.testing.assert_close(alpha.sum(1), torch.ones(n_tasks), atol=1e-4, rtol=0)


@pytest.mark.parametrize("tasks", [3, 9, 20])
def test_a_step_draws_once_however_many_tasks_there_are(tasks: int) -> None:
    """Eq. 7 with one g for each pair of tasks."""
    mixing, g = Mixing(tasks, "gumbel").double(), random_logits(tasks, 4)
    mixing.log_pi.data = random_logits(tasks, 5)
    asked = []

    def gumbel(*shape: int) -> torch.Tensor:
        asked.append(shape)
        return g

    alpha = mixing.sample(0.7, gumbel)
    assert asked == [(tasks, tasks)]
    for t in range(tasks):
        others = [i for i in range(tasks) if i != t]
        expected = ((mixing.log_pi[t, others] + g[t, others]) / 0.7).softmax(0)
        torch.testing.assert_close(alpha[t, others], expected)
