"""The forest: scikit-learn's trees as tensors, of its own rows only what strangers say, and the share that it earns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from torch import Tensor
from torch.distributions import Categorical

from helpers.toys import toy
from vmtl._utils.types import Array
from vmtl.data.duplicates import merge_duplicates
from vmtl.data.rows import Rows
from vmtl.gp import forest as growing
from vmtl.gp.forest import (
    Forest,
    _as_tensors,
    best_sharpness,
    grow_forest,
    infer_share,
    is_forest_useful,
    largest_below,
    sharpen,
)

TREES = 40
Damage = Callable[[dict[str, Tensor]], dict[str, Tensor]]
BASE = np.array([0.5, 0.3, 0.2])


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
    tensors = other.forest.to_tensors()
    assert all(torch.equal(tensor, tensors[name]) for name, tensor in one.forest.to_tensors().items())


@pytest.mark.parametrize("weights", [(1.0,), (0.5, 1.0, 2.0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_order_of_rows_does_not_matter(weights: tuple[float, ...], dtype: torch.dtype) -> None:
    rows = some_rows(weights, dtype)
    order = torch.randperm(60, generator=torch.Generator().manual_seed(0))
    one, other = grow_forest(rows, 0), grow_forest(rows.take(order), 0)
    same_trees(one, other)
    assert torch.equal(one.forest(rows.x), other.forest(rows.x))
    torch.testing.assert_close(other.out_of_bag, one.out_of_bag[order], rtol=0, atol=1e-12)


def test_a_row_of_weight_2_is_its_duplicates_merged() -> None:
    rows = some_rows()
    heavy = replace(rows, weight=torch.where(torch.arange(60) < 9, 2.0, 1.0))
    twice = merge_duplicates(rows.take(torch.cat([torch.arange(60), torch.arange(9)])))
    one, other = grow_forest(heavy, 0), grow_forest(twice, 0)
    same_trees(one, other)
    assert torch.equal(one.out_of_bag, other.out_of_bag)
    assert not torch.equal(one.out_of_bag, grow_forest(rows, 0).out_of_bag)


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


def test_classes_without_rows_have_a_place_and_hardly_any_probability() -> None:
    rows = some_rows()
    lacking = replace(rows, y=torch.tensor([1, 3, 4])[rows.y], n_classes=6)
    there, grown, without = [1, 3, 4], grow_forest(lacking, 0), [0, 2, 5]
    assert set(growing.SHARPNESS.tolist()) >= {float(grown.forest.sharpness)}
    for p in (grown.out_of_bag, grown.forest(rows.x)):
        assert p.shape == (60, 6)
        assert float(p[:, without].max()) < 1e-3 < float(p[:, there].max(1).values.min())
        assert float(p.min()) > 0
        torch.testing.assert_close(p.sum(1), torch.ones(60, dtype=torch.float64))


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
def test_who_is_forest_useful(rows: Rows, asked: bool) -> None:
    assert is_forest_useful(rows) is asked


def test_a_huge_value_is_no_error() -> None:
    rows = some_rows(dtype=torch.float64)
    x = rows.x.clone()
    x[0, 0], x[1, 1] = 1e300, -1e300
    grown = grow_forest(replace(rows, x=x), 0)
    assert grown.out_of_bag.isfinite().all()
    assert grown.forest(x).isfinite().all()
    assert grown.forest.threshold.isfinite().all()


def test_a_class_of_one_row_does_not_blunt_the_others() -> None:
    """Nobody can know of it when it is left out."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(30, 2)), 8 + rng.normal(size=(30, 2)), [[30.0, 30.0]]])
    y = torch.tensor([0] * 30 + [1] * 30 + [2])
    rows = replace(empty(61, 2, 3), x=torch.from_numpy(x).float(), y=y)
    assert float(grow_forest(rows, 0).forest.sharpness) > 0.7


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


