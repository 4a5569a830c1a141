"""A random forest as tensors, so that a model file, a prediction and an exported program all hold the same trees.

q_c(x) ~ ((sum_b leaf_bc(x) + base_c) / (B + 1))^a

where
    leaf_b(x) = class frequencies of the training rows in the leaf of tree b that x falls into (C,)
    base = those of all training rows and of one more that is spread over all classes: one further vote, so that no
        class is impossible (C,)
    B = ``len(root)``
    a = ``sharpness``: where classes lie apart, leaves of several rows are less sure than they could be
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class Forest(nn.Module):
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
        super().__init__()
        for name in self.__annotations__:
            self.register_buffer(name, tensors[name])
        self.depth = self._depth()

    def _depth(self) -> int:
        """The longest way from a root to a leaf."""
        node = torch.arange(len(self.below))
        inner = (self.below != node) | (self.above != node)
        here, depth = self.root.long().unique(), 0
        while len(here := here[inner[here]]):
            here, depth = torch.cat([self.below[here], self.above[here]]).long().unique(), depth + 1
        return depth

    def forward(self, x: Tensor) -> Tensor:
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
    def from_tensors(cls, tensors: dict[str, Tensor], n_columns: int, n_outputs: int) -> Forest:
        """The forest of a ``state_dict``, or a ValueError that says what is wrong with it."""
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
