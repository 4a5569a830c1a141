"""Where a further task lies: on the places of known ones, beyond them, and by whom it is predicted without labels."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.inference.structure.covariance import DenseCovariance
from vmtl.inference.structure.known_tasks import KnownTasks, StructureBelief
from vmtl.inference.structure.mixing_weights import structure_of
from vmtl.inference.structure.newcomer import (
    Surroundings,
    distances_of,
    groups_by_place,
    resembling_weights,
    separation_belief,
)
from vmtl.inference.structure.positions.class_means import ClassCells, ClassMeans
from vmtl.inference.structure.positions.task_positions import ShiftGram, infer_positions
from vmtl.inference.structure.readings.partition_prior import THETA
from vmtl.inference.structure.structure_posterior import PlacedTasks

BELIEF = StructureBelief(
    torch.tensor([0.7, 0.3]).double(),
    torch.zeros(2, 6).double(),
    torch.ones(2, 6, 1).double(),
    torch.zeros(2).double(),
    *torch.tensor([0.05, 0.9, 1.0, 0.05]).double(),
)


def draw(shift: Tensor, n: int, seed: int, classes: int = 2) -> Rows:
    """Tasks with ``n`` rows each about ``shift`` (T, K), of classes that lie apart on the first axis."""
    generator = torch.Generator().manual_seed(seed)
    task = torch.arange(len(shift)).repeat_interleave(n)
    y = torch.randint(classes, (len(task),), generator=generator)
    x = torch.randn(len(task), shift.shape[1], generator=generator, dtype=torch.float64) + shift[task]
    x[:, 0] += 2.0 * y
    return Rows(x, y, task, torch.ones(len(task), dtype=torch.float64), len(shift), classes, True)


SHIFT = torch.zeros(6, 10, dtype=torch.float64)
SHIFT[3:, 1] = 4.0  # two groups of three


@pytest.fixture(scope="module")
def around() -> tuple[KnownTasks, Tensor]:
    rows = draw(SHIFT, 60, 0)
    return KnownTasks.of(rows), infer_positions(rows, 0).points


@pytest.mark.parametrize("group", [0, 1])
def test_a_task_lies_with_its_group(around: tuple[KnownTasks, Tensor], group: int) -> None:
    known, points = around
    new = known.class_means(draw(SHIFT[[3 * group]], 60, 1))
    placed = Surroundings(known.classes, points, 0.1, known.classes.unit()).place(new)
    torch.testing.assert_close(placed[:-1, : points.shape[1]], points)
    distance = distances_of(placed)[-1, :-1]
    mine = torch.arange(6) // 3 == group
    assert float(distance[mine].max()) < 0.15
    assert float(distance[~mine].min()) > 1.0  # 16 / 10 between the groups


def test_few_rows_are_not_far_from_everything(around: tuple[KnownTasks, Tensor]) -> None:
    """Two rows: the noise of their mean is subtracted, on average."""
    known, points = around
    places = Surroundings(known.classes, points, 0.1, known.classes.unit())
    distances = [distances_of(places.place(known.class_means(draw(SHIFT[:1], 2, s))))[-1, :3].mean() for s in range(40)]
    assert float(torch.stack(distances).median()) < 0.25


def test_a_task_beyond_all_axes_gets_one_of_its_own(around: tuple[KnownTasks, Tensor]) -> None:
    known, points = around
    shift = torch.zeros(1, 10, dtype=torch.float64)
    shift[0, 5] = 6.0
    placed = Surroundings(known.classes, points, 0.1, known.classes.unit()).place(known.class_means(draw(shift, 60, 1)))
    assert placed.shape == (7, points.shape[1] + 1)
    assert bool((placed[:-1, -1] == 0).all())
    assert 2.0 < float(distances_of(placed)[-1, :3].mean()) < 4.5  # 36 / 10, some of it along axes that shrink it


def test_without_labels_a_task_learns_from_its_group(around: tuple[KnownTasks, Tensor]) -> None:
    known, points = around
    for group in (0, 1):
        rows = draw(SHIFT[[3 * group]], 60, 2)
        mean = rows.x.mean(0)[None, None]
        variance = (rows.x - rows.x.mean(0)).square().sum(-1).mean()[None]
        new = ClassMeans(mean, torch.tensor([[60.0]]).double(), variance)
        distances = distances_of(points)
        matrix = torch.where(torch.eye(6, dtype=torch.bool), 1.0, BELIEF.correlations(distances))
        structure = replace(structure_of(DenseCovariance(matrix)), positions=points)
        for with_belief in (False, True):
            kept = KnownTasks(known.classes, known.target_scale, BELIEF if with_belief else None)
            weights = resembling_weights(kept, structure, new, is_classification=True)
            assert float(weights.sum()) == pytest.approx(1)
            assert float(weights[torch.arange(6) // 3 == group].sum()) > (0.9 if with_belief else 0.7)


@pytest.mark.parametrize("soft", [False, True])
def test_groups_by_place_are_those_of_gaussians(soft: bool) -> None:
    """Beside torch.distributions, group by group; an empty group is nobody's."""
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(8, 2, generator=generator, dtype=torch.float64)
    member = torch.nn.functional.one_hot(torch.tensor([[0, 0, 1, 1, 1, 2, 0], [0] * 7]), 4).double()
    if soft:
        member[0, 2] = torch.tensor([0.2, 0.8, 0.0, 0.0])
    found = groups_by_place(member, points)
    known, last = points[:-1], points[-1]
    weights = []
    middles = [(member[0, :, g, None] * known).sum(0) / member[0, :, g].sum() for g in range(3)]
    within = sum(float((member[0, :, g] * (known - middles[g]).square().sum(1)).sum()) for g in range(3))
    variance = (within + float((known - known.mean(0)).square().sum()) / 7) / (2 * (7 - 3 + 1))
    for g in range(3):
        n = float(member[0, :, g].sum())
        normal = torch.distributions.Normal(middles[g], (variance * (1 + 1 / n)) ** 0.5)
        weights.append(n * float(normal.log_prob(last).sum().exp()))
    torch.testing.assert_close(found[0], torch.tensor([*weights, 0.0]).double() / sum(weights))
    torch.testing.assert_close(found[1], torch.tensor([1.0, 0, 0, 0]).double())


