"""The toy problem of the reliability tests."""

from __future__ import annotations

import pytest

from helpers.reliable import Toy, make_toy


@pytest.fixture(scope="session")
def toy() -> Toy:
    return make_toy()
