"""The share of a forest: the mean of what left-out rows leave probable."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from torch import Tensor

from vmtl._utils.types import Array
from vmtl.inference.forest.share import infer_share


def pair(rows: int, seed: int, favour: float = 0.0) -> tuple[Array, Array, Array]:
    """Probabilities of the right class by both, and weights; the forest is the better one if ``favour`` > 0."""
    rng = np.random.default_rng(seed)
    by_model, by_forest = rng.uniform(0.05, 0.95, (2, rows))
    return by_model, by_forest ** np.exp(-favour), rng.choice([0.5, 1.0, 2.0], rows)


def tensors(*arrays: Array) -> tuple[Tensor, ...]:
    return tuple(torch.from_numpy(np.asarray(array, dtype=np.float64)) for array in arrays)


def integrated(by_model: Array, by_forest: Array, weight: Array) -> float:
    def log_density(v: float) -> float:
        return float(weight @ np.log((1 - v) * by_model + v * by_forest))

    highest = max(log_density(v) for v in np.linspace(0, 1, 501))

    def moment(power: int) -> float:
        return float(quad(lambda v: v**power * np.exp(log_density(v) - highest), 0, 1, limit=200)[0])

    return moment(1) / moment(0)


@pytest.mark.parametrize("favour", [-1.0, -0.3, 0.0, 0.3, 1.0])
@pytest.mark.parametrize(("rows", "seed"), [(1, 0), (5, 1), (40, 2), (150, 3)])
def test_it_is_the_mean_of_the_posterior(rows: int, seed: int, favour: float) -> None:
    asked = pair(rows, seed, favour)
    assert infer_share(*tensors(*asked)) == pytest.approx(integrated(*asked), abs=0.0125)  # half a step of shares


def test_who_says_the_same_has_an_equal_say() -> None:
    by_model, _, weight = pair(50, 0)
    assert infer_share(*tensors(by_model, by_model, weight)) == pytest.approx(0.5, abs=1e-12)
    assert infer_share(*tensors([], [], [])) == pytest.approx(0.5, abs=1e-12)


def test_who_is_much_better_has_all_the_say() -> None:
    good, bad, weight = np.full(200, 0.9), np.full(200, 0.1), np.ones(200)
    assert infer_share(*tensors(bad, good, weight)) > 0.98
    assert infer_share(*tensors(good, bad, weight)) < 0.02


def test_both_have_a_say_where_each_knows_half_of_the_rows() -> None:
    by_model = np.repeat([0.9, 0.1], 100)
    assert infer_share(*tensors(by_model, 1 - by_model, np.ones(200))) == pytest.approx(0.5, abs=1e-9)


def test_exchanging_the_two_exchanges_their_shares() -> None:
    by_model, by_forest, weight = tensors(*pair(30, 4, 0.3))
    swapped = infer_share(by_forest, by_model, weight)
    assert infer_share(by_model, by_forest, weight) == pytest.approx(1 - swapped, abs=1e-9)


def test_a_row_of_weight_2_is_the_row_twice() -> None:
    by_model, by_forest, _ = pair(30, 5)
    weight, times = np.ones(30), np.ones(30, dtype=int)
    better = np.argsort(by_forest / by_model)[-7:]
    weight[better], times[better] = 2, 2
    twice = (np.repeat(values, times) for values in (by_model, by_forest))
    once = infer_share(*tensors(by_model, by_forest, weight))
    assert once == pytest.approx(infer_share(*tensors(*twice, np.ones(37))), abs=1e-12)
    assert once > infer_share(*tensors(by_model, by_forest, np.ones(30))) + 0.01


def test_what_one_of_them_holds_impossible_is_no_error() -> None:
    """A row that happened has a say against who excluded it."""
    by_model, by_forest = np.r_[0.0, np.full(9, 0.5)], np.full(10, 0.5)
    assert 0.5 < infer_share(*tensors(by_model, by_forest, np.ones(10))) < 1
    assert 0 < infer_share(*tensors(by_forest, by_model, np.ones(10))) < 0.5
    assert infer_share(*tensors(0 * by_model, 0 * by_model, np.ones(10))) == pytest.approx(0.5, abs=1e-12)


def test_single_precision_is_enough() -> None:
    asked = tensors(*pair(60, 6, 0.3))
    rounded = (value.float() for value in asked)
    assert infer_share(*rounded) == pytest.approx(infer_share(*asked), abs=1e-5)
