"""Fitted models that the tests of the estimators share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers.three_tasks import REAL, TASK, UNIT, X, Y, classifier, regressor
from vmtl import MultiTaskClassifier, MultiTaskRegressor


@pytest.fixture(scope="package")
def clf() -> MultiTaskClassifier:
    """A fitted classifier; ask for no changes to it."""
    return classifier().fit(X, Y, tasks=TASK)


@pytest.fixture(scope="package")
def reg() -> MultiTaskRegressor:
    """A fitted regressor; ask for no changes to it."""
    return regressor().fit(REAL.X, UNIT, tasks=TASK)


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"f{j}" for j in range(6)], index=np.arange(100, 148)).assign(site=TASK)
