"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder named by VMTL_DATA: real data below ``data/``, split documents below ``splits/``."""
    if not os.environ.get("VMTL_DATA"):
        pytest.skip("VMTL_DATA names no folder with data/ and splits/")
    return Path(os.environ["VMTL_DATA"])


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """Tests share their machine, and small tensors gain nothing from threads."""
    torch.set_num_threads(1)


@pytest.fixture
def registry() -> Iterator[None]:
    """The methods that a test registers are gone after it."""
    from vmtl import methods

    before = dict(methods._REGISTERED)
    yield
    methods._REGISTERED.clear()
    methods._REGISTERED.update(before)
