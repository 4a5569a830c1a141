"""Label-aware attention against the naive (T, T, N, D) computation."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from helpers.toys import Toy, toy
from vmtl.data.rows import Rows
from vmtl.paper import attention
from vmtl.paper.attention import Attention

PROBLEMS = [
    toy([5, 9, 7], classes=3),
    toy([5, 9, 7], classes=3, missing=[(1, 0), (2, 0)]),
    toy([6, 4, 3]),
]


def naive(rows: Rows, bandwidth: float = 0.1) -> Tensor:
    """f(x_tn, D_i) for every row and other task, by loops: (n, T, D)."""
    out = torch.zeros(len(rows.y), rows.n_tasks, rows.x.shape[1], dtype=rows.x.dtype)
    for n in range(len(rows.y)):
        for i in range(rows.n_tasks):
            own = rows.task == i
            if i == rows.task[n] or (rows.is_classification and not (own & (rows.y == rows.y[n])).any()):
                continue
            if rows.is_classification:
                own = own & (rows.y == rows.y[n])
            logits = rows.x[own] @ rows.x[n] / math.sqrt(rows.x.shape[1])
            if not rows.is_classification:
                logits = logits - (rows.y[own] - rows.y[n]).square() / (2 * bandwidth**2)
            weights = rows.weight[own] * logits.exp()
            out[n, i] = (weights / weights.sum()) @ rows.x[own]
    return out


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize("stored", [True, False])
def test_equals_the_naive_computation(problem: Toy, stored: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "STORED", attention.STORED if stored else 0)
    weight = np.random.default_rng(0).integers(1, 4, len(problem.y)).astype(float)
    rows = problem.rows(weight=weight)
    mixer = Attention(rows)
    assert (mixer._stored is not None) == stored
    torch.testing.assert_close(mixer.mix(rows.x, torch.arange(len(rows.y))), naive(rows), atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_an_affine_layer_commutes_with_the_average(problem: Toy) -> None:
    rows = problem.rows()
    mixer, index = Attention(rows), torch.arange(len(rows.y))
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(rows.x.shape[1], 4, generator=generator, dtype=torch.float64)
    bias = torch.randn(4, generator=generator, dtype=torch.float64)
    first = mixer.mix(rows.x @ weight + bias, index)[mixer.support]
    after = (naive(rows) @ weight + bias)[mixer.support]
    torch.testing.assert_close(first, after, atol=1e-12, rtol=1e-10)


def test_support_leaves_out_the_own_task_and_tasks_without_the_class() -> None:
    rows = toy([4, 4, 4], classes=2, missing=[(1, 0), (2, 0)]).rows()
    support = Attention(rows).support
    assert support[0].tolist() == [False, False, False]  # a class that only task 0 has
    assert support[1].tolist() == [False, True, True]
    assert not support[torch.arange(12), rows.task].any()


def test_a_small_bandwidth_on_discrete_targets_is_the_label_rule() -> None:
    labelled = toy([6, 8], classes=3).rows()
    real = Rows(labelled.x, labelled.y.double(), labelled.task, labelled.weight, 2, 1, False)
    index = torch.arange(14)
    torch.testing.assert_close(
        Attention(real, bandwidth=1e-2).mix(real.x, index), Attention(labelled).mix(labelled.x, index)
    )


def test_two_equal_rows_count_as_one_with_weight_two() -> None:
    problem = toy([4, 5], classes=2)
    twice = Toy("", problem.X[[0, *range(9)]], problem.y[[0, *range(9)]], problem.task[[0, *range(9)]], 2)
    once = problem.rows(weight=[2, *[1] * 8])
    a = Attention(once).mix(once.x, torch.arange(9))
    b = Attention(twice.rows()).mix(twice.rows().x, torch.arange(1, 10))
    torch.testing.assert_close(a, b)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_attention_of_some_rows_to_some_tasks(problem: Toy) -> None:
    rows = problem.rows()
    attention = Attention(rows)
    everything = attention.mix(rows.x, torch.arange(len(rows.y)))
    index = torch.tensor([5, 0, 12, 5])
    tasks = torch.tensor([[1, 2], [2, 1], [0, 1], [1, 1]])
    torch.testing.assert_close(attention.mix(rows.x, index, tasks), everything[index[:, None], tasks])
