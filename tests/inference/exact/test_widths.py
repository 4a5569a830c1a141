"""The widths of q(w) against a dense inverse of every feature."""

from __future__ import annotations

import pytest
import torch

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.inference.exact import widths
from vmtl.inference.exact.output_prior import OutputPrior
from vmtl.inference.exact.widths import weight_widths
from vmtl.inference.structure.covariance import alike

ROWS = toy([6, 4, 9], classes=2).rows()
CURVATURE = torch.linspace(0.05, 0.5, 19, dtype=torch.float64)


def dense(rows: Rows, curvature: torch.Tensor, prior: OutputPrior) -> torch.Tensor:
    """Posterior deviations of one feature's weights in all tasks, as if there were no other feature: (T, K + 1)."""
    n_tasks, s = rows.n_tasks, prior.scale
    eye, ones = torch.eye(n_tasks, dtype=torch.float64), torch.ones(n_tasks, n_tasks, dtype=torch.float64)
    rho = prior.covariance.correlation
    slope = (1 - rho) * eye + rho * ones
    level = (prior.task_level**2 * eye + prior.shared_level**2 * ones) / s**2
    columns = []
    for z, covariance in [*((z, slope) for z in rows.x.T), (torch.ones_like(rows.y).double(), level)]:
        told = [(curvature * (s * z).square())[rows.task == t].sum() for t in range(n_tasks)]
        precision = torch.linalg.inv(covariance) + torch.diag(torch.stack(told))
        columns.append(torch.linalg.inv(precision).diagonal().sqrt())
    return torch.stack(columns, 1)


@pytest.mark.parametrize("rho", [0.1, 0.9])
@pytest.mark.parametrize("scale", [0.1, 3.0])
def test_widths_are_those_of_a_dense_inverse(rho: float, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widths, "PART_ROWS", 5)
    prior = OutputPrior(alike(3, rho), scale, task_level=0.4)
    deviations = weight_widths(ROWS, CURVATURE, prior)
    torch.testing.assert_close(deviations, dense(ROWS, CURVATURE, prior), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_tasks_that_share_nothing_or_everything_are_limits(rho: float) -> None:
    deviations, near = (
        weight_widths(ROWS, CURVATURE, OutputPrior(alike(3, r), 1.0, 0.4)) for r in (rho, abs(rho - 1e-6))
    )
    torch.testing.assert_close(deviations, near, rtol=0, atol=1e-5)


def test_without_rows_widths_are_those_of_the_prior() -> None:
    prior = OutputPrior(alike(3, 0.6), 0.5, task_level=0.4, shared_level=2.0)
    deviations = weight_widths(ROWS, 0 * CURVATURE, prior)
    torch.testing.assert_close(deviations[:, :-1], torch.ones(3, 6, dtype=torch.float64))
    level = (2.0**2 + 0.4**2) ** 0.5 / 0.5
    torch.testing.assert_close(deviations[:, -1], torch.full((3,), level, dtype=torch.float64))
