"""Models and predictions that several tests look at."""

from __future__ import annotations

import pytest

from helpers.report_models import Case, make_case


@pytest.fixture(scope="session")
def class_case() -> Case:
    return make_case("class")


@pytest.fixture(scope="session")
def real_case() -> Case:
    return make_case("real")
