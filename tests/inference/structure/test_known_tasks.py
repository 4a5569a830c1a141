"""What is kept of the tasks: it comes back from a file, grows task by task, and holds means instead of rows."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from helpers.toys import toy
from vmtl.inference.structure.known_tasks import ExactEvidence, KnownTasks, StructureBelief

T, K = 3, 6
BELIEF = StructureBelief(
    torch.tensor([0.7, 0.3]).double(),
    torch.tensor([[0.0, 0.0, 0.0], [0.1, 0.5, 0.2]]).double(),
    F.one_hot(torch.tensor([[0, 0, 0], [0, 1, 1]])).double(),
    torch.tensor([0.0, 0.7]).double(),
    *torch.tensor([0.05, 0.9, 1.3, 0.05]).double(),
)
EXACT = ExactEvidence(
    torch.tensor([0.7, 0.4, 2.0, 0.3]).double(),
    torch.arange(T * (K + 1)).reshape(T, K + 1).double(),
    torch.arange(2 * T).reshape(T, 2).double(),
)


def kept(classes: int = 2) -> KnownTasks:
    known = KnownTasks.of(toy([9, 12, 7], classes=classes, features=K).rows())
    return replace(known, belief=BELIEF, exact=EXACT)


def test_the_means_of_the_rows_are_kept() -> None:
    """Of every task and class, by a loop."""
    rows = toy([9, 12, 7], classes=2, features=K).rows()
    known = KnownTasks.of(rows).classes
    for t in range(T):
        for c in range(2):
            mine = rows.x[(rows.task == t) & (rows.y == c)]
            torch.testing.assert_close(known.means[t, c], mine.mean(0))
            assert float(known.counts[t, c]) == len(mine)


def test_a_regression_keeps_the_deviation_within_tasks() -> None:
    rows = toy([9, 12, 7], features=K).rows()
    within = torch.cat([rows.y[rows.task == t] - rows.y[rows.task == t].mean() for t in range(T)])
    known = KnownTasks.of(rows)
    assert float(known.target_scale) == pytest.approx(float(within.square().mean().sqrt()))
    for t in range(T):
        torch.testing.assert_close(known.classes.means[t, 0], rows.x[rows.task == t].mean(0))


def test_what_is_kept_comes_back() -> None:
    for known in (
        kept(),
        replace(kept(0), belief=None),
        replace(kept(), exact=None),
        KnownTasks.of(toy([3, 4]).rows()),
    ):
        tensors, n_tasks = known.to_tensors(), len(known.classes.counts)
        again = KnownTasks.from_tensors(tensors, n_tasks)
        assert (again.belief is None, again.exact is None) == (known.belief is None, known.exact is None)
        assert again.to_tensors().keys() == tensors.keys()
        assert all(torch.equal(value, again.to_tensors()[name]) for name, value in tensors.items())


def test_what_is_wrong_is_refused() -> None:
    tensors = kept().to_tensors()
    for wrong, sentence in (
        ({"means": tensors["means"][:2]}, "has no means of shape"),
        ({"told": math.nan * EXACT.told}, "is not finite: told"),
        ({"errors": EXACT.errors[:, :1]}, r"has no errors of shape \(3, 1\)"),
        ({"apart": BELIEF.apart[:1]}, r"has no apart of shape \(1, 3\)"),
        ({"password": torch.ones(1)}, "has no password"),
    ):
        with pytest.raises(ValueError, match=sentence):
            KnownTasks.from_tensors(tensors | wrong, T)
    with pytest.raises(ValueError, match="no means of shape"):
        KnownTasks.from_tensors(tensors, T + 1)


@pytest.mark.parametrize("name", kept().to_tensors())
def test_a_part_is_there_whole_or_not_at_all(name: str) -> None:
    tensors = kept().to_tensors()
    del tensors[name]
    with pytest.raises(ValueError, match=f"what is kept of the tasks has no {name}$"):
        KnownTasks.from_tensors(tensors, T)


def test_a_file_of_a_version_without_groups_has_none() -> None:
    tensors = kept().to_tensors()
    del tensors["member"], tensors["gap"]
    belief = KnownTasks.from_tensors(tensors, T).belief
    assert belief is not None
    assert not belief.gap.any()
    assert torch.equal(belief.member, torch.ones(2, T, 1).double())


def test_correlations_are_the_mean_over_the_readings() -> None:
    distances = torch.tensor([0.2, 1.0, 3.0]).double()
    alone = replace(BELIEF, gap=torch.zeros(2).double())
    found = alone.append(0.7).correlations(torch.cat([distances, distances[:1]]), 0.4)
    for i, (d, *apart) in enumerate([(0.2, 0.0, 0.1), (1.0, 0.0, 0.5), (3.0, 0.0, 0.2), (0.2, 0.7, 0.7)]):
        readings = [0.9 * math.exp(-0.4 - o - 1.3 * d) for o in apart]
        assert float(found[i]) == pytest.approx(0.7 * readings[0] + 0.3 * readings[1])


#: Four tasks in three readings, of which two have groups; nobody knows for sure where the last one belongs.
GROUP = torch.tensor([[0, 0, 0, 0], [0, 1, 1, 1], [2, 0, 1, 2]])
MEMBER = F.one_hot(GROUP).double()
MEMBER[2, 3] = torch.tensor([0.1, 0.2, 0.7]).double()
GROUPED = StructureBelief(
    torch.tensor([0.2, 0.5, 0.3]).double(),
    torch.tensor([[0.0, 0.0, 0.0, 0.0], [0.1, 0.5, 0.2, 0.0], [0.0, 0.0, 0.4, 0.0]]).double(),
    MEMBER,
    torch.tensor([0.0, 0.7, 1.9]).double(),
    *torch.tensor([0.05, 0.9, 1.3, 0.05]).double(),
)


@pytest.mark.parametrize("known", [False, True], ids=["of any group", "of groups with known chances"])
def test_correlations_are_the_mean_over_the_groups_too(known: bool) -> None:
    """By a loop over readings, tasks, and groups of the newcomer and of the task."""
    chance = torch.tensor([[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.2, 0.5, 0.3]]).double() if known else None
    distances = torch.tensor([[0.2, 1.0, 3.0, 0.0], [0.0, 0.1, 0.2, 0.3]]).double()
    found = GROUPED.correlations(distances, 0.4, chance)
    assert found.shape == distances.shape
    for row in range(2):
        for i in range(4):
            expected = 0.0
            for r in range(3):
                for g, h in itertools.product(range(3), range(3)):
                    mine = sum(MEMBER[r, :, g].tolist()) / 4 if chance is None else float(chance[r, g])
                    gap = float(GROUPED.gap[r]) if g != h else 0.0
                    lost = 0.4 + float(GROUPED.apart[r, i]) + 1.3 * float(distances[row, i]) + gap
                    expected += float(GROUPED.share[r] * MEMBER[r, i, h]) * mine * 0.9 * math.exp(-lost)
            assert float(found[row, i]) == pytest.approx(expected)


def test_groups_are_counted() -> None:
    expected = torch.tensor([[4, 0, 0], [1, 3, 0], [1.1, 1.2, 1.7]]).double() / 4
    torch.testing.assert_close(GROUPED.frequencies(), expected)


def test_the_most_probable_groups_are_told() -> None:
    """Of the likeliest reading with groups, if any is likelier than none; numbered in the order of the tasks."""
    assert GROUPED.chance_grouped() == pytest.approx(0.8)
    group, probability = GROUPED.groups()
    assert group.tolist() == [0, 1, 1, 1]
    torch.testing.assert_close(probability, torch.full((4,), 0.5).double())
    group, probability = replace(GROUPED, share=torch.tensor([0.3, 0.1, 0.6]).double()).groups()
    assert group.tolist() == [0, 1, 2, 0]
    torch.testing.assert_close(probability, 0.6 * torch.tensor([1.0, 1.0, 1.0, 0.7]).double())
    group, probability = replace(GROUPED, share=torch.tensor([0.6, 0.3, 0.1]).double()).groups()
    assert group.tolist() == [0] * 4
    torch.testing.assert_close(probability, torch.full((4,), 0.6).double())


def test_readings_with_the_same_groups_add_up() -> None:
    """Whatever their names and whoever stands apart; readings without groups do not count."""
    again = torch.stack([MEMBER[0], MEMBER[1], MEMBER[1].roll(1, 1)])
    group, probability = replace(GROUPED, member=again).groups()
    assert group.tolist() == [0, 1, 1, 1]
    torch.testing.assert_close(probability, torch.full((4,), 0.8).double())


def test_one_more_task_is_of_groups_with_the_chances_that_it_has() -> None:
    chance = torch.tensor([[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.2, 0.5, 0.3]]).double()
    for asked, expected in ((None, GROUPED.frequencies()), (chance, chance)):
        longer = GROUPED.append(0.6, asked)
        assert torch.equal(longer.member[:, -1], expected)
        assert torch.equal(longer.member[:, :-1], MEMBER)
        assert torch.equal(longer.apart[:, :-1], GROUPED.apart)
        assert longer.apart[:, -1].tolist() == [0.6] * 3
        assert torch.equal(longer.gap, GROUPED.gap)
        assert longer.append(0.0).member.shape == (3, 6, 3)


def test_groups_come_back() -> None:
    known = replace(KnownTasks.of(toy([9, 12, 7, 8], classes=2, features=K).rows()), belief=GROUPED)
    tensors = known.to_tensors()
    again = KnownTasks.from_tensors(tensors, 4).belief
    assert again is not None
    assert torch.equal(again.member, MEMBER)
    assert torch.equal(again.gap, GROUPED.gap)
    near = torch.rand(4, generator=torch.Generator().manual_seed(0)).double()
    assert torch.equal(again.correlations(near), GROUPED.correlations(near))
    for wrong, sentence in (
        ({"member": MEMBER[:, :3]}, r"has no member of shape \(3, 3, 3\)"),
        ({"gap": GROUPED.gap[:2]}, r"has no gap of shape \(2,\)"),
        ({"gap": math.inf * torch.ones(3).double()}, "is not finite: gap"),
    ):
        with pytest.raises(ValueError, match=sentence):
            KnownTasks.from_tensors(tensors | wrong, 4)


def test_more_tasks_rows_and_features_leave_the_rest() -> None:
    told, errors = torch.full((K + 1,), 0.5).double(), torch.tensor([4.0, 2.0]).double()
    longer, more = EXACT.append(told, errors), EXACT.merge(1, told, errors)
    assert torch.equal(longer.told[:T], EXACT.told)
    assert torch.equal(longer.told[T], told)
    assert torch.equal(longer.errors[T], errors)
    assert torch.equal(more.told[1], EXACT.told[1] + told)
    assert torch.equal(more.errors[1], EXACT.errors[1] + errors)
    assert torch.equal(more.told[[0, 2]], EXACT.told[[0, 2]])
    assert float(EXACT.told[1, 0]) == K + 1  # itself it stays
    wider = kept().with_features(2)
    assert torch.equal(wider.classes.means[..., :K], kept().classes.means)
    assert not wider.classes.means[..., K:].any()
    assert wider.exact is not None
    assert torch.equal(wider.exact.told[:, :K], EXACT.told[:, :K])
    assert not wider.exact.told[:, K:-1].any()
    assert torch.equal(wider.exact.told[:, -1], EXACT.told[:, -1])  # the last is that of the constant
