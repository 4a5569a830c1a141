"""Where a further task lies: at the places of known ones, beyond them, and by whom it is predicted without labels."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.gp.hyperparameters import Hyperparameters
from vmtl.gp.known_tasks import KnownTasks
from vmtl.gp.positions.class_means import ClassCells
from vmtl.gp.positions.task_positions import ShiftGram, infer_positions
from vmtl.gp.relatedness import structure_of
from vmtl.gp.surroundings import place_task, weights_by_resemblance
from vmtl.gp.task_covariance import positioned

SHIFT = torch.zeros(6, 10, dtype=torch.float64)
SHIFT[3:, 1] = 4.0  # two groups of three
NOBODY = torch.zeros(6, dtype=torch.bool)
FOUND = Hyperparameters({}, None, 1.0, 0.3, 0.9, 0.8, 0.5, (), None, None)
EVEN = Hyperparameters({}, None, 1.0, 0.3, 0.9, None, 0.9, (), None, None)


def draw(shift: Tensor, n: int, seed: int, classes: int = 2) -> Rows:
    """Tasks with ``n`` rows each about ``shift`` (T, K), of classes that lie apart on the first axis."""
    generator = torch.Generator().manual_seed(seed)
    task = torch.arange(len(shift)).repeat_interleave(n)
    y = torch.randint(max(2, classes), (len(task),), generator=generator)
    x = torch.randn(len(task), shift.shape[1], generator=generator, dtype=torch.float64) + shift[task]
    x[:, 0] += 2.0 * y
    ones = torch.ones(len(task), dtype=torch.float64)
    if not classes:
        return Rows(x, x[:, 0] + x[:, 2], task, ones, len(shift), 1, False)
    return Rows(x, y, task, ones, len(shift), classes, True)


def know(classes: int) -> KnownTasks:
    rows = draw(SHIFT, 60, 0, classes)
    positions = infer_positions(rows, 0)
    errors = torch.zeros(6, 2, dtype=torch.float64)
    return KnownTasks.of(rows, positions.points, positions.edge, NOBODY, errors)


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("group", [0, 1])
def test_a_task_lies_with_its_group(group: int, classes: int) -> None:
    known = know(classes)
    near, points = place_task(known, FOUND, draw(SHIFT[[3 * group]], 60, 1, classes))
    torch.testing.assert_close(points[:-1, : known.points.shape[1]], known.points)
    distance = (points[:-1] - points[-1]).square().sum(-1)
    mine = torch.arange(6) // 3 == group
    assert float(distance[mine].max()) < 0.2
    assert float(distance[~mine].min()) > 1.0  # 16 / 10 between the groups
    torch.testing.assert_close(near, 0.9 * torch.exp(-0.8 * distance))


def test_few_rows_are_not_far_from_everything() -> None:
    """Two rows: the noise of their mean is subtracted, on average."""
    known = know(2)
    distances = []
    for seed in range(40):
        points = place_task(known, FOUND, draw(SHIFT[:1], 2, seed))[1]
        distances.append((points[:3] - points[-1]).square().sum(-1).mean())
    assert float(torch.stack(distances).median()) < 0.3


def test_a_task_beyond_all_axes_gets_one_of_its_own() -> None:
    known = know(2)
    shift = torch.zeros(1, 10, dtype=torch.float64)
    shift[0, 5] = 6.0
    points = place_task(known, FOUND, draw(shift, 60, 1))[1]
    assert points.shape == (7, known.points.shape[1] + 1)
    assert bool((points[:-1, -1] == 0).all())
    assert 2.0 < float((points[:3] - points[-1]).square().sum(-1).mean()) < 4.5  # 36 / 10, shrunk a little


def test_without_positions_all_are_as_near_but_isolated_ones() -> None:
    known = know(2).replaced(isolated=torch.arange(6) == 4)
    near, points = place_task(known, EVEN, draw(SHIFT[:1], 20, 1))
    assert near.tolist() == [0.9, 0.9, 0.9, 0.9, 0.0, 0.9]
    assert points.shape[0] == 7


@pytest.mark.parametrize("hyperparameters", [FOUND, EVEN], ids=["positions", "none"])
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_without_labels_a_task_learns_from_its_group(classes: int, hyperparameters: Hyperparameters) -> None:
    known = know(classes)
    structure = structure_of(positioned(known.points, 0.9, 0.8, NOBODY))
    for group in (0, 1):
        z = draw(SHIFT[[3 * group]], 60, 2, classes).x
        weights = weights_by_resemblance(known, hyperparameters, structure, z)
        assert float(weights.sum()) == pytest.approx(1)
        assert float(weights[torch.arange(6) // 3 == group].sum()) > 0.7


def test_shifts_of_kept_means_are_those_of_the_rows() -> None:
    """The distances of what is kept are those of the fit's Gram matrix."""
    for classes in (0, 2):
        rows, known = draw(SHIFT, 60, 0, classes), know(classes).classes
        kept = known.shifts(known, rows.is_classification)
        gram = ShiftGram.of(ClassCells.of(rows), rows.x).table()
        distance = (kept.distances(kept) / known.unit()).fill_diagonal_(0)
        noise = kept.variance / kept.counts[:, 0] / known.unit()
        whole = gram + torch.diag(noise)  # the noise on the diagonal of G is what D subtracts
        expected = whole.diagonal()[:, None] + whole.diagonal() - 2 * gram - noise[:, None] - noise
        off = ~torch.eye(6, dtype=torch.bool)
        torch.testing.assert_close(distance[off], expected[off], rtol=0.05, atol=0.02)  # J spreads the noise a little
