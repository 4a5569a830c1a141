"""The search: the lattice, isolated tasks, and averages over what it leaves probable."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.gp.hyperparameter_search import HyperparameterPosterior, HyperparameterSearch, Relatedness
from vmtl.gp.latent_prior import Gram, LatentPrior
from vmtl.gp.likelihoods import Evaluation, likelihood_of
from vmtl.gp.positions.task_positions import TaskPositions
from vmtl.gp.priors import (
    STEP,
    TARGETS,
    TWO_CLASSES,
    Place,
    log_prior,
    log_prior_isolated,
    prior_of,
    values_at,
)


class Hill:
    """A likelihood with one peak in log s, at rest elsewhere; every row has the same part in it."""

    def __init__(self, peak: float, sharpness: float = 3.0) -> None:
        self.peak, self.sharpness, self.calls = peak, sharpness, 0

    def evaluate(self, prior: LatentPrior) -> Evaluation:
        self.calls += 1
        score = -self.sharpness * (math.log(prior.scale) - self.peak) ** 2
        nothing = torch.zeros(4, 1, dtype=torch.float64)
        return Evaluation(
            score, torch.full((4,), score / 4, dtype=torch.float64), nothing, prior, nothing + prior.scale
        )

    def offset_of_absent_classes(self, prior: LatentPrior) -> float:
        return 0.0


def search_with(likelihood: Hill, n_tasks: int = 2, relatedness: Relatedness = "learned") -> HyperparameterSearch:
    task = torch.arange(4) % n_tasks
    return HyperparameterSearch(likelihood, TWO_CLASSES, relatedness, TaskPositions.nowhere(n_tasks), task)


def labelled(slopes: Tensor, n: int, seed: int = 0, noise: float = 0.5) -> Rows:
    """Two classes that follow each task's slopes (T, K), with about balanced labels."""
    generator = torch.Generator().manual_seed(seed)
    task = torch.arange(len(slopes)).repeat_interleave(n)
    x = torch.randn(len(task), slopes.shape[1], generator=generator, dtype=torch.float64)
    f = (slopes[task] * x).sum(-1) + noise * torch.randn(len(task), generator=generator, dtype=torch.float64)
    return Rows(x, (f > 0).long(), task, torch.ones(len(task), dtype=torch.float64), len(slopes), 2, True)


def search_of(rows: Rows, relatedness: Relatedness = "learned") -> HyperparameterSearch:
    likelihood = likelihood_of(Gram.of(rows), 0)
    positions = TaskPositions.nowhere(rows.n_tasks)
    return HyperparameterSearch(likelihood, prior_of(rows), relatedness, positions, rows.task)


@pytest.mark.parametrize("begin", [0.05, 1.0, 40.0])
def test_the_climb_ends_on_the_best_point_of_the_lattice(begin: float) -> None:
    likelihood = Hill(1.3)
    found = search_with(likelihood).run(begin)
    joint = {
        i: -3 * (values_at(Place(i, 0, 0, 0), TWO_CLASSES).scale - 1.3) ** 2 + log_prior(Place(i, 0, 0, 0), TWO_CLASSES)
        for i in range(-12, 13)
    }
    best = max(joint, key=joint.__getitem__)
    assert found.best.place == (best, 0, 0, 0)
    assert found.best.log_joint == pytest.approx(joint[best])
    assert likelihood.calls < 40  # what was evaluated once is kept


def test_where_rows_say_nothing_the_prior_does() -> None:
    found = search_with(Hill(0.0, sharpness=0.0)).run(100.0)
    assert found.best.place == (0, 0, 0, 0)


def test_the_density_of_a_place_is_that_of_the_normal_prior() -> None:
    for prior in (TWO_CLASSES, TARGETS):
        place = Place(2, -1, 3, 0)
        normal = torch.distributions.Normal(torch.tensor(prior.centre), torch.tensor(prior.deviation))
        there, centre = (
            normal.log_prob(torch.tensor(values)).sum() for values in (values_at(place, prior), prior.centre)
        )
        assert log_prior(place, prior) == pytest.approx(float(there - centre), abs=1e-5)
        assert values_at(place, prior).scale == pytest.approx(prior.centre.scale + 2 * STEP.scale)


@pytest.mark.parametrize("n_tasks", [3, 20])
def test_the_odds_of_isolation_are_those_of_its_probability(n_tasks: int) -> None:
    p = 1 / (n_tasks + 1)
    assert log_prior_isolated(n_tasks) == pytest.approx(math.log(p / (1 - p)))


