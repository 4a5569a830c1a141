"""Growing a forest: the same in any order of rows, and of its own rows only what strangers say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from sklearn.tree import DecisionTreeClassifier
from torch import Tensor

from helpers.toys import toy
from vmtl.data.duplicates import merge_duplicates
from vmtl.data.rows import Rows
from vmtl.inference.forest import growing
from vmtl.inference.forest.growing import SHARPNESS, best_sharpness, grow_forest, is_asked, largest_below
from vmtl.inference.forest.trees import sharpen

TREES = 40


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "N_TREES", TREES)


def some_rows(weights: tuple[float, ...] = (1.0,), dtype: torch.dtype = torch.float32) -> Rows:
    """Three tasks whose classes overlap."""
    problem = toy([20, 25, 15], classes=3, features=4, spread=2.5)
    return problem.rows(dtype, np.random.default_rng(0).choice(weights, 60))


def base_of(rows: Rows) -> Tensor:
    """The frequencies of the classes with one row more, which is spread over all of them."""
    total = torch.full((rows.n_classes,), float(rows.weight.double().mean()) / rows.n_classes, dtype=torch.float64)
    total = total.index_add(0, rows.y, rows.weight.double())
    return total / total.sum()


def same_trees(one: growing.GrownForest, other: growing.GrownForest) -> None:
    tensors = other.forest.state_dict()
    assert all(torch.equal(tensor, tensors[name]) for name, tensor in one.forest.state_dict().items())


@pytest.mark.parametrize("weights", [(1.0,), (0.5, 1.0, 2.0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_order_of_rows_does_not_matter(weights: tuple[float, ...], dtype: torch.dtype) -> None:
    rows = some_rows(weights, dtype)
    order = torch.randperm(60, generator=torch.Generator().manual_seed(0))
    one, other = grow_forest(rows, 0), grow_forest(rows.take(order), 0)
    same_trees(one, other)
    assert torch.equal(one.forest(rows.x), other.forest(rows.x))
    torch.testing.assert_close(other.out_of_bag, one.out_of_bag[order], rtol=0, atol=1e-12)


def test_another_seed_is_another_forest() -> None:
    one, other = (grow_forest(some_rows(), seed) for seed in (0, 1))
    assert not torch.equal(one.out_of_bag, other.out_of_bag)


def test_a_row_of_weight_2_is_its_duplicates_merged() -> None:
    rows = some_rows()
    heavy = replace(rows, weight=torch.where(torch.arange(60) < 9, 2.0, 1.0))
    twice = merge_duplicates(rows.take(torch.cat([torch.arange(60), torch.arange(9)])))
    one, other = grow_forest(heavy, 0), grow_forest(twice, 0)
    same_trees(one, other)
    assert torch.equal(one.out_of_bag, other.out_of_bag)
    assert not torch.equal(one.out_of_bag, grow_forest(rows, 0).out_of_bag)


def test_the_share_is_left_to_others() -> None:
    assert float(grow_forest(some_rows(), 0).forest.share) == 0


def refit(rows: Rows, seed: int, leaf: int = 3) -> list[tuple[set[int], DecisionTreeClassifier]]:
    """Bags, as numbers of rows, and trees that were given the rows of their bags as often as they are in it."""
    order, rng = growing._order(rows), np.random.default_rng(seed)
    grown = []
    for _ in range(growing.N_TREES):
        bag = [order[place] for place in rng.integers(len(order), size=len(order))]
        weight = np.zeros(len(order))
        for row in bag:
            weight[row] += float(rows.weight[row])
        tree = DecisionTreeClassifier(min_samples_leaf=leaf, max_features="sqrt", random_state=int(rng.integers(2**31)))
        tree.fit(rows.x.numpy()[order], rows.y.numpy()[order], sample_weight=weight[order])
        grown.append((set(bag), tree))
    return grown


@pytest.mark.parametrize("weights", [(1.0,), (0.5, 1.0, 2.0)])
def test_of_its_own_rows_it_says_what_trees_say_that_have_not_seen_them(weights: tuple[float, ...]) -> None:
    rows = some_rows(weights)
    grown, trees = grow_forest(rows, 3), refit(rows, 3)
    for row in range(60):
        others = rows.weight.double().numpy() * (np.arange(60) != row)
        base = np.bincount(rows.y, weights=others, minlength=3) + float(rows.weight.double().mean()) / 3
        votes = [tree.predict_proba(rows.x.numpy()[[row]])[0] for bag, tree in trees if row not in bag]
        said = torch.from_numpy(np.mean([base / base.sum(), *votes], axis=0))
        expected = sharpen(said, grown.forest.sharpness)
        torch.testing.assert_close(grown.out_of_bag[row], expected, rtol=0, atol=1e-9)


def test_of_new_rows_it_says_what_all_trees_say() -> None:
    rows = some_rows()
    grown, trees = grow_forest(rows, 3), refit(rows, 3)
    new = np.random.default_rng(1).normal(size=(30, 4)).astype(np.float32)
    votes = torch.from_numpy(sum(tree.predict_proba(new) for _, tree in trees))
    expected = sharpen((votes + base_of(rows)) / (TREES + 1), grown.forest.sharpness)
    torch.testing.assert_close(grown.forest(torch.from_numpy(new)), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("heaviest", [1.0, 600.0])
def test_its_own_label_tells_a_row_nothing(heaviest: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same bags, and no sharpness of all labels; however much a row weighs."""
    monkeypatch.setattr(growing, "_order", lambda rows: np.arange(len(rows.y)))
    monkeypatch.setattr(growing, "best_sharpness", lambda *_: 1.0)
    rows = replace(some_rows(), weight=torch.where(torch.arange(60) == 17, heaviest, 1.0))
    before = grow_forest(rows, 0).out_of_bag
    for row in (0, 17, 59):
        y = rows.y.clone()
        y[row] = (y[row] + 1) % 3
        change = (grow_forest(replace(rows, y=y), 0).out_of_bag - before).abs()
        assert float(change[row].max()) <= 1e-12
        assert float(change.max()) > 0.01  # others have learned from it