def test_a_row_of_weight_2_is_the_row_twice() -> None:
    by_model, by_forest, _ = pair(30, 5)
    weight, times = np.ones(30), np.ones(30, dtype=int)
    better = np.argsort(by_forest / by_model)[-7:]
    weight[better], times[better] = 2, 2
    twice = (np.repeat(values, times) for values in (by_model, by_forest))
    once = infer_share(*tensors(by_model, by_forest, weight))
    assert once == pytest.approx(infer_share(*tensors(*twice, np.ones(37))), abs=1e-12)
    assert once > infer_share(*tensors(by_model, by_forest, np.ones(30))) + 0.01


def grown(x: Array, seed: int = 0) -> tuple[RandomForestClassifier, Forest]:
    """Trees of scikit-learn on three classes that depend on the first two columns, and the same as tensors."""
    rng = np.random.default_rng(seed)
    typical = np.median(x, axis=0)
    y = (x[:, 0] > typical[0]).astype(int) + (x[:, 1] > typical[1])
    y = np.where(rng.random(len(x)) < 0.2, rng.integers(0, 3, len(x)), y)
    trees = RandomForestClassifier(12, min_samples_leaf=2, random_state=seed).fit(x, y)
    return trees, _as_tensors([tree.tree_ for tree in trees.estimators_], trees.classes_, BASE)


def with_one_vote(trees: RandomForestClassifier, x: Array) -> Array:
    return (len(trees.estimators_) * trees.predict_proba(x) + BASE) / (len(trees.estimators_) + 1)


def at_thresholds(trees: RandomForestClassifier, rows: int) -> Array:
    """Rows (n, D) of nothing but numbers that some tree compares with."""
    rng = np.random.default_rng(1)
    nodes = [tree.tree_ for tree in trees.estimators_]
    column = np.concatenate([tree.feature for tree in nodes])
    threshold = np.concatenate([tree.threshold for tree in nodes])
    return np.column_stack([rng.choice(threshold[column == j], rows) for j in range(trees.n_features_in_)])