def test_averages_are_over_the_points_by_their_probability() -> None:
    search = search_with(Hill(0.0))
    points = [search.evaluate(Place(i, 0, j, 0), search.nobody) for i in (0, 1) for j in (0, 2)]
    found = HyperparameterPosterior.of(points, TWO_CLASSES)
    p = torch.tensor([point.log_joint for point in points], dtype=torch.float64).softmax(0)
    torch.testing.assert_close(found.probability, p)
    strength = [1 / (1 + math.exp(-values_at(point.place, TWO_CLASSES).strength)) for point in points]
    expected = math.exp(sum(float(p[i]) * math.log(strength[i]) for i in range(4)))
    assert found.strength == pytest.approx(expected)
    scales = torch.tensor([point.evaluation.prior.scale for point in points], dtype=torch.float64)
    torch.testing.assert_close(found.average(lambda e: e.dual), (p @ scales).expand(4, 1))
    draws = found.draw_sharing(4000, torch.Generator().manual_seed(0))[0]
    for m in set(strength):
        share = sum(float(p[i]) for i in range(4) if strength[i] == m)
        assert float((draws - m).abs().lt(1e-9).double().mean()) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize(
    ("relatedness", "n_tasks", "free"),
    [
        ("learned", 3, (True, True, True, False)),
        ("even", 3, (True, True, True, False)),
        ("none", 3, (True, True, False, False)),
        ("pooled", 3, (True, False, False, False)),
        ("learned", 1, (True, False, False, False)),
    ],
)
def test_what_tasks_may_share_decides_what_is_searched(
    relatedness: Relatedness, n_tasks: int, free: tuple[bool, ...]
) -> None:
    search = search_with(Hill(0.0), n_tasks, relatedness)
    assert search.free == free
    matrix = search.covariance(0.3, 1.0, search.nobody).between(torch.arange(n_tasks))
    off = {"none": 0.0, "pooled": 1.0}.get(relatedness, 0.3)
    torch.testing.assert_close(matrix, torch.full_like(matrix, off).fill_diagonal_(1.0))
    assert all(point.place[i] == 0 for point in search.run(1.0).points for i in range(4) if not free[i])


def test_positions_are_searched_where_tasks_have_some() -> None:
    points = torch.tensor([[0.0], [1.0], [5.0]], dtype=torch.float64)
    positions = TaskPositions(points, torch.zeros(1, 3, 3, dtype=torch.float64))
    search = HyperparameterSearch(Hill(0.0), TWO_CLASSES, "learned", positions, torch.arange(4) % 3)
    assert search.free.decay
    matrix = search.covariance(0.8, 0.1, search.nobody).between(torch.arange(3))
    assert float(matrix[0, 2]) == pytest.approx(0.8 * math.exp(-2.5))


ALIKE = torch.tensor([[2.0, 0.0, 1.0, 0.0]], dtype=torch.float64).expand(6, 4)


def numbers(slopes: Tensor, n: int, noise: float = 0.3) -> Rows:
    """The same with targets that follow the slopes."""
    rows, generator = labelled(slopes, n), torch.Generator().manual_seed(1)
    y = (slopes[rows.task] * rows.x).sum(-1) + noise * torch.randn(len(rows.y), generator=generator).double()
    return replace(rows, y=y, n_classes=1, is_classification=False)


def test_tasks_with_one_rule_share_more_than_tasks_at_random() -> None:
    """Random rules leave the prior as it is: what tasks have in common is then found to be small by itself."""
    generator = torch.Generator().manual_seed(5)
    random = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    same, apart = (search_of(numbers(slopes, 40)).run(1.0) for slopes in (ALIKE, random))
    prior = 1 / (1 + math.exp(-TARGETS.centre.strength))
    assert same.strength > 0.97 > prior + 0.03 > apart.strength
    assert not bool(same.best.isolated.any())
    assert same.noise == pytest.approx(0.3, rel=0.15)
    assert apart.noise == pytest.approx(0.3, rel=0.15)
    alone = search_of(numbers(random, 40), "none").run(1.0)
    assert apart.best.evaluation.log_score > alone.best.evaluation.log_score - 3


def test_labels_at_random_keep_the_prior_and_isolate_nobody() -> None:
    rows = labelled(ALIKE, 15)
    rows = replace(rows, y=torch.randint(2, (90,), generator=torch.Generator().manual_seed(3)))
    found = search_of(rows).run(1.0)
    assert not bool(found.best.isolated.any())
    assert found.best.evaluation.log_score / 90 > -0.73  # chance is -.693
    assert found.best.evaluation.prior.scale < 1


def test_a_flipped_task_is_isolated_and_shares_nothing() -> None:
    slopes = ALIKE.clone()
    slopes[2] *= -1
    search = search_of(labelled(slopes, 40))
    found = search.run(1.0)
    assert found.best.isolated.tolist() == [t == 2 for t in range(6)]
    assert all(torch.equal(point.isolated, found.best.isolated) for point in found.points)
    kept = search.covariance(found.strength, found.decay, found.best.isolated).between(torch.arange(6))
    assert kept[2].tolist() == [float(t == 2) for t in range(6)]
    assert found.strength > 0.8


def test_isolation_costs_its_prior() -> None:
    search = search_of(labelled(ALIKE, 20))
    place = Place(0, 0, 0, 0)
    one = torch.arange(6) == 1
    apart, together = search.evaluate(place, one), search.evaluate(place, search.nobody)
    assert apart.log_joint == pytest.approx(apart.evaluation.log_score - math.log(6))
    assert together.log_joint == pytest.approx(together.evaluation.log_score)
