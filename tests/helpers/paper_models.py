"""The pieces to put models of the paper's system together by hand, for many tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from vmtl._utils.noise import Noise
from vmtl.data.rows import Rows
from vmtl.paper.fit import build_model
from vmtl.paper.method import Method
from vmtl.paper.methods import METHODS
from vmtl.paper.model import Model
from vmtl.paper.objective import Objective, Scales
from vmtl.paper.settings import Settings

#: Small sizes, all rows at once, and dropout only where a test asks for it.
SMALL = Settings(
    latent_dim=5,
    hidden_dim=7,
    encoder="linear",
    dropout=0.0,
    head_dropout=0.0,
    prior_dropout=False,
    sharing=0.95,
    n_z=2,
    n_w=4,
    tau=("linear", 1.0, 0.5, 1.0),
    kl_scale_w=("constant", 1.0),
    kl_scale_z=("constant", 1e-4),
    divide_kl_w=True,
    task_weight="rows",
    learning_rate=("constant", 0.02),
    mixing_rate=1.0,
    weighting_rate=1.0,
    batch_rows=0,
)


def build(method: str | Method, rows: Rows, settings: Settings = SMALL, seed: int = 0) -> Model:
    """The model of a method on problems like these rows, with its first weights."""
    method = METHODS[method] if isinstance(method, str) else method
    return build_model(method, settings, rows, seed)


def full_batch_loss(
    objective: Objective, rows: Rows, noise: Noise | None = None, tau: float = 0.7, scales: Scales | None = None
) -> Tensor:
    """The scalar loss of all rows at once."""
    noise = noise or Noise(1, rows.x.device, rows.x.dtype)
    terms = objective.terms(rows.batch(*rows.by_task), tau, noise)
    return objective.loss(terms, scales or Scales(1e-2, 1.0))


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

    def with_seed(self, seed: int) -> Noise:
        return self


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
    return {name: permute(value, size, order) for name, value in model.state_dict().items()}


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
