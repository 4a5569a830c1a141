"""Which reading of the tasks is right is for the model to say: least squares only proposes them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.inference.exact import weight_prior
from vmtl.inference.exact.scales import ScalePosterior, ScaleSearch, infer_scales
from vmtl.inference.exact.weight_prior import first_scale, infer_prior, judge_readings
from vmtl.inference.features.kernel_selection import ASSUMED
from vmtl.inference.structure.placed_tasks import PlacedTasks
from vmtl.inference.structure.positions.task_positions import TaskPositions
from vmtl.inference.structure.readings.partition_prior import log_partition_prior

N_TASKS = 8
ALIKE, EVERY_OTHER, LAST = torch.zeros(N_TASKS).long(), torch.arange(N_TASKS) % 2, torch.arange(N_TASKS) // 7
KINDS = pytest.mark.parametrize("classes", [0, 2, 3])


def tasks_by_rule(rule: torch.Tensor, classes: int, seed: int = 0, rows_each: int = 15) -> Rows:
    """Tasks in one place; the first column decides where the rule is 0, minus it and the second where it is 1."""
    generator = torch.Generator().manual_seed(seed)
    task = torch.arange(len(rule)).repeat_interleave(rows_each)
    x = torch.randn(len(task), 3, generator=generator, dtype=torch.float64)
    signal = torch.where(rule[task] == 1, x[:, 1] - x[:, 0], x[:, 0])
    y = signal + 0.3 * torch.randn(len(task), generator=generator, dtype=torch.float64)
    label = torch.bucketize(y, torch.linspace(-0.5, 0.5, classes - 1).double() if classes > 2 else y.new_zeros(1))
    weight = torch.ones(len(y), dtype=torch.float64)
    return Rows(x, label if classes else y, task, weight, len(rule), max(1, classes), bool(classes))


def in_groups(rows: Rows, group: torch.Tensor, grouped: float) -> PlacedTasks:
    """Tasks in one place, or in the groups (T,), which are as probable as is said."""
    n_tasks = rows.n_tasks
    positions = TaskPositions(torch.zeros(n_tasks, 0).double(), torch.zeros(2, n_tasks, n_tasks).double())
    member = torch.stack([F.one_hot(torch.zeros_like(group), 2), F.one_hot(group, 2)]).double()
    share, gap = torch.tensor([1 - grouped, grouped]).double(), torch.tensor([0.0, 1.5]).double()
    nobody = torch.zeros(2, n_tasks).double()
    turns, price = torch.arange(n_tasks), torch.zeros(2).double()
    return PlacedTasks(positions, nobody, share, turns, member=member, gap=gap, price=price)


@KINDS
@pytest.mark.parametrize("truth", [ALIKE, EVERY_OTHER, LAST], ids=["one rule", "two rules", "one task against all"])
def test_the_model_decides(truth: torch.Tensor, classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever least squares said; by the evidence under each reading, and what it costs."""
    monkeypatch.setattr(weight_prior, "HOPELESS", torch.inf)
    rows = tasks_by_rule(truth, classes)
    group = truth if bool(truth.any()) else EVERY_OTHER
    for proposed in (0.1, 0.9):
        structure = in_groups(rows, group, proposed)
        judged, scales = judge_readings(structure, rows, ASSUMED)
        assert isinstance(judged, PlacedTasks)
        start = first_scale(rows, ASSUMED)
        without, within = (
            infer_scales(rows, replace(structure, share=share), ASSUMED.feature_scale, start)
            for share in torch.eye(2).double()
        )
        price = -float(log_partition_prior(F.one_hot(group).double()))
        odds = torch.tensor(within.log_evidence - without.log_evidence - price, dtype=torch.float64)
        grouped = float(judged.share[1])
        assert grouped == pytest.approx(float(odds.sigmoid()), abs=0.05)  # searches that begin elsewhere end near by
        assert (grouped > 0.5) == bool(truth.any())
        assert float(scales.probability.sum()) == pytest.approx(1)
        weights = grouped * within.solution().weights + (1 - grouped) * without.solution().weights
        torch.testing.assert_close(scales.solution().weights, weights, atol=0.05, rtol=0.05)