@pytest.mark.parametrize("chance", [0.0, 0.4])
def test_before_its_targets_a_newcomer_stands_apart_as_others_or_as_a_group(chance: float) -> None:
    tried = torch.tensor([0.0, 0.03, 0.1, 0.3, 1.0, 3.0]).double()
    apart = torch.tensor([[0.0] * 6, [0.2] * 6]).double()
    known = replace(BELIEF, apart=apart, share=torch.tensor([1 - chance, chance]).double())
    found, own = separation_belief(known, tried), THETA / (6 + THETA)
    assert float(found.sum()) == pytest.approx(1)
    unit, log_gap = float(known.unit), torch.distributions.Normal(0.0, 1.0)
    for number, (low, high) in enumerate(pairwise([0.0, 0.015, 0.065, 0.2, 0.65, 2.0, math.inf])):
        cauchy = 2 / math.pi * (math.atan(high / unit) - math.atan(low / unit))
        as_group = float(log_gap.cdf(torch.tensor(high).log()) - log_gap.cdf(torch.tensor(low).log()))
        nobody = 1 - chance if number == 0 else 0.0
        expected = (1 - own) * (chance * cauchy + nobody) + own * as_group
        assert float(found[number]) == pytest.approx(expected, abs=1e-6)


def test_groups_in_one_place_are_as_likely_as_they_are_frequent() -> None:
    member = torch.nn.functional.one_hot(torch.tensor([[0, 0, 0, 0, 1, 1]]), 2).double()
    nowhere, together = torch.zeros(7, 0).double(), torch.zeros(7, 1).double()
    for points in (nowhere, together):
        found = groups_by_place(member, points)
        assert found[0].tolist() == pytest.approx([2 / 3, 1 / 3], abs=0.07)
    assert groups_by_place(member, nowhere)[0].tolist() == pytest.approx([2 / 3, 1 / 3])


