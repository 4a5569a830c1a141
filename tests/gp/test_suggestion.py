"""The choice of labels: gains and conditioning against the Gaussian written out."""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl.gp.suggestion import TaskPool, choose


def pool(rows: int = 9, classes: int = 2, size: int = 4, seed: int = 0) -> TaskPool:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(rows, size, generator=generator, dtype=torch.float64)
    scale = torch.rand(classes, size, generator=generator, dtype=torch.float64) + 0.2
    noise = torch.rand(classes, rows, generator=generator, dtype=torch.float64) + 0.5
    return TaskPool(z, scale, noise, torch.arange(rows), torch.arange(rows))


def joint(pool: TaskPool) -> Tensor:
    """Covariance of the logits of every class under q(w): (C, N, N)."""
    return torch.stack([pool.z @ torch.diag(v) @ pool.z.mT for v in pool.variance_w])


def condition(covariance: Tensor, noise: Tensor, taken: list[int]) -> Tensor:
    """The same given labels of the rows ``taken``, by the textbook formula."""
    parts = []
    for c, k in enumerate(covariance):
        across, among = k[:, taken], k[taken][:, taken] + torch.diag(noise[c, taken])
        parts.append(k - across @ torch.linalg.solve(among, across.mT))
    return torch.stack(parts)


def naive_gains(covariance: Tensor, noise: Tensor) -> Tensor:
    """Mutual information of two labels from the determinants of their covariance, pair by pair."""
    n = covariance.shape[-1]
    gains = torch.zeros(n, dtype=torch.float64)
    for i in range(n):
        for j in range(n):
            for k, e in zip(covariance, noise, strict=True):
                v_i, v_j = k[i, i] + e[i], k[j, j] + e[j]
                gains[i] += 0.5 * torch.log(v_i * v_j / (v_i * v_j - k[i, j] ** 2))
    return gains


def test_gains_and_conditioning_are_those_of_the_joint_gaussian() -> None:
    ours = pool()
    covariance, taken = joint(ours), []
    for _ in range(4):
        current = condition(covariance, ours.noise, taken) if taken else covariance
        gains = naive_gains(current, ours.noise)
        gains[taken] = -torch.inf
        gain, place = ours.best()
        assert place == int(gains.argmax())
        torch.testing.assert_close(gain, float(gains.max()), rtol=0, atol=1e-10)
        torch.testing.assert_close(ours.covariance, current, rtol=0, atol=1e-10)
        ours.take(place)
        taken.append(place)


def test_a_copy_of_a_chosen_row_is_not_chosen_and_tasks_take_turns() -> None:
    one = pool(seed=1)
    both, same = torch.arange(2 * len(one.z)), torch.arange(len(one.z)).repeat(2)
    doubled = TaskPool(one.z.repeat(2, 1), one.variance_w.sqrt(), one.noise.repeat(1, 2), both, same)
    assert doubled.different == len(one.z)
    chosen = list(choose({0: (torch.arange(18).numpy(), doubled)}, 9))
    assert sorted(place % 9 for place in chosen) == list(range(9))
    first, second = pool(seed=2), pool(seed=3)
    rows = torch.arange(18).numpy()
    both = list(choose({0: (rows[:9], first), 1: (rows[9:], second)}, 18))
    assert sorted(both) == list(range(18))
    gains = [pool(seed=seed).best()[0] for seed in (2, 3)]
    assert (both[0] < 9) == (gains[0] > gains[1])
