"""Training rows and the batches drawn from them."""

import torch

from helpers.toys import toy
from vmtl._utils.noise import Noise
from vmtl.paper.training.batches import FullBatch, GroupedBatches

CPU = torch.device("cpu")


def test_a_full_batch_has_every_row_once_and_padding_weighs_nothing() -> None:
    problem = toy([3, 7, 5], classes=3)
    rows = problem.rows()
    batch = FullBatch(rows).draw(Noise(0, CPU, torch.float64))
    assert batch.x.shape == (3, 7, 6)
    torch.testing.assert_close(batch.weight.sum(-1), torch.ones(3, dtype=torch.float64))
    assert (batch.weight > 0).sum(-1).tolist() == [3, 7, 5]
    for t in range(3):
        own = batch.index[t][batch.weight[t] > 0]
        assert sorted(own.tolist()) == [i for i, task in enumerate(problem.task) if task == t]
    assert torch.equal(batch.x, rows.x[batch.index])
    means = batch.mean(batch.x[..., 0])
    torch.testing.assert_close(means, torch.stack([rows.x[rows.task == t, 0].mean() for t in range(3)]))


def test_weights_count_as_rows() -> None:
    rows = toy([4, 4], classes=2).rows(weight=[1, 2, 3, 0, 1, 1, 1, 1])
    assert rows.task_weight.tolist() == [6, 4]
    torch.testing.assert_close(rows.batch(*rows.by_task).weight[0] * 6, torch.tensor([1.0, 2, 3, 0]).double())


def test_a_class_without_weight_is_not_seen() -> None:
    rows = toy([4, 4], classes=2).rows(weight=[1, 0, 1, 0, 1, 1, 1, 1])
    assert rows.class_mask.tolist() == [[True, False], [True, True]]


def test_balanced_batches_repeat_only_small_classes() -> None:
    problem = toy([20, 5], classes=3, missing=[(1, 2)])
    rows = problem.rows()
    sampler, noise = GroupedBatches(rows, 4), Noise(0, CPU, torch.float64)
    seen = set()
    for _ in range(30):
        batch = sampler.draw(noise)
        assert batch.index.shape == (2, 12)
        for t in range(2):
            own = batch.index[t][batch.weight[t] > 0]
            assert (rows.task[own] == t).all()
            for c in range(3):
                members = own[rows.y[own] == c].tolist()
                available = int(((rows.task == t) & (rows.y == c)).sum())
                assert len(members) == (4 if available else 0)
                assert len(set(members)) == min(4, available)
            seen.update(own.tolist())
    assert seen == set(range(25))


def test_regression_batches_are_uniform_over_the_rows() -> None:
    rows = toy([12, 6]).rows()
    sampler, noise = GroupedBatches(rows, 3), Noise(0, CPU, torch.float64)
    counts = torch.zeros(18)
    for _ in range(600):
        counts += torch.bincount(sampler.draw(noise).index.flatten(), minlength=18)
    torch.testing.assert_close(counts[:12] / 600, torch.full((12,), 0.25), atol=0.07, rtol=0)
    torch.testing.assert_close(counts[12:] / 600, torch.full((6,), 0.5), atol=0.07, rtol=0)


def test_padding_repeats_a_row_that_counts() -> None:
    """A row of another task may have a class that this one never saw, with an infinite loss that 0 cannot hide."""
    rows = toy([4, 12], classes=4, missing=[(0, 2)]).rows(weight=[0, *[1.0] * 15])
    noise = Noise(0, CPU, torch.float64)
    for batch in (FullBatch(rows).draw(noise), GroupedBatches(rows, 5).draw(noise)):
        assert (rows.task[batch.index] == torch.arange(2)[:, None]).all()
        assert rows.class_mask[rows.task[batch.index], batch.y].all()
        assert (rows.weight[batch.index] > 0).all()
