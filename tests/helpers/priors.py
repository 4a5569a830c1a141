"""What tests of priors share: problems that leave classes out, a context, leaves and comparisons of gradients."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.toys import toy
from vmtl._utils.noise import Noise
from vmtl.data.rows import Rows
from vmtl.paper.distributions import Gaussian, standard_normal_kl
from vmtl.paper.priors import Context

PROBLEMS = {
    "complete": toy([5, 9, 7], classes=3),
    "missing": toy([5, 9, 7], classes=3, missing=[(1, 0)]),
    "alone": toy([5, 9, 7], classes=3, missing=[(1, 0), (2, 0)]),
    "regression": toy([5, 9, 7]),
}


def cpu_noise(seed: int = 0) -> Noise:
    return Noise(seed, torch.device("cpu"), torch.float64)


def make_context(rows: Rows, repeats: bool = False, seed: int = 0) -> Context:
    """A batch of all rows, or one in which rows repeat and others are missing, and unequal mixing weights."""
    return context_with_logits(rows, repeats, seed)[0]


def context_with_logits(rows: Rows, repeats: bool = False, seed: int = 0) -> tuple[Context, Tensor]:
    """The same, and the leaf (2, T, T) behind alpha and beta."""
    index, mask = rows.by_task
    if repeats:
        index, mask = index[:, [0, 1, 1, 3, 0]], mask[:, [0, 1, 1, 3, 0]]
    logits = leaf(torch.Generator().manual_seed(seed), 2, rows.n_tasks, rows.n_tasks)
    alpha, beta = logits.masked_fill(torch.eye(rows.n_tasks, dtype=torch.bool), -torch.inf).softmax(-1)
    return Context(rows.batch(index, mask), alpha, beta, cpu_noise(seed)), logits


def leaf(generator: torch.Generator, *shape: int, positive: bool = False) -> Tensor:
    value = torch.randn(shape, generator=generator, dtype=torch.float64)
    return (value.abs() * 0.5 + 0.1 if positive else value).requires_grad_()


def random_gaussian(*shape: int, seed: int = 1) -> Gaussian:
    """Mean and scale are leaves."""
    generator = torch.Generator().manual_seed(seed)
    return Gaussian(leaf(generator, *shape), leaf(generator, *shape, positive=True))


def mixture_penalty_by_loops(
    q_w: Gaussian, class_mask: Tensor, alpha: Tensor, component: Callable[[int, int, int], Gaussian]
) -> Tensor:
    """sum_c sum_i alpha_tic KL(q_tc || component(t, i, c)) of every task; KL to N(0, I) where no other task saw c."""
    n_tasks, n_classes = class_mask.shape
    penalties = []
    for t in range(n_tasks):
        penalty = torch.zeros((), dtype=torch.float64)
        for c in range(n_classes):
            q = Gaussian(q_w.mean[t, c], q_w.scale[t, c])
            others = [i for i in range(n_tasks) if i != t and class_mask[i, c]]
            total = sum(alpha[t, i] for i in others)
            for i in others:
                penalty = penalty + alpha[t, i] / total * q.kl(component(t, i, c))
            if not others:
                penalty = penalty + standard_normal_kl(q)
        penalties.append(penalty)
    return torch.stack(penalties)


def assert_same(fast: Tensor, plain: Tensor, leaves: list[Tensor]) -> None:
    """The same value, and the same gradients of an arbitrary weighting of it."""
    torch.testing.assert_close(fast, plain, atol=1e-10, rtol=1e-9)
    weight = torch.linspace(0.5, 2, fast.numel(), dtype=fast.dtype).view_as(fast)
    quick = torch.autograd.grad((weight * fast).sum(), leaves, allow_unused=True, retain_graph=True)
    naive = torch.autograd.grad((weight * plain).sum(), leaves, allow_unused=True)
    for one, two in zip(quick, naive, strict=True):
        assert (one is None) == (two is None)
        if one is not None and two is not None:
            torch.testing.assert_close(one, two, atol=1e-9, rtol=1e-8)
