"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from helpers.processes import MARK, end_marked, is_gone, own_name
from helpers.rounding import VARIABLE, switch_on_if_asked

if TYPE_CHECKING:
    from helpers.report_models import Case

switch_on_if_asked()


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder named by VMTL_DATA: real data below ``data/``, split documents below ``splits/``."""
    if not os.environ.get("VMTL_DATA"):
        pytest.skip("VMTL_DATA names no folder with data/ and splits/")
    return Path(os.environ["VMTL_DATA"])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With another rounding in this process only, nothing is to be compared with what other processes compute."""
    if os.environ.get(VARIABLE):
        reason = "other processes round as the machine does"
        for item in items:
            if item.get_closest_marker("system"):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """Tests share their machine, and small tensors gain nothing from threads."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def _no_process_is_left() -> Iterator[None]:
    """End what killed test runs left behind, and at the end what this one did."""
    end_marked(is_gone)
    name = os.environ[MARK] = own_name()
    yield
    end_marked(lambda mark: mark == name)


@pytest.fixture(scope="module")
def quick_inference() -> None:
    """Nothing: tests run the default as users get it."""


@pytest.fixture(scope="module")
def inference() -> None:
    """The same."""


@pytest.fixture(scope="session")
def class_case() -> Case:
    """A fitted classifier and its predictions, which several tests look at."""
    from helpers.report_models import make_case

    return make_case("class")


@pytest.fixture(scope="session")
def real_case() -> Case:
    """The same of a regressor."""
    from helpers.report_models import make_case

    return make_case("real")


@pytest.fixture
def registry() -> Iterator[None]:
    """The methods that a test registers are gone after it."""
    from vmtl.paper import methods

    before = dict(methods._REGISTERED)
    yield
    methods._REGISTERED.clear()
    methods._REGISTERED.update(before)