@pytest.mark.parametrize("weights", [(1.0,), (0.5, 1.0, 2.0)])
def test_probabilities_sum_to_one(weights: tuple[float, ...]) -> None:
    rows = some_rows(weights)
    grown = grow_forest(rows, 0)
    for p in (grown.out_of_bag, grown.forest(rows.x)):
        assert p.shape == (60, 3)
        assert float(p.min()) > 0
        torch.testing.assert_close(p.sum(1), torch.ones(60, dtype=torch.float64))


def test_classes_without_rows_have_a_place_and_hardly_any_probability() -> None:
    rows = some_rows()
    lacking = replace(rows, y=torch.tensor([1, 3, 4])[rows.y], n_classes=6)
    there, grown, without = [1, 3, 4], grow_forest(lacking, 0), [0, 2, 5]
    assert set(SHARPNESS.tolist()) >= {float(grown.forest.sharpness)}
    for p in (grown.out_of_bag, grown.forest(rows.x)):
        assert p.shape == (60, 6)
        assert float(p[:, without].max()) < 1e-3 < float(p[:, there].max(1).values.min())
        assert float(p.min()) > 0
        torch.testing.assert_close(p.sum(1), torch.ones(60, dtype=torch.float64))


def test_one_class_alone_is_certain() -> None:
    rows = some_rows()
    grown = grow_forest(replace(rows, y=torch.ones_like(rows.y)), 0)
    assert float(grown.out_of_bag[:, 1].min()) > 0.999
    assert grown.forest.depth == 0


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("n_rows", [3, 60, 600])
def test_the_sharpness_is_the_best_there_is(n_rows: int, power: float) -> None:
    """Labels that follow probabilities to a power, against a search between the tried ones."""
    rng = np.random.default_rng(n_rows)
    q = rng.dirichlet(np.full(3, 2.0), n_rows)
    true = q**power / (q**power).sum(1, keepdims=True)
    y = (rng.random((n_rows, 1)) > true.cumsum(1)[:, :-1]).sum(1)
    weight = rng.choice([0.5, 1.0, 2.0], n_rows)

    def loss(log_a: float) -> float:
        sharper = q ** np.exp(log_a)
        right = (sharper / sharper.sum(1, keepdims=True))[np.arange(n_rows), y]
        return float(-weight @ np.log(right) + 0.5 * (log_a / 0.5) ** 2)

    best = minimize_scalar(loss, bounds=(-1, 1.5), method="bounded").x
    found = best_sharpness(torch.from_numpy(q), torch.from_numpy(y), torch.from_numpy(weight))
    assert np.log(found) == pytest.approx(best, abs=0.05)  # a step of what is tried
    assert loss(np.log(found)) <= min(loss(log_a) for log_a in np.linspace(-1, 1.5, 51)) + 1e-9


