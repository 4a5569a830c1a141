"""Training rows: as they are, without duplicates, and held out, as columns and as features."""

from __future__ import annotations

import torch

from helpers.toys import toy
from vmtl.inference.features.feature_map import ScaledMap
from vmtl.inference.training_data import TrainingData

ROWS = toy([5, 6], classes=2).rows()


def test_duplicates_are_merged_and_nothing_else_changes():
    twice = ROWS.take(torch.tensor([*range(11), 3, 3]))
    data = TrainingData.of(twice)
    assert data.rows is twice
    assert len(data.distinct.y) == 11
    assert data.distinct.weight[3] == 3
    assert data.held_out is None


def test_all_rows_go_through_the_map():
    data = TrainingData.of(ROWS, held_out=ROWS.take(torch.tensor([0, 7])))
    feature_map = ScaledMap.fitted(ROWS.x, ROWS.weight).double()
    features = data.through(feature_map)
    for name in ("rows", "distinct", "held_out"):
        before, after = getattr(data, name), getattr(features, name)
        torch.testing.assert_close(after.x, feature_map(before.x[None])[0])
        assert torch.equal(after.y, before.y)
    assert TrainingData.of(ROWS).through(feature_map).held_out is None
