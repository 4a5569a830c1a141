"""Labels that say nothing, with the default as users have it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss

from helpers.forms import some_in_the_short_form
from vmtl import MultiTaskClassifier


@pytest.mark.parametrize("n_tasks", [1, 5])
@pytest.mark.parametrize("seed", some_in_the_short_form((0, 1, 2), 0))
def test_labels_without_signal_are_predicted_at_their_base_rate(n_tasks: int, seed: int) -> None:
    """One in ten rows is an event, at random; columns that mean nothing cost less than 0.02 nats a row."""
    rng = np.random.default_rng(seed)
    x, task = rng.normal(size=(400, 5)), np.arange(400) % n_tasks
    y = (rng.random(400) < 0.1).astype(int)
    train = np.arange(400) < 200
    model = MultiTaskClassifier(random_state=0).fit(x[train], y[train], tasks=task[train])
    p, rate = model.predict_proba(x[~train], tasks=task[~train])[:, 1], y[train].mean()
    assert abs(p.mean() - rate) < 0.03
    assert p.max() < 0.4
    assert log_loss(y[~train], p) < log_loss(y[~train], np.full(200, rate)) + 0.02