def test_without_rows_sharpness_is_as_it_is() -> None:
    nothing = torch.zeros(0, dtype=torch.float64)
    assert best_sharpness(torch.zeros(0, 3).double(), nothing.long(), nothing) == pytest.approx(1)


def test_the_largest_number_of_single_precision_that_is_not_above() -> None:
    rng = np.random.default_rng(0)
    threshold = rng.normal(size=5000) * 10.0 ** rng.integers(-44, 37, 5000)
    halves = (2.0**23 + np.arange(50)) + 0.5
    exact = rng.normal(size=500).astype(np.float32).astype(np.float64)
    for values in (threshold, halves, -halves, exact, np.zeros(1), np.array([1e-50, -1e-50])):
        below = largest_below(values)
        assert below.dtype == np.float32
        assert (below.astype(np.float64) <= values).all()
        assert (np.nextafter(below, np.float32(np.inf)).astype(np.float64) > values).all()
    np.testing.assert_array_equal(largest_below(exact), exact)


def empty(n_rows: int = 40, n_columns: int = 4, n_classes: int = 3, is_classification: bool = True) -> Rows:
    numbers = torch.zeros(n_rows, dtype=torch.int64)
    return Rows(torch.zeros(n_rows, n_columns), numbers, numbers, torch.ones(n_rows), 1, n_classes, is_classification)


@pytest.mark.parametrize(
    ("rows", "asked"),
    [
        (empty(), True),
        (empty(n_columns=100), True),
        (empty(n_columns=101), False),
        (empty(n_rows=2000), True),
        (empty(n_rows=2001), False),
        (empty(n_rows=9), True),
        (empty(n_rows=8), False),
        (empty(n_rows=0), False),
        (empty(n_rows=150, n_classes=50), True),
        (empty(n_rows=149, n_classes=50), False),
        (empty(n_rows=1000, n_classes=51), False),
        (empty(n_classes=1, is_classification=False), False),
    ],
    ids=lambda value: f"{value.x.shape}-{value.n_classes}" if isinstance(value, Rows) else str(value),
)
def test_who_is_asked(rows: Rows, asked: bool) -> None:
    assert is_asked(rows) is asked


def test_leaves_are_a_part_of_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "N_TREES", 20)
    rng = np.random.default_rng(0)
    for n_rows, least in ((60, 3), (800, 8)):
        x, y = torch.from_numpy(rng.normal(size=(n_rows, 2))).float(), torch.from_numpy(rng.integers(0, 2, n_rows))
        rows = replace(empty(n_rows, 2, 2), x=x, y=y)
        trees = refit(rows, 0, least)
        assert len(grow_forest(rows, 0).forest.column) == sum(tree.tree_.node_count for _, tree in trees)


def test_a_huge_value_is_no_error() -> None:
    rows = some_rows(dtype=torch.float64)
    x = rows.x.clone()
    x[0, 0], x[1, 1] = 1e300, -1e300
    grown = grow_forest(replace(rows, x=x), 0)
    assert grown.out_of_bag.isfinite().all()
    assert grown.forest(x).isfinite().all()
    assert grown.forest.threshold.isfinite().all()


def test_many_huge_values_are_no_error() -> None:
    rows = some_rows(dtype=torch.float64)
    grown = grow_forest(replace(rows, x=1e300 * rows.x), 0)
    assert grown.out_of_bag.isfinite().all()
    assert grown.forest(1e300 * rows.x).isfinite().all()


def test_a_class_of_one_row_does_not_blunt_the_others() -> None:
    """Nobody can know of it when it is left out."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(30, 2)), 8 + rng.normal(size=(30, 2)), [[30.0, 30.0]]])
    y = torch.tensor([0] * 30 + [1] * 30 + [2])
    rows = replace(empty(61, 2, 3), x=torch.from_numpy(x).float(), y=y)
    assert float(grow_forest(rows, 0).forest.sharpness) > 0.7
