"""A forest as tensors: what scikit-learn's trees say, sharpened and joined, and nothing that leads nowhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from torch import Tensor
from torch.distributions import Categorical

from vmtl._utils.types import Array
from vmtl.inference.forest.growing import _as_tensors
from vmtl.inference.forest.trees import Forest, sharpen

BASE = np.array([0.5, 0.3, 0.2])


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


def close(found: Tensor, expected: Array) -> None:
    assert found.dtype == torch.float64
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_it_says_what_the_trees_say_and_one_vote_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trees, forest = grown(rng.normal(size=(80, 4)).astype(np.float32), seed)
    new = rng.normal(size=(50, 4)).astype(np.float32)
    close(forest(torch.from_numpy(new)), with_one_vote(trees, new))


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
        close(forest(torch.from_numpy(rows)), with_one_vote(trees, rows))


def test_double_precision_is_rounded_as_scikit_learn_rounds_it() -> None:
    rng = np.random.default_rng(0)
    trees, forest = grown((1e6 + rng.integers(0, 9, (80, 3)) / 16).astype(np.float32))
    new = 1e6 + 0.5 * rng.random((300, 3))
    assert (new != new.astype(np.float32)).any()
    close(forest(torch.from_numpy(new)), with_one_vote(trees, new))


def test_numbers_beyond_single_precision_are_large_ones() -> None:
    rng = np.random.default_rng(0)
    trees, forest = grown(rng.normal(size=(80, 3)).astype(np.float32))
    new = rng.choice([-1e300, -1e39, 0.1, 1e39, 1e300], size=(60, 3))
    close(forest(torch.from_numpy(new)), with_one_vote(trees, new.clip(-1e30, 1e30)))  # beyond all thresholds


@pytest.mark.parametrize("sharpness", [0.4, 2.5])
def test_sharpness_is_the_power_of_the_votes(sharpness: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 4)).astype(np.float32)
    trees, forest = grown(x)
    forest.sharpness.fill_(sharpness)
    power = with_one_vote(trees, x) ** sharpness
    close(forest(torch.from_numpy(x)), power / power.sum(1, keepdims=True))


@pytest.mark.parametrize("a", [0.37, 1.0, 4.0])
def test_sharpening_against_the_formula(a: float) -> None:
    q = torch.from_numpy(np.random.default_rng(0).dirichlet(np.ones(4), size=(5, 7)))
    power = q**a
    torch.testing.assert_close(sharpen(q, a), power / power.sum(-1, keepdim=True))
    torch.testing.assert_close(sharpen(q, torch.tensor(a, dtype=torch.float64)), Categorical(logits=a * q.log()).probs)


def test_sharpening_keeps_what_is_impossible_and_what_is_even() -> None:
    q = torch.tensor([[0.0, 0.25, 0.75], [1 / 3, 1 / 3, 1 / 3], [0.0, 0.0, 1.0]], dtype=torch.float64)
    for a in (0.4, 1.0, 4.0):
        found = sharpen(q, a)
        assert found.isfinite().all()
        torch.testing.assert_close(found.sum(-1), torch.ones(3, dtype=torch.float64))
        torch.testing.assert_close(found[1:], q[1:])
        assert float(found[0, 0]) < 1e-30


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


def chain(length: int) -> dict[str, Tensor]:
    """One tree of ``length`` questions, each of which ends on one side."""
    count = 2 * length + 1
    node = torch.arange(count, dtype=torch.int32)
    inner = (node % 2 == 0) & (node < count - 1)
    numbers = hand_made() | {"below": torch.where(inner, node + 1, node), "above": torch.where(inner, node + 2, node)}
    value = torch.full((count, 2), 0.5)
    alone = torch.zeros(1, dtype=torch.int32)
    return numbers | {"column": 0 * node, "threshold": node.float(), "value": value, "root": alone}


@pytest.mark.parametrize("length", [0, 1, 2, 9])
def test_depth_is_the_longest_way(length: int) -> None:
    assert Forest(**chain(length)).depth == length
    assert Forest.from_tensors(chain(length), 1, 2).depth == length


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


def test_a_forest_survives_its_tensors() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 4)).astype(np.float32)
    _, before = grown(x)
    before.sharpness.fill_(1.3)
    before.share.fill_(0.4)
    after = Forest.from_tensors(before.state_dict(), 4, 3)
    assert after.depth == before.depth
    assert after.state_dict().keys() == before.state_dict().keys()
    assert all(torch.equal(after.state_dict()[name], tensor) for name, tensor in before.state_dict().items())
    assert torch.equal(after(torch.from_numpy(x)), before(torch.from_numpy(x)))


def entry(name: str, place: int, value: float) -> Callable[[dict[str, Tensor]], dict[str, Tensor]]:
    """One number of one tensor is another."""

    def change(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        changed = tensors[name].clone()
        changed.view(-1)[place] = value
        return tensors | {name: changed}

    return change


def shape(name: str, change: Callable[[Tensor], Tensor]) -> Callable[[dict[str, Tensor]], dict[str, Tensor]]:
    """One tensor has another shape."""
    return lambda tensors: tensors | {name: change(tensors[name])}


NODES = ("column", "threshold", "below", "above", "value")
DAMAGE = {
    "a child before its parent": entry("below", 2, 1),
    "a child that is its parent": entry("above", 2, 2),
    "a child after the last node": entry("above", 2, 6),
    "a child before the first node": entry("below", 0, -1),
    "a column too many": entry("column", 0, 2),
    "a negative column": entry("column", 2, -1),
    "a root after the last node": entry("root", 1, 6),
    "a negative root": entry("root", 0, -1),
    "a threshold that is no number": entry("threshold", 0, np.nan),
    "an infinite threshold": entry("threshold", 2, np.inf),
    "a leaf that is no number": entry("value", 3, np.nan),
    "a base that is no number": entry("base", 0, np.nan),
    "an infinite sharpness": entry("sharpness", 0, np.inf),
    "a share above 1": entry("share", 0, 1.5),
    "a negative share": entry("share", 0, -0.1),
    "a share that is no number": entry("share", 0, np.nan),
    "no trees": shape("root", lambda root: root[:0]),
    "a table of roots": shape("root", lambda root: root[None]),
    "no nodes": lambda tensors: tensors | {name: tensors[name][:0] for name in NODES},
    "a class more": shape("value", lambda value: torch.cat([value, value[:, :1]], 1)),
    "a base of one class": shape("base", lambda base: base[:1]),
    "two shares": shape("share", lambda share: share.expand(2)),
    "two sharpnesses": shape("sharpness", lambda sharpness: sharpness.expand(2)),
    **{f"a {name} less": shape(name, lambda values: values[:-1]) for name in NODES},
    "a table of columns": shape("column", lambda column: column[:, None]),
    "a root that is no list": shape("root", lambda root: root[0]),
    "a negative sharpness": entry("sharpness", 0, -1.0),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_forest_is_refused(kind: str) -> None:
    assert isinstance(Forest.from_tensors(hand_made(), 2, 2), Forest)
    with pytest.raises(ValueError, match="the forest"):
        Forest.from_tensors(DAMAGE[kind](hand_made()), 2, 2)
