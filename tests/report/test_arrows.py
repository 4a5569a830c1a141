"""Mixing weights as arrows, and the control beside them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers.report_models import UNEVEN, Case
from vmtl.report import arrows, even_weight, fit_control


def test_arrows_are_the_weights_largest_first() -> None:
    weights = pd.DataFrame([[0, 0.8, 0.2], [0.4, 0, 0.6], [0.5, 0.5, 0]], index=list("abc"), columns=list("abc"))
    ranked = arrows(weights)
    assert str(ranked[0]) == "a learns from b 0.80"
    assert [arrow.weight for arrow in ranked] == [0.8, 0.6, 0.5, 0.5, 0.4, 0.2]
    assert arrows(weights * 0) == []
    assert even_weight(3) == 0.5


def test_what_hardly_arrives_comes_last() -> None:
    """A task that ignores everybody has weights like any other."""
    weights = pd.DataFrame([[0, 0.8, 0.2], [0.4, 0, 0.6], [0.5, 0.5, 0]], index=list("abc"), columns=list("abc"))
    ranked = arrows(weights, sharing=np.array([0.1, 1.0, 0.9]))
    assert [f"{arrow.learner}{arrow.teacher}" for arrow in ranked] == ["bc", "ca", "cb", "ba", "ab", "ac"]
    assert [arrow.strength for arrow in ranked] == pytest.approx([0.6, 0.45, 0.45, 0.4, 0.08, 0.02])
    assert str(ranked[-2]) == "a learns from b 0.80"


def test_the_control_refits_with_tasks_that_mean_nothing(class_case: Case) -> None:
    train, count = class_case.train, []
    control = fit_control(class_case.model, train.X, train.y, train.tasks, repeats=2, done=lambda: count.append(1))
    assert len(count) == 4
    for weights in (control.shuffled, control.unrelated):
        assert weights.shape == (2, 3, 3)
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    assert control.noise == control.shuffled.max()


def test_an_arrow_names_its_interval() -> None:
    weights, low, high = (
        pd.DataFrame(scale * UNEVEN, index=list("abc"), columns=list("abc")) for scale in (1, 0.5, 1.1)
    )
    assert str(arrows(weights, (low, high))[0]) == "a learns from b 0.90 [0.45, 0.99]"
