"""A random forest as a second opinion on small tables; it is not part of the model.

    p(y | x) = (1 - v) p_gp(y | x) + v q(y | x),    q_c(x) ~ ((sum_b leaf_bc(x) + base_c) / (B + 1))^a

where
    leaf_b(x) = class frequencies of the training rows in the leaf of tree b that x falls into (C,)
    base = those of all training rows and of one more that is spread over all classes, so that no class is impossible
    B = the number of trees
    a = ``sharpness``: where classes are well separated, leaves of several rows are less sure than they could be
    v = ``share``, the mean of its posterior given left-out rows (stacking: Wolpert, 1992; Yao et al., 2018)

The trees are scikit-learn's, grown on the rows of all tasks together, without the task: what tasks have in common is
what they are asked for. They are kept as tensors, so that a model file, a prediction and an exported program hold the
same trees.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.tree import DecisionTreeClassifier
from torch import Tensor

from vmtl._utils.tensor_module import TensorModule
from vmtl._utils.types import Array
from vmtl.data.duplicates import row_digests
from vmtl.data.rows import Rows
from vmtl.gp.views import is_table

#: Trees.
N_TREES = 200
#: Least rows of a leaf, and the part of all rows that they are at least.
LEAST_LEAF, LEAF_PART = 3, 0.01
#: Most rows and classes for which one is grown: more rows are not left out one by one, and leaves of few rows have
#: nothing to say about many classes.
MAX_ROWS, MAX_CLASSES = 2000, 50
#: Sharpness that is tried, and how far its log may be from 0 before any row is seen.
SHARPNESS, SHARPNESS_DEVIATION = torch.linspace(-1, 1.5, 51, dtype=torch.float64).exp(), 0.5
#: Numbers beyond it count as it: trees add up in single precision.
LARGEST = 1e30
#: Shares that are averaged over.
SHARES = torch.linspace(0, 1, 41, dtype=torch.float64)


class Forest(TensorModule):
    """Nodes of all trees one after the other: x goes to ``below`` where its ``column`` is at most the ``threshold``.

    A leaf leads to itself. Children come after their parents. ``share`` = how much of a prediction is the forest's.
    """

    column: Tensor  # (N,) int32
    threshold: Tensor  # (N,) float32
    below: Tensor  # (N,) int32
    above: Tensor  # (N,) int32
    value: Tensor  # (N, C) float32, of leaves
    root: Tensor  # (B,) int32
    base: Tensor  # (C,) float32
    sharpness: Tensor  # () float64
    share: Tensor  # () float64

    def __init__(self, **tensors: Tensor) -> None:
        super().__init__(**tensors)
        self.depth = self._depth()

    def _depth(self) -> int:
        """The longest way from a root to a leaf."""
        node = torch.arange(len(self.below))
        inner = (self.below != node) | (self.above != node)
        here, depth = self.root.long().unique(), 0
        while len(here := here[inner[here]]):
            here, depth = torch.cat([self.below[here], self.above[here]]).long().unique(), depth + 1
        return depth

    def __call__(self, x: Tensor) -> Tensor:
        """Class probabilities of the rows x (n, D): (n, C), in double precision."""
        x = x.float()
        column, below, above = self.column.long(), self.below.long(), self.above.long()
        node = self.root.long().expand(x.shape[0], -1)  # (n, B)
        for _ in range(self.depth):
            node = torch.where(x.gather(1, column[node]) <= self.threshold[node], below[node], above[node])
        votes = self.value.double()[node].sum(1) + self.base
        return sharpen(votes / (len(self.root) + 1), self.sharpness)

    def join(self, model: Tensor, forest: Tensor) -> Tensor:
        """(1 - v) of what the model says and v of what the forest says, v = ``share``."""
        return torch.lerp(model, forest.to(model), self.share.to(model))

    @classmethod
    def checked(cls, tensors: dict[str, Tensor], n_columns: int, n_outputs: int) -> Forest:
        """The forest of these tensors, or a ValueError that says what is wrong with them."""
        column, below, above, root = (tensors[name] for name in ("column", "below", "above", "root"))
        count = column.numel()
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("column", "threshold", "below", "above"), (count,))
        shapes |= {"value": (count, n_outputs), "root": (root.numel(),), "base": (n_outputs,)}
        shapes |= {"sharpness": (), "share": ()}
        if any(tuple(tensors[name].shape) != shape for name, shape in shapes.items()) or not count * root.numel():
            raise ValueError("the forest does not have one number per node and class")
        if any(number.is_floating_point() for number in (column, below, above, root)):
            raise ValueError("the nodes of the forest are not counted in whole numbers")
        node = torch.arange(count)
        leaf = (below == node) & (above == node)
        grows = (torch.minimum(below, above) > node) & (torch.maximum(below, above) < count)
        known = ((column >= 0) & (column < n_columns)).all() and ((root >= 0) & (root < count)).all()
        if not bool((leaf | grows).all()) or not bool(known):
            raise ValueError("the forest leads nowhere")
        chances = all(bool(((tensors[name] >= 0) & (tensors[name] <= 1)).all()) for name in ("value", "base", "share"))
        sharpness = float(tensors["sharpness"])
        if not (chances and bool(tensors["threshold"].isfinite().all()) and 0 < sharpness < math.inf):
            raise ValueError("the forest is not made of probabilities")
        return cls(**tensors)


def sharpen(probabilities: Tensor, sharpness: Tensor | float) -> Tensor:
    """q^a / sum q^a of probabilities q (..., C)."""
    return (sharpness * probabilities.clamp_min(1e-300).log()).softmax(-1)


@dataclass(frozen=True)
class GrownForest:
    """A forest, and what it says of its own rows."""

    forest: Forest
    out_of_bag: Tensor  # (n, C) each row by the trees that have not seen it


def is_forest_useful(rows: Rows) -> bool:
    """Whether a forest of these rows can say something: those of a table with classes, few enough to be left out and
    enough for leaves of several rows of each class.

    Not in a regression: what is mostly smooth is no matter of trees, and left-out rows of a small table cannot tell
    (docs/defaults.md).
    """
    n_rows, n_classes = len(rows.y), rows.n_classes
    is_small = LEAST_LEAF * n_classes <= n_rows <= MAX_ROWS and n_classes <= MAX_CLASSES
    return rows.is_classification and is_table(rows.x.shape[1]) and is_small


def grow_forest(rows: Rows, seed: int) -> GrownForest:
    """The forest of raw ``rows``, the same in whatever order they come; its share is not known yet."""
    rows = rows.take(torch.arange(len(rows.y), device=rows.task.device)).cpu()  # those of a folder are read
    order = _order(rows)
    x = np.ascontiguousarray(rows.x.numpy()[order].clip(-LARGEST, LARGEST), dtype=np.float32)
    y, weight = rows.y.numpy()[order], rows.weight.double().numpy()[order]
    leaf = max(LEAST_LEAF, round(LEAF_PART * len(y)))
    of_class = np.bincount(y, weights=weight, minlength=rows.n_classes) + weight.mean() / rows.n_classes  # (C,)
    of_others = of_class - weight[:, None] * np.eye(rows.n_classes)[y]  # (n, C) without the row itself
    votes, count = of_others / of_others.sum(1, keepdims=True), np.ones(len(y))
    trees, rng = [], np.random.default_rng(seed)
    for _ in range(N_TREES):
        bag = np.bincount(rng.integers(len(y), size=len(y)), minlength=len(y))  # (n,) how often each row is in it
        grown = DecisionTreeClassifier(min_samples_leaf=leaf, max_features="sqrt", random_state=_number(rng))
        trees.append(grown.fit(x, y, sample_weight=weight * bag, check_input=False).tree_)
        unseen = np.flatnonzero(bag == 0)
        votes[np.ix_(unseen, grown.classes_)] += trees[-1].value[trees[-1].apply(x[unseen]), 0]
        count[unseen] += 1
    forest = _as_tensors(trees, grown.classes_, of_class / of_class.sum())
    out_of_bag = torch.empty(votes.shape, dtype=torch.float64)
    out_of_bag[torch.from_numpy(order)] = torch.from_numpy(votes / count[:, None])
    forest.sharpness.fill_(best_sharpness(out_of_bag, rows.y, rows.weight.double()))
    return GrownForest(forest, sharpen(out_of_bag, forest.sharpness))


def best_sharpness(out_of_bag: Tensor, y: Tensor, weight: Tensor) -> float:
    """a = argmax sum_n weight_n log(q_n^a / sum_c q_nc^a)_{y_n} - (log a / 0.5)^2 / 2, of probabilities q (n, C)."""
    sharper = sharpen(out_of_bag[None], SHARPNESS[:, None, None])  # (A, n, C)
    right = sharper.gather(2, y.expand(len(SHARPNESS), -1)[..., None])[..., 0]
    surprise = 0.5 * (SHARPNESS.log() / SHARPNESS_DEVIATION).square()
    return float(SHARPNESS[(right.clamp_min(1e-300).log() @ weight - surprise).argmax()])


def _number(rng: np.random.Generator) -> int:
    """A seed of one tree."""
    return int(rng.integers(2**31))


def _order(rows: Rows) -> Array:
    """(n,) numbers of the rows, sorted by what they are."""
    digests = list(row_digests(rows.x.numpy(), rows.y.numpy(), rows.task.numpy()))
    return np.array(sorted(range(len(digests)), key=digests.__getitem__), dtype=np.intp)


def _as_tensors(trees: list[Any], classes: Array, base: Array) -> Forest:
    """scikit-learn's trees as nodes one after the other."""
    counts = [tree.node_count for tree in trees]
    root = np.cumsum([0, *counts[:-1]])

    def stack(name: str) -> Array:
        return np.concatenate([getattr(tree, name) for tree in trees])

    number, start = np.arange(sum(counts)), np.repeat(root, counts)
    is_leaf = stack("children_left") < 0
    below, above = (np.where(is_leaf, number, start + stack(f"children_{side}")) for side in ("left", "right"))
    value = np.zeros((len(number), len(base)))
    value[:, classes] = np.concatenate([tree.value[:, 0] for tree in trees])
    return Forest(
        column=_whole(np.where(is_leaf, 0, stack("feature"))),
        threshold=torch.from_numpy(np.where(is_leaf, np.float32(0), largest_below(stack("threshold")))),
        below=_whole(below),
        above=_whole(above),
        value=torch.from_numpy(np.where(is_leaf[:, None], value, 0.0)).float(),
        root=_whole(root),
        base=torch.from_numpy(base).float(),
        sharpness=torch.ones((), dtype=torch.float64),
        share=torch.zeros((), dtype=torch.float64),
    )


def _whole(numbers: Array) -> Tensor:
    return torch.from_numpy(numbers.astype(np.int32))


def largest_below(threshold: Array) -> Array:
    """The largest single-precision numbers that are not above: numbers of that precision compare with them alike."""
    rounded = threshold.astype(np.float32)
    return np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)


def infer_share(by_model: Tensor, by_forest: Tensor, weight: Tensor) -> float:
    """E[v] given the probabilities of the rows' own classes, (n,) each, and their weights (n,)."""
    mixed = by_model.double() + SHARES[:, None] * (by_forest.double() - by_model.double())  # (V, n)
    return float((mixed.clamp_min(1e-300).log() @ weight.double()).softmax(0) @ SHARES)