@dataclass(frozen=True)
class FixedSharing:
    strength: float = 0.8
    decay: float = 0.7

    def draw_sharing(self, draws: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        raise NotImplementedError


def test_the_correlations_of_a_task_are_its_row_of_the_covariance_of_all() -> None:
    """What is kept of five of six tasks gives the sixth row of B, where the sixth stands apart by the same."""
    rows = draw(SHIFT, 60, 0)
    positions = infer_positions(rows, 0)
    apart = torch.tensor([[0.0] * 6, [0.1, 0.5, 0.0, 0.3, 0.0, 0.0]], dtype=torch.float64)
    tasks = PlacedTasks(positions, apart, torch.tensor([0.4, 0.6]).double(), torch.arange(6), unit=0.2)
    belief = tasks.belief(FixedSharing())
    assert float(belief.unit) == 0.2
    first = replace(belief, apart=apart[:, :5], member=belief.member[:, :5])
    table = tasks.at(0.8, 0.7).between(torch.arange(6))
    torch.testing.assert_close(first.correlations(positions.distances()[5, :5]), table[5, :5])
    torch.testing.assert_close(first.correlations(positions.distances()[5, :5], 0.3), math.exp(-0.3) * table[5, :5])


def test_shifts_of_kept_means_are_those_of_the_rows() -> None:
    """Many tasks lie by their shifts alone: the distances of what is kept are those of the fit's Gram matrix."""
    classes = draw(SHIFT, 60, 0)
    real = replace(classes, y=classes.x[:, 2] + classes.x[:, 0], n_classes=1, is_classification=False)
    for rows in (classes, real):
        cells, known = ClassCells.of(rows), KnownTasks.of(rows).classes
        kept = known.shifts(known, rows.is_classification)
        gram = ShiftGram.of(cells, rows.x).table()
        distance = (kept.distances(kept) / known.unit()).fill_diagonal_(0)
        noise = kept.variance / kept.counts[:, 0] / known.unit()
        whole = gram + torch.diag(noise)  # the noise on the diagonal of G is what D subtracts
        expected = whole.diagonal()[:, None] + whole.diagonal() - 2 * gram - noise[:, None] - noise
        off = ~torch.eye(6, dtype=torch.bool)
        torch.testing.assert_close(distance[off], expected[off], rtol=0.05, atol=0.02)  # J spreads the noise a little


def test_means_without_classes_are_those_of_all_rows(around: tuple[KnownTasks, Tensor]) -> None:
    rows = draw(SHIFT, 60, 0)
    plain = around[0].classes.without_classes(is_classification=True)
    for t in range(6):
        x = rows.x[rows.task == t]
        torch.testing.assert_close(plain.means[t, 0], x.mean(0))
        assert float(plain.variance[t]) == pytest.approx(float((x - x.mean(0)).square().sum(-1).mean()), rel=0.1)


def test_more_rows_of_a_task_move_its_means_as_all_rows_would() -> None:
    rows = draw(SHIFT, 60, 0)
    first = torch.arange(len(rows.y)) % 60 < 40
    later = ~first & (rows.task == 2)
    known = KnownTasks.of(rows.take((first | (rows.task != 2)).nonzero().flatten()))
    more = rows.take(later.nonzero().flatten())
    more = Rows(more.x, more.y, torch.zeros_like(more.task), more.weight, 1, 2, True)
    merged, whole = known.classes.merge(2, known.class_means(more)), KnownTasks.of(rows).classes
    torch.testing.assert_close(merged.means, whole.means)
    torch.testing.assert_close(merged.counts, whole.counts)
    torch.testing.assert_close(merged.variance, whole.variance, rtol=0.1, atol=0)
