"""Who learns from whom with a task more: the regression of each task on the others, and intervals that only widen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from vmtl.inference.added_tasks.wider_structure import wider_structure
from vmtl.inference.structure.covariance import DenseCovariance
from vmtl.inference.structure.mixing_weights import structure_of
from vmtl.inference.structure.newcomer import distances_of
from vmtl.results.relatedness import TaskStructure

KNOWN = DenseCovariance(torch.tensor([[1.0, 0.6, 0.3], [0.6, 1.0, 0.4], [0.3, 0.4, 1.0]]).double())
ROW = torch.tensor([0.5, 0.45, 0.35]).double()
POINTS = torch.tensor([[0.0, 0.0], [0.5, 0.0], [0.0, 1.0], [0.3, 0.3]]).double()


def known() -> TaskStructure:
    """With intervals of a tenth below and above, and a beta of its own."""
    structure = structure_of(KNOWN)
    assert structure.alpha is not None
    beta = torch.tensor([[0.0, 0.7, 0.3], [0.6, 0.0, 0.4], [0.5, 0.5, 0.0]]).double()

    def ends(value: Tensor) -> Tensor:
        return torch.stack([0.9 * value, 1.1 * value])

    return replace(
        structure,
        beta=beta,
        positions=POINTS[:3],
        alpha_interval=ends(structure.alpha),
        beta_interval=ends(beta),
        sharing_interval=ends(structure.sharing),
    )


def wider(structure: TaskStructure, spread: float = 0.0) -> TaskStructure:
    """With the task of ``ROW``; it might have been so much nearer to one and farther from another."""
    steps = torch.linspace(-1, 1, 41, dtype=torch.float64)[:, None]
    drawn = ROW * (1 + spread * steps * torch.tensor([1.0, -1.0, 0.5]))
    distances = distances_of(POINTS)[None] * torch.exp(spread * steps[..., None])
    return wider_structure(structure, KNOWN.with_task(ROW), POINTS, drawn, distances)


def test_weights_are_the_regression_of_each_task_on_the_others() -> None:
    found, matrix = wider(known()), KNOWN.with_task(ROW).matrix.numpy()
    assert found.alpha is not None
    assert torch.equal(found.positions, POINTS)
    for t in range(4):
        others = [i for i in range(4) if i != t]
        slopes = np.linalg.solve(matrix[np.ix_(others, others)], matrix[others, t])
        assert (slopes > 0).all()  # else a mixture is not the regression
        np.testing.assert_allclose(found.alpha[t, others], slopes / slopes.sum())
        assert float(found.sharing[t]) == pytest.approx(slopes.sum())
        assert float(found.alpha[t, t]) == 0


def test_known_intervals_move_with_their_weights() -> None:
    """No doubt about the new task: those of known pairs are as wide as before, in proportion; its own are points."""
    found = wider(known())
    for value, interval in ((found.alpha, found.alpha_interval), (found.sharing, found.sharing_interval)):
        assert value is not None
        assert interval is not None
        place = (slice(3),) * value.dim()
        torch.testing.assert_close(interval[0][place], 0.9 * value[place])
        torch.testing.assert_close(interval[1][place], (1.1 * value[place]).clamp_max(1))
    assert found.alpha_interval is not None
    torch.testing.assert_close(found.alpha_interval[:, 3], found.alpha[3].expand(2, -1))


def test_doubt_about_the_new_task_widens_and_every_interval_holds_its_weight() -> None:
    sure, unsure = wider(known()), wider(known(), spread=0.3)
    for name in ("alpha", "beta", "sharing"):
        value = getattr(unsure, name)
        torch.testing.assert_close(value, getattr(sure, name))
        before, after = (getattr(structure, f"{name}_interval") for structure in (sure, unsure))
        assert (after[0] <= value + 1e-12).all()
        assert (value <= after[1] + 1e-12).all()
        assert (after[0] <= before[0] + 1e-12).all()
        assert (before[1] <= after[1] + 1e-12).all()
        assert float((after[1] - after[0])[3].max()) > 0.01


def test_beta_is_the_resemblance_of_positions_unless_it_is_tied() -> None:
    beta = wider(known()).beta
    assert beta is not None
    for t in range(4):
        likeness = [0.0 if i == t else np.exp(-float((POINTS[t] - POINTS[i]).square().sum())) for i in range(4)]
        np.testing.assert_allclose(beta[t], np.array(likeness) / sum(likeness), atol=1e-12)
    tied = replace(known(), beta=known().alpha, beta_interval=known().alpha_interval)
    found = wider(tied)
    assert found.alpha is not None
    assert torch.equal(found.beta, found.alpha)
    assert torch.equal(found.beta_interval, found.alpha_interval)
    assert wider(replace(known(), beta=None, beta_interval=None)).beta is None


def test_what_had_no_interval_gets_none() -> None:
    found = wider(replace(known(), alpha_interval=None, beta_interval=None))
    assert found.alpha_interval is None
    assert found.beta_interval is None
    assert found.sharing_interval is not None
