"""Targets that are no classes or no numbers are refused, however they are written."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers.small_fits import TASKS, X, Y
from vmtl import MultiTaskRegressor
from vmtl.estimators.inputs.targets import check_classes, check_labels


def test_regression_targets_that_are_text() -> None:
    with pytest.raises(ValueError, match=r"y must be numbers for a regression.*use MultiTaskClassifier"):
        MultiTaskRegressor().fit(X, np.array(["a", "b", "c"])[Y], tasks=TASKS)
    with pytest.raises(ValueError, match="NaN"):
        MultiTaskRegressor().fit(X, np.where(Y == 0, np.nan, 1.0), tasks=TASKS)
    with pytest.raises(ValueError, match=r"one target per row|2"):
        MultiTaskRegressor().fit(X, np.stack([Y, Y], 1).astype(float), tasks=TASKS)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_a_missing_class_is_refused_however_it_is_written(missing: object) -> None:
    y = np.array(["a", "b", missing], dtype=object)
    with pytest.raises(ValueError, match="y contains a missing label"):
        check_labels(y)


@pytest.mark.parametrize("values", [[0.25, 0.5, 0.75] * 4, [0.1 * i for i in range(12)]])
def test_fractions_are_no_classes(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"y holds fractions such as 0\.\d+, .* use MultiTaskRegressor"):
        check_classes(np.array(values))
    check_classes(np.array([1.0, 2.0, 1.0]))
    check_classes(np.array(values).astype(str))
