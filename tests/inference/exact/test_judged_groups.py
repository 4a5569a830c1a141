"""Whether tasks fall into groups is for the model to say: least squares only proposes them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.inference.exact import weight_prior
from vmtl.inference.exact.scales import ScalePosterior
from vmtl.inference.exact.weight_prior import LEAST_GROUPED, infer_prior, infer_scales_under, judge_groups
from vmtl.inference.features.kernel_selection import ASSUMED
from vmtl.inference.structure.placed_tasks import PlacedTasks
from vmtl.inference.structure.structure_posterior import infer_structure


def two_rules(classes: int, apart: bool = True, n_tasks: int = 8) -> Rows:
    """Tasks in one place; every other one has a rule of its own, or all have one."""
    generator = torch.Generator().manual_seed(0)
    task = torch.arange(n_tasks).repeat_interleave(15)
    x = torch.randn(len(task), 3, generator=generator, dtype=torch.float64)
    signal = torch.where((task % 2 == 1) & apart, x[:, 1], x[:, 0])
    y = signal + 0.3 * torch.randn(len(task), generator=generator, dtype=torch.float64)
    label = (y > 0).long() if classes else y
    return Rows(x, label, task, torch.ones(len(y)).double(), n_tasks, max(1, classes), bool(classes))


def some_groups(rows: Rows, grouped: float) -> PlacedTasks:
    """Every other task is of the second group, which is as probable as is said."""
    inferred = infer_structure(rows, "averaged", 0)
    assert isinstance(inferred, PlacedTasks)
    member = torch.ones(2, rows.n_tasks, 2).double()
    member[0, :, 1], member[1] = 0, torch.eye(2).double()[torch.arange(rows.n_tasks) % 2]
    share, gap = torch.tensor([1 - grouped, grouped]).double(), torch.tensor([0.0, 1.5]).double()
    return replace(inferred, apart=torch.zeros(2, rows.n_tasks).double(), share=share, member=member, gap=gap)


@pytest.mark.parametrize("classes", [0, 2])
@pytest.mark.parametrize("apart", [True, False], ids=["two rules", "one rule"])
def test_the_model_decides_on_groups(apart: bool, classes: int) -> None:
    """Whatever least squares said; by the evidence of both, and what the groups cost."""
    rows = two_rules(classes, apart)
    for proposed in (0.1, 0.9):
        structure = some_groups(rows, proposed)
        judged, scales = judge_groups(structure, rows, ASSUMED)
        without, within = (infer_scales_under(structure.with_grouped(p), rows, ASSUMED) for p in (0.0, 1.0))
        odds = within.log_evidence - without.log_evidence - structure.group_price(torch.arange(8))
        assert judged.grouped() == pytest.approx(1 / (1 + math.exp(-odds)))
        assert (judged.grouped() > 0.5) == apart
        assert float(scales.probability.sum()) == pytest.approx(1)
        of_groups = scales.probability[len(without.points) :]
        assert float(of_groups.sum()) == pytest.approx(judged.grouped())
        weights = judged.grouped() * within.solution().weights + (1 - judged.grouped()) * without.solution().weights
        torch.testing.assert_close(scales.solution().weights, weights)


def test_groups_are_judged_only_where_they_are_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def judge(structure: PlacedTasks, *rest: object) -> tuple[PlacedTasks, ScalePosterior]:
        asked.append(structure.grouped())
        return judge_groups(structure, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(weight_prior, "judge_groups", judge)
    for rows, expected in (
        (two_rules(2), 1),
        (two_rules(2, apart=False), 1),
        (toy([20, 12, 16], classes=2).rows(), 1),
        (toy([20, 12, 16], classes=3).rows(), 1),
    ):
        infer_prior(rows, ASSUMED, "averaged", 0)
        assert len(asked) == expected
    assert asked[0] > LEAST_GROUPED


def test_a_rare_class_is_no_group() -> None:
    """Few rows of a class at random places: what least squares makes of them is not believed."""
    for seed in range(4):
        generator = torch.Generator().manual_seed(seed)
        task = torch.arange(50).repeat_interleave(10)
        x = torch.randn(500, 6, generator=generator, dtype=torch.float64)
        y = (torch.rand(500, generator=generator) < 0.05).long()
        rows = Rows(x, y, task, torch.ones(500).double(), 50, 2, True)
        judged, _ = judge_groups(some_groups(rows, 0.9), rows, ASSUMED)
        assert judged.grouped() < 0.01


@pytest.mark.parametrize("classes", [0, 2])
def test_the_most_probable_reading_is_that_of_the_judgement(classes: int) -> None:
    rows = two_rules(classes)
    prior = infer_prior(rows, ASSUMED, "most probable", 0)
    assert len(prior.scales.points) == 1
    assert prior.belief is not None
    assert sorted(prior.belief.share.tolist())[-2:] == [0.0, 1.0]
    assert float(prior.belief.gap[prior.belief.share.argmax()]) > 0
