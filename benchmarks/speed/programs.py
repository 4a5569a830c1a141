"""Problems and programs whose time and memory ``benchmarks.speed`` measures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def class_rows(n_tasks: int = 4, n_classes: int = 65, per_class: int = 3, size: int = 4096) -> Any:
    """Non-negative features around class centres, as many rows of every class in every task."""
    import torch

    from vmtl.data.rows import Rows

    generator = torch.Generator().manual_seed(0)
    y = torch.arange(n_classes).repeat(n_tasks * per_class)
    task = torch.arange(n_tasks).repeat_interleave(n_classes * per_class)
    centre = 0.5 * torch.randn(n_classes, size, generator=generator)
    x = (centre[y] + 0.3 * torch.randn(len(y), size, generator=generator)).relu()
    return Rows(x, y, task, torch.ones(len(y)), n_tasks, n_classes, True)


def value_rows(n_tasks: int, n_rows: int, size: int = 28) -> Any:
    """Regression on a few columns, the rows spread evenly over the tasks."""
    import torch

    from vmtl.data.rows import Rows

    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n_rows, size, generator=generator)
    y = x @ torch.randn(size, generator=generator) / size**0.5
    return Rows(x, y, torch.arange(n_rows) % n_tasks, torch.ones(n_rows), n_tasks, 1, False)


#: No gradient passes through the mixture priors, as the paper describes it; and no dropout, which costs as much as the
#: rest of a step.
DETACHED = {"prior_gradient_w": "detached", "prior_gradient_z": "detached", "prior_dropout": False}


def step(method: str, rows: Any, *, as_shipped: bool = False, **options: Any) -> Callable[[], Any]:
    """One training step of a method with the paper's settings, both mixture priors detached or as the preset is."""
    from vmtl.paper.fit import build_model
    from vmtl.paper.methods import METHODS
    from vmtl.paper.presets import PRESETS
    from vmtl.paper.training.training import Trainer

    settings = PRESETS["paper"].with_options(**({} if as_shipped else DETACHED), **options)
    trainer = Trainer(build_model(METHODS[method], settings, rows, 0), rows, 0)
    return lambda: trainer._one_step(settings.max_steps, 0.0)


def matrix_products(tasks: int = 4, rows: int = 260, pool: int = 780, classes: int = 65, draws: int = 10) -> Any:
    """The matrix products that a VMTL step at Office-Home size cannot do without, forward and backward.

    The encoder with its four layers on the batch; the pool's first layer and three more for every row and other
    task on the way to the prior, which passes no gradient; mean and variance of the logits of every draw of z.
    """
    import torch

    size, hidden, n = 4096, 512, tasks * rows
    x, first = torch.randn(n, size), torch.randn(size, hidden)
    h, square = torch.randn(n, hidden), torch.randn(hidden, hidden)
    x_pool, h_prior = torch.randn(pool, size), torch.randn(pool * (tasks - 1), hidden)
    z, w, g = torch.randn(tasks, rows, hidden), torch.randn(tasks, hidden, classes), torch.randn(tasks, rows, classes)

    def run() -> None:
        x @ first, x.T @ h, x_pool @ first
        for _ in range(3):
            h @ square, h @ square.T, h.T @ h, h_prior @ square
        for _ in range(draws // 2):
            for _ in range(3):  # the mean of a pair, and two variances
                z @ w, g @ w.mT, z.mT @ g

    return run