@KINDS
def test_what_a_reading_costs_is_subtracted(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_prior, "HOPELESS", torch.inf)
    rows = tasks_by_rule(EVERY_OTHER, classes, rows_each=5)
    cheap, dear = (
        judge_readings(replace(in_groups(rows, EVERY_OTHER, 0.5), price=torch.tensor([0.0, o]).double()), rows, ASSUMED)
        for o in (0.0, 1.5)
    )
    odds = []
    for judged, _ in (cheap, dear):
        assert isinstance(judged, PlacedTasks)
        odds.append(float((judged.share[1] / judged.share[0]).log()))
    assert odds[0] - odds[1] == pytest.approx(1.5, abs=0.1)  # searches may begin elsewhere


@KINDS
def test_a_hopeless_reading_is_not_looked_at_closely(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, looked_at = tasks_by_rule(EVERY_OTHER, classes, rows_each=25), []

    def posterior(search: ScaleSearch, begin: object) -> ScalePosterior:
        looked_at.append(search.structure)
        return inner(search, begin)  # type: ignore[arg-type]

    inner = ScaleSearch.posterior
    monkeypatch.setattr(ScaleSearch, "posterior", posterior)
    judged, _ = judge_readings(in_groups(rows, EVERY_OTHER, 0.5), rows, ASSUMED)
    assert isinstance(judged, PlacedTasks)
    assert judged.share.tolist() == [0.0, 1.0]
    assert [one.share.tolist() for one in looked_at if isinstance(one, PlacedTasks)] == [[0.0, 1.0]]


def test_only_what_is_proposed_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[int] = []
    inner = PlacedTasks.readings

    def readings(structure: PlacedTasks, tasks: torch.Tensor) -> list[tuple[PlacedTasks, float]]:
        judged.append(len(inner(structure, tasks)))
        return inner(structure, tasks)

    monkeypatch.setattr(PlacedTasks, "readings", readings)
    infer_prior(tasks_by_rule(EVERY_OTHER, 2), ASSUMED, "averaged", 0)
    assert judged[0] > 1
    infer_prior(toy([20, 12], classes=2).rows(), ASSUMED, "averaged", 0)
    infer_prior(tasks_by_rule(EVERY_OTHER, 2), ASSUMED, "uniform", 0)
    assert len(judged) == 1  # two tasks, and tasks that are told to be alike, have nothing to read


def test_a_rare_class_is_no_group() -> None:
    """Few rows of a class at random places: what least squares makes of them is not believed."""
    for seed in range(4):
        generator = torch.Generator().manual_seed(seed)
        task = torch.arange(50).repeat_interleave(10)
        x = torch.randn(500, 6, generator=generator, dtype=torch.float64)
        y = (torch.rand(500, generator=generator) < 0.05).long()
        rows = Rows(x, y, task, torch.ones(500).double(), 50, 2, True)
        judged, _ = judge_readings(in_groups(rows, torch.arange(50) % 2, 0.9), rows, ASSUMED)
        assert isinstance(judged, PlacedTasks)
        assert float(judged.share[1]) < 0.01


@pytest.mark.parametrize("classes", [0, 2])
def test_the_most_probable_reading_is_that_of_the_judgement(classes: int) -> None:
    prior = infer_prior(tasks_by_rule(EVERY_OTHER, classes), ASSUMED, "most probable", 0)
    assert len(prior.scales.points) == 1
    assert prior.belief is not None
    assert sorted(prior.belief.share.tolist())[-2:] == [0.0, 1.0]
    assert float(prior.belief.gap[prior.belief.share.argmax()]) > 0
