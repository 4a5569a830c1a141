"""The one source of randomness."""

import math

import pytest
import torch

from vmtl._utils.noise import Noise

CPU = torch.device("cpu")


def source(seed: int = 0, dtype: torch.dtype = torch.float64) -> Noise:
    return Noise(seed, CPU, dtype)


@pytest.mark.parametrize("draws", [1, 2, 3, 10])
def test_normal_draws_are_antithetic_pairs(draws: int) -> None:
    values = source().normal(draws, 2, 3)
    assert values.shape == (draws, 2, 3)
    half = (draws + 1) // 2
    torch.testing.assert_close(values[: draws - half], -values[half:])


def test_every_normal_draw_is_standard_normal() -> None:
    values = source().normal(4, 100_000)
    torch.testing.assert_close(values.mean(1), torch.zeros(4, dtype=torch.float64), atol=0.015, rtol=0)
    torch.testing.assert_close(values.std(1), torch.ones(4, dtype=torch.float64), atol=0.015, rtol=0)


def test_gumbel_has_the_mean_and_variance_of_the_law() -> None:
    values = source().gumbel(200_000)
    assert values.isfinite().all()
    assert float(values.mean()) == pytest.approx(0.5772, abs=0.01)
    assert float(values.var()) == pytest.approx(math.pi**2 / 6, abs=0.03)


def test_dropout_keeps_the_mean() -> None:
    mask = source().keep((200_000,), 0.7)
    assert mask.unique().tolist() == pytest.approx([0, 1 / 0.3], rel=1e-4)  # probabilities are exact to 1 / 65536
    assert float(mask.mean()) == pytest.approx(1, abs=0.02)


def test_seed_and_state_decide_all() -> None:
    first, second, other = source(3), source(3), source(4)
    assert torch.equal(first.normal(2, 5), second.normal(2, 5))
    assert not torch.equal(first.normal(2, 5), other.normal(2, 5))
    state = first.state()
    ahead = first.gumbel(4)
    first.restore(state)
    assert torch.equal(first.gumbel(4), ahead)


@pytest.mark.parametrize("dropout", [1e-9, 0.1, 0.7, 0.999])
def test_dropout_has_mean_one(dropout: float) -> None:
    mask = source().keep((250, 2001), dropout)
    kept = mask > 0
    share = float(kept.double().mean())
    assert float(mask.max()) == pytest.approx(1 / (1 - dropout), rel=0.01)
    assert share == pytest.approx(1 - dropout, abs=4 * math.sqrt((1 - dropout) * dropout / mask.numel()) + 2**-15)
    assert kept.double().mean(0).std() == pytest.approx(math.sqrt((1 - dropout) * dropout / 250), rel=0.1, abs=2e-3)


def test_numbers_of_a_seed_can_be_drawn_a_second_time() -> None:
    noise = source(dtype=torch.float32)
    seeds = noise.seeds(3)
    assert len(set(seeds)) == 3
    assert seeds == source().seeds(3)
    assert noise.seeds(3) != seeds
    first, again = (noise.with_seed(seeds[1]) for _ in range(2))
    assert torch.equal(first.keep((4, 5), 0.5), again.keep((4, 5), 0.5))
    assert first.normal(2, 3).dtype == torch.float32
