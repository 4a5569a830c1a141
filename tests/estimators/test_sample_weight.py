"""A row of weight 2 is a row twice, one of weight 0 is none; the order of rows does not matter."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.three_tasks import REAL, TASK, UNIT, X, Y, classifier, regressor

WEIGHT = np.ones(48)
WEIGHT[[0, 5, 30]] = [2, 3, 0]
REPEATED = np.repeat(np.arange(48), WEIGHT.astype(int))


@pytest.mark.parametrize("seed", [0, 1])
def test_weights_are_repeated_rows_in_any_order(seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(REPEATED))
    rows = REPEATED[order]
    weighted = classifier().fit(X, Y, tasks=TASK, sample_weight=WEIGHT)
    repeated = classifier().fit(X[rows], Y[rows], tasks=TASK[rows])
    np.testing.assert_array_equal(weighted.predict_proba(X, tasks=TASK), repeated.predict_proba(X, tasks=TASK))
    weighted_real = regressor().fit(REAL.X, UNIT, tasks=TASK, sample_weight=WEIGHT)
    repeated_real = regressor().fit(REAL.X[rows], UNIT[rows], tasks=TASK[rows])
    for one, two in zip(
        *(m.predict(REAL.X, tasks=TASK, return_std=True) for m in (weighted_real, repeated_real)), strict=True
    ):
        np.testing.assert_allclose(one, two, rtol=1e-9)


def test_a_class_of_rows_without_weight_is_none() -> None:
    extra, weight = np.random.default_rng(1).normal(size=(9, 6)), np.r_[np.ones(48), np.zeros(9)]
    more = {"tasks": np.r_[TASK, TASK[:9]], "sample_weight": weight}
    with_extra = classifier().fit(np.r_[X, extra], np.r_[Y, ["eel"] * 9], **more)
    without = classifier().fit(X, Y, tasks=TASK)
    assert with_extra.classes_.tolist() == without.classes_.tolist()
    np.testing.assert_array_equal(with_extra.predict_proba(X, tasks=TASK), without.predict_proba(X, tasks=TASK))


def test_the_same_weight_for_all_rows_changes_little() -> None:
    noisy = UNIT + 50 * np.random.default_rng(0).normal(size=48)
    plain, heavy = (
        regressor().fit(REAL.X, noisy, tasks=TASK, sample_weight=np.full(48, weight)) for weight in (1.0, 1000.0)
    )
    np.testing.assert_allclose(heavy.predict(REAL.X, tasks=TASK), plain.predict(REAL.X, tasks=TASK), rtol=1e-3)


def test_class_weight_is_a_sample_weight() -> None:
    heavy = classifier(class_weight={"ant": 3.0}).fit(X, Y, tasks=TASK)
    same = classifier().fit(X, Y, tasks=TASK, sample_weight=np.where(Y == "ant", 3.0, 1.0))
    np.testing.assert_array_equal(heavy.predict_proba(X, tasks=TASK), same.predict_proba(X, tasks=TASK))
    few = np.flatnonzero((Y != "ant") | (np.arange(48) < 4))
    balanced = classifier(class_weight="balanced").fit(X[few], Y[few], tasks=TASK[few])
    share = {name: len(few) / (4 * int((Y[few] == name).sum())) for name in balanced.classes_}
    same = classifier(class_weight=share).fit(X[few], Y[few], tasks=TASK[few])
    np.testing.assert_allclose(balanced.predict_proba(X, tasks=TASK), same.predict_proba(X, tasks=TASK), atol=1e-9)