@pytest.mark.parametrize("seed", range(2))
def test_it_says_what_the_trees_say_and_one_vote_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trees, forest = grown(rng.normal(size=(80, 4)).astype(np.float32), seed)
    new = rng.normal(size=(50, 4)).astype(np.float32)
    np.testing.assert_allclose(forest(torch.from_numpy(new)), with_one_vote(trees, new), rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", ["normal", "whole", "neighbours"])
def test_a_number_at_a_threshold_goes_where_it_goes_in_the_tree(kind: str) -> None:
    """Neighbours in single precision have their middle between them, which rounds to one of the two."""
    rng = np.random.default_rng(0)
    x = {
        "normal": rng.normal(size=(80, 3)),
        "whole": rng.integers(-3, 4, (80, 3)).astype(float),
        "neighbours": 2.0**23 + rng.integers(0, 9, (80, 3)),
    }[kind].astype(np.float32)
    trees, forest = grown(x)
    ties = at_thresholds(trees, 200)
    for rows in (ties, ties.astype(np.float32), x):
        np.testing.assert_allclose(forest(torch.from_numpy(rows)), with_one_vote(trees, rows), rtol=0, atol=1e-6)


@pytest.mark.parametrize("a", [0.37, 1.0, 4.0])
def test_sharpening_against_the_formula(a: float) -> None:
    q = torch.from_numpy(np.random.default_rng(0).dirichlet(np.ones(4), size=(5, 7)))
    power = q**a
    torch.testing.assert_close(sharpen(q, a), power / power.sum(-1, keepdim=True))
    torch.testing.assert_close(sharpen(q, torch.tensor(a, dtype=torch.float64)), Categorical(logits=a * q.log()).probs)


def hand_made() -> dict[str, Tensor]:
    """Two trees: one of two questions, and a leaf alone."""
    whole = {"column": [0, 0, 1, 0, 0, 0], "below": [1, 1, 3, 3, 4, 5], "above": [2, 1, 4, 3, 4, 5], "root": [0, 5]}
    tensors = {name: torch.tensor(values, dtype=torch.int32) for name, values in whole.items()}
    leaves = [[0, 0], [1, 0], [0, 0], [0.5, 0.5], [0, 1], [0.25, 0.75]]
    return tensors | {
        "threshold": torch.tensor([0.5, 0, -1, 0, 0, 0]),
        "value": torch.tensor(leaves, dtype=torch.float32),
        "base": torch.tensor([0.5, 0.5]),
        "sharpness": torch.ones((), dtype=torch.float64),
        "share": torch.tensor(0.25, dtype=torch.float64),
    }


def test_a_forest_made_by_hand() -> None:
    forest = Forest(**hand_made())
    x = torch.tensor([[0.5, 7.0], [0.6, -1.0], [0.6, -0.9]])
    first = torch.tensor([[1, 0], [0.5, 0.5], [0, 1]], dtype=torch.float64)
    torch.testing.assert_close(forest(x), (first + torch.tensor([0.25, 0.75]) + 0.5) / 3)


def test_the_deepest_tree_counts() -> None:
    assert Forest(**hand_made()).depth == 2
    assert Forest(**hand_made() | {"root": torch.tensor([5], dtype=torch.int32)}).depth == 0


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_both_are_joined_by_the_share(share: float, dtype: torch.dtype) -> None:
    forest = Forest(**hand_made() | {"share": torch.tensor(share, dtype=torch.float64)})
    generator = torch.Generator().manual_seed(0)
    model = torch.rand(9, 3, generator=generator, dtype=torch.float64).to(dtype)
    said = torch.rand(9, 3, generator=generator, dtype=torch.float64)
    joined = forest.join(model, said)
    assert joined.dtype == dtype
    torch.testing.assert_close(joined, ((1 - share) * model.double() + share * said).to(dtype))
    if share in (0.0, 1.0):
        assert torch.equal(joined, said.to(dtype) if share else model)


def test_a_row_alone_is_as_among_others() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 4)).astype(np.float32)
    _, forest = grown(x)
    forest.sharpness.fill_(1.7)
    rows = torch.from_numpy(x)
    together = forest(rows)
    assert torch.equal(torch.cat([forest(row) for row in rows.split(1)]), together)
    assert torch.equal(torch.cat([forest(part) for part in rows.split(33)]), together)
    assert torch.equal(forest(rows.flip(0)).flip(0), together)
    assert forest(rows[:0]).shape == (0, 3)


def entry(name: str, place: int, value: float) -> Damage:
    """One number of one tensor is another."""

    def change(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        changed = tensors[name].clone()
        changed.view(-1)[place] = value
        return tensors | {name: changed}

    return change


def shape(name: str, change: Callable[[Tensor], Tensor]) -> Damage:
    """One tensor has another shape."""
    return lambda tensors: tensors | {name: change(tensors[name])}


NODES = ("column", "threshold", "below", "above", "value")
DAMAGE = {
    "a child before its parent": entry("below", 2, 1),
    "a child after the last node": entry("above", 2, 6),
    "a child before the first node": entry("below", 0, -1),
    "a column too many": entry("column", 0, 2),
    "a root after the last node": entry("root", 1, 6),
    "a threshold that is no number": entry("threshold", 0, np.nan),
    "a leaf that is no number": entry("value", 3, np.nan),
    "an infinite sharpness": entry("sharpness", 0, np.inf),
    "a share above 1": entry("share", 0, 1.5),
    "no trees": shape("root", lambda root: root[:0]),
    "no nodes": lambda tensors: tensors | {name: tensors[name][:0] for name in NODES},
    "a class more": shape("value", lambda value: torch.cat([value, value[:, :1]], 1)),
    "a base of one class": shape("base", lambda base: base[:1]),
    **{f"a {name} less": shape(name, lambda values: values[:-1]) for name in NODES},
    "a negative sharpness": entry("sharpness", 0, -1.0),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_forest_is_refused(kind: str) -> None:
    assert isinstance(Forest.checked(hand_made(), 2, 2), Forest)
    with pytest.raises(ValueError, match="the forest"):
        Forest.checked(DAMAGE[kind](hand_made()), 2, 2)
