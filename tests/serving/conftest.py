"""Fitted models of numbers alone."""

from __future__ import annotations

import pytest

from helpers.numeric_models import Numeric, fit_numeric
from vmtl import MultiTaskClassifier, MultiTaskRegressor


@pytest.fixture(scope="module")
def classes(quick_inference: None) -> Numeric:
    return fit_numeric(MultiTaskClassifier, "outcome")


@pytest.fixture(scope="module")
def values(quick_inference: None) -> Numeric:
    return fit_numeric(MultiTaskRegressor, "days")
