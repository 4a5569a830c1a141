"""Small problems and the pieces to put models together by hand, for many tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vmtl._utils.noise import Noise
from vmtl._utils.types import Array
from vmtl.config.settings import Settings
from vmtl.data.rows import Rows
from vmtl.inference.features.maps import feature_spread
from vmtl.methods import METHODS
from vmtl.model.method import Method
from vmtl.model.model import Layout, Model
from vmtl.model.objective import Objective, Scales


@dataclass(frozen=True, eq=False)
class Toy:
    """One small problem; ``classes`` is 0 in regression."""

    name: str
    X: Array
    y: Array
    task: Array
    classes: int

    @property
    def n_tasks(self) -> int:
        return int(self.task.max()) + 1

    def rows(self, dtype: torch.dtype = torch.float64, weight: Array | None = None) -> Rows:
        """The problem as training rows, with X as the features that the encoder reads."""
        return Rows(
            torch.as_tensor(self.X, dtype=dtype),
            torch.as_tensor(self.y, dtype=torch.int64 if self.classes else dtype),
            torch.as_tensor(self.task),
            torch.ones(len(self.y), dtype=dtype) if weight is None else torch.as_tensor(weight, dtype=dtype),
            self.n_tasks,
            max(1, self.classes),
            bool(self.classes),
        )


def toy(
    sizes: Sequence[int],
    classes: int = 0,
    features: int = 6,
    seed: int = 0,
    missing: Sequence[tuple[int, int]] = (),
    spread: float = 1.0,
) -> Toy:
    """Tasks with the given numbers of rows around common class centres, or one common linear rule.

    Rows of a (task, class) in ``missing`` become rows of the next class.
    """
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(len(sizes)), sizes)
    rows = len(task)
    shift = 0.3 * rng.normal(size=(len(sizes), features))[task]
    name = f"{'classes' if classes else 'values'}-{'-'.join(map(str, sizes))}{'-missing' if missing else ''}"
    if not classes:
        X = rng.normal(size=(rows, features)) + shift
        y = X @ rng.normal(size=features) / np.sqrt(features) + 0.1 * rng.normal(size=rows)
        return Toy(name, X, (y - y.mean()) / y.std(), task, 0)
    y = np.concatenate([np.arange(size) % classes for size in sizes])
    for t, c in missing:
        y[(task == t) & (y == c)] = (c + 1) % classes
    centres = 2 * rng.normal(size=(classes, features))
    return Toy(name, centres[y] + shift + spread * rng.normal(size=(rows, features)), y, task, classes)


#: Small sizes, and nothing that is chosen by looking at the rows first.
SMALL = Settings(
    latent_dim=5,
    hidden_dim=7,
    select=False,
    relatedness="uniform",
    logit_scale=5.0,
    sharing=0.95,
    entropy_weight=0.1,
)


def build(method: str | Method, rows: Rows, settings: Settings = SMALL, seed: int = 0) -> Model:
    """The model of a method on problems like these rows, with its first weights."""
    method = METHODS[method] if isinstance(method, str) else method
    layout = Layout.of(rows, feature_spread(rows, method.encoder == "per task"))
    model = Model(method, settings, layout).to(rows.x)
    model.reset(torch.Generator().manual_seed(seed))
    return model


def full_batch_loss(
    objective: Objective, rows: Rows, noise: Noise | None = None, tau: float = 0.7, scales: Scales | None = None
) -> Tensor:
    """The scalar loss of all rows at once."""
    noise = noise or Noise(1, rows.x.device, rows.x.dtype)
    terms = objective.terms(rows.batch(*rows.by_task), tau, noise)
    return objective.loss(terms, scales or Scales(1e-2, 1.0, 0.1))


class Quiet(Noise):
    """No noise at all: normal and Gumbel draws are 0, dropout keeps everything."""

    def __init__(self, dtype: torch.dtype = torch.float64) -> None:
        super().__init__(0, torch.device("cpu"), dtype)

    def normal(self, draws: int, *shape: int) -> Tensor:
        return torch.zeros(draws, *shape, dtype=self.dtype)

    def gumbel(self, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=self.dtype)

    def keep(self, shape: tuple[int, ...], dropout: float) -> Tensor:
        return torch.ones(shape, dtype=self.dtype)


class Permuted(Noise):
    """The draws of a seeded source with one kind of axis, known by its size, in another order."""

    def __init__(self, seed: int, size: int, order: Sequence[int], dtype: torch.dtype = torch.float64) -> None:
        super().__init__(seed, torch.device("cpu"), dtype)
        self.size, self.order = size, list(order)

    def normal(self, draws: int, *shape: int) -> Tensor:
        return permute(super().normal(draws, *shape), self.size, self.order, first=1)

    def gumbel(self, *shape: int) -> Tensor:
        return permute(super().gumbel(*shape), self.size, self.order)

    def keep(self, shape: tuple[int, ...], dropout: float) -> Tensor:
        return permute(super().keep(shape, dropout), self.size, self.order)


def permute(value: Tensor, size: int, order: Sequence[int], first: int = 0) -> Tensor:
    """``value`` with every axis of that size, from ``first`` on, taken in ``order``."""
    for axis in range(first, value.dim()):
        if value.shape[axis] == size:
            value = value.index_select(axis, torch.as_tensor(list(order)))
    return value


def permuted_state(model: Model, size: int, order: Sequence[int]) -> dict[str, Tensor]:
    """The weights of a model with tasks or classes, known by their number, in another order."""
    state = model.state_dict()
    return {name: value if name.endswith("log_dets") else permute(value, size, order) for name, value in state.items()}


def numeric_gradient(function: Callable[[], Tensor], parameter: Tensor, index: int, step: float = 1e-6) -> float:
    """Central difference of a scalar function in one entry of a parameter."""
    flat = parameter.detach().view(-1)
    start = float(flat[index])
    flat[index] = start + step
    above = float(function())
    flat[index] = start - step
    below = float(function())
    flat[index] = start
    return (above - below) / (2 * step)
