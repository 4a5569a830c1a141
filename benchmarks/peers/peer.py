"""What a peer is: fitted on training rows, it gives probabilities, or a mean and a standard deviation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from benchmarks.peers.sets import DIGITS, HALVES, KINDS, Problem, Rows

#: Probabilities are at least this in every score, for every peer.
LEAST_PROBABILITY = 1e-6


@dataclass(frozen=True)
class Prediction:
    """p (n, C) in classification, mean and std (n,) in regression; and what was chosen on training rows.

    ``ends`` (n, 2) are those of 90 % intervals, of a tool that has its own; else they follow from mean and std.
    """

    p: np.ndarray | None = None
    mean: np.ndarray | None = None
    std: np.ndarray | None = None
    ends: np.ndarray | None = None
    chosen: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Shape:
    """What a peer is told beside its training rows."""

    is_classification: bool
    n_tasks: int
    n_classes: int

    @classmethod
    def of(cls, problem: Problem) -> Shape:
        return cls(problem.is_classification, problem.n_tasks, problem.n_classes)


class Unsuitable(ValueError):
    """A set that a tool cannot take, such as one with too many columns: recorded as such, and not tried again."""


class Peer(ABC):
    """One tool. ``revision`` goes up when its code changes such that results do: records are then made anew.

    ``short`` is the head of a narrow column, where the title is too long for one.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    short: ClassVar[str] = ""
    packages: ClassVar[tuple[str, ...]] = ()
    kinds: ClassVar[tuple[str, ...]] = KINDS
    halves: ClassVar[tuple[str, ...]] = (*HALVES, DIGITS)
    revision: ClassVar[int] = 1

    @classmethod
    def absent(cls) -> str | None:
        """A sentence on what is not installed, or None."""
        gone = [name for name in cls.packages if find_spec(name) is None]
        return f"{cls.title} is skipped: {', '.join(gone)} is not installed." if gone else None

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Versions of what the tool is made of, for its records."""
        return {name: version(name) for name in cls.packages}

    @abstractmethod
    def fit_predict(self, train: Rows, test: Rows, shape: Shape, seed: int) -> Prediction:
        """Tune and fit on ``train``; predict ``test``, whose y is not looked at."""


class Tuned(Peer):
    """A tool whose settings are chosen by cross-validation on the training rows: likelihood, or squared error.

    ``settings`` are the candidates; ``stages`` are settings that one fitted model can be asked for, such as the number
    of trees. In regression the standard deviation is the root of the mean squared error on left-out rows.
    """

    settings: ClassVar[Sequence[dict[str, Any]]] = ({},)
    stages: ClassVar[Sequence[Any]] = (None,)
    n_folds: ClassVar[int] = 5

    @abstractmethod
    def train(self, rows: Rows, shape: Shape, setting: dict[str, Any], seed: int) -> Any:
        """A fitted model."""

    @abstractmethod
    def predict(self, model: Any, rows: Rows, shape: Shape, stage: Any) -> np.ndarray:
        """(n, C) probabilities or (n,) means."""

    def predict_stages(self, model: Any, rows: Rows, shape: Shape) -> dict[Any, np.ndarray]:
        """``predict`` of every stage."""
        return {stage: self.predict(model, rows, shape, stage) for stage in self.stages}

    def fit_predict(self, train: Rows, test: Rows, shape: Shape, seed: int) -> Prediction:
        one = len(self.settings) * len(self.stages) == 1 and shape.is_classification  # nothing to choose or to learn
        losses = {(0, self.stages[0]): 0.0} if one else self._losses(train, shape, seed)
        place, stage = min(losses, key=lambda key: losses[key])
        model = self.train(train, shape, self.settings[place], seed)
        found = self.predict(model, test, shape, stage)
        chosen = {**self.settings[place], **({} if stage is None else {"stage": stage})}
        if shape.is_classification:
            return Prediction(p=found, chosen=chosen)
        return Prediction(mean=found, std=np.full(len(found), np.sqrt(losses[place, stage])), chosen=chosen)

    def _losses(self, train: Rows, shape: Shape, seed: int) -> dict[tuple[int, Any], float]:
        """Mean loss on left-out rows of every setting, by its place, and stage."""
        total = {(place, stage): 0.0 for place in range(len(self.settings)) for stage in self.stages}
        for kept, held in folds(train, shape, self.n_folds, seed):
            part, rest = train.subset(kept), train.subset(held)
            for place, setting in enumerate(self.settings):
                model = self.train(part, shape, setting, seed)
                for stage, found in self.predict_stages(model, rest, shape).items():
                    total[place, stage] += float(loss(found, rest.y, shape).sum()) / len(train)
        return total


def folds(train: Rows, shape: Shape, n_folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds with as many rows of every class, and nearly so of every task."""
    rng = np.random.default_rng(seed)
    label = train.y if shape.is_classification else np.zeros(len(train))
    order = np.lexsort((rng.random(len(train)), train.task, label))
    fold = np.empty(len(train), dtype=int)
    fold[order] = np.arange(len(train)) % n_folds
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]


def loss(found: np.ndarray, y: np.ndarray, shape: Shape) -> np.ndarray:
    """(n,) negative log-likelihood, or squared error."""
    if shape.is_classification:
        return -np.log(np.maximum(found[np.arange(len(y)), y], LEAST_PROBABILITY))
    return np.square(found - y)


def all_classes(p: np.ndarray, classes: np.ndarray, shape: Shape) -> np.ndarray:
    """(n, C) probabilities where a model knows only the ``classes`` of its rows."""
    full = np.zeros((len(p), shape.n_classes))
    full[:, np.asarray(classes, dtype=int)] = p
    return full


def frequencies(y: np.ndarray, shape: Shape) -> np.ndarray:
    """(C,) class frequencies with one further row spread over all classes."""
    counts = np.bincount(y, minlength=shape.n_classes) + 1 / shape.n_classes
    return counts / counts.sum()
