"""Minima by gradients: those of torch's optimisers, without the import of its compiler."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import Tensor

from vmtl._utils.minimise import Adam, minimise, minimise_smooth

SCRIPT = """
import sys
import numpy as np
from vmtl import MultiTaskClassifier
rng = np.random.default_rng(0)
X, tasks = rng.normal(size=(60, 3)), np.arange(60) % 3
for classes in (2, 3):
    MultiTaskClassifier(random_state=0).fit(X, rng.integers(0, classes, 60), tasks=tasks)
print("torch._dynamo" in sys.modules)
"""


def valley(x: Tensor) -> Tensor:
    """Rosenbrock's."""
    return (1 - x[0]).square() + 100 * (x[1] - x[0].square()).square()


def test_the_bottom_of_a_valley_is_found() -> None:
    x = torch.tensor([-1.0, 2.0], dtype=torch.float64, requires_grad=True)
    minimise([x], lambda: valley(x), iterations=100, history=8, least_slope=1e-8, least_change=1e-12)
    assert x.tolist() == pytest.approx([1, 1], abs=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_one_tensor_of_any_shape_finds_the_solution_of_a_linear_system(scale: float) -> None:
    generator = torch.Generator().manual_seed(0)
    half = torch.randn(8, 8, generator=generator, dtype=torch.float64)
    matrix, target = (
        scale * (half @ half.T + torch.eye(8).double()),
        scale * torch.randn(8, generator=generator).double(),
    )

    def evaluate(v: Tensor) -> tuple[float, Tensor]:
        flat = v.reshape(-1)
        return float(0.5 * flat @ matrix @ flat - target @ flat), (matrix @ flat - target).view_as(v)

    start = torch.zeros(2, 4, dtype=torch.float64)
    found = minimise_smooth(evaluate, start, iterations=500, least_change=1e-12 * scale)
    assert found.shape == (2, 4)
    torch.testing.assert_close(found.reshape(-1), torch.linalg.solve(matrix, target), rtol=1e-3, atol=1e-4)
    assert float(start.abs().max()) == 0  # what is given stays as it is


def test_steps_are_those_of_torch() -> None:
    one, two = (torch.tensor([-1.0, 2.0], dtype=torch.float64, requires_grad=True) for _ in range(2))
    ours, theirs = Adam([one], betas=(0.8, 0.9)), torch.optim.Adam([two], lr=0.1, betas=(0.8, 0.9))
    for step in range(1, 8):
        valley(one).backward()
        ours.step(0.1 / step)
        theirs.zero_grad()
        valley(two).backward()
        theirs.param_groups[0]["lr"] = 0.1 / step
        theirs.step()
    torch.testing.assert_close(one, two, rtol=1e-14, atol=0)


def test_a_fit_imports_no_compiler() -> None:
    """It takes seconds, longer than most fits."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
