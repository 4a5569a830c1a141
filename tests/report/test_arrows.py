"""Mixing weights as arrows, and the control beside them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers.report_models import EVEN, UNEVEN, Case
from vmtl.report import Control, arrows, clear_arrows, even_weight, fit_control


def test_arrows_are_the_weights_largest_first() -> None:
    weights = pd.DataFrame([[0, 0.8, 0.2], [0.4, 0, 0.6], [0.5, 0.5, 0]], index=list("abc"), columns=list("abc"))
    found = arrows(weights)
    assert str(found[0]) == "a learns from b 0.80"
    assert [arrow.weight for arrow in found] == [0.8, 0.6, 0.5, 0.5, 0.4, 0.2]
    assert arrows(weights * 0) == []
    assert even_weight(3) == 0.5


def test_the_control_refits_with_tasks_that_mean_nothing(class_case: Case) -> None:
    train, count = class_case.train, []
    control = fit_control(class_case.model, train.X, train.y, train.tasks, repeats=2, done=lambda: count.append(1))
    assert len(count) == 4
    for weights in (control.shuffled, control.unrelated):
        assert weights.shape == (2, 3, 3)
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    assert control.noise == control.shuffled.max()


def test_an_arrow_is_clear_beyond_the_control_or_where_weights_are_not_even() -> None:
    names = list("abc")
    even, uneven = (pd.DataFrame(w, index=names, columns=names) for w in (EVEN, UNEVEN))
    assert clear_arrows(even) == []
    assert clear_arrows(even + 1e-3, Control(EVEN[None], EVEN[None])) == []
    assert len(clear_arrows(uneven)) == 6
    assert [a.weight for a in clear_arrows(uneven, Control(EVEN[None], EVEN[None]))] == [0.9, 0.9]
    assert clear_arrows(uneven, Control(UNEVEN[None], EVEN[None])) == []
