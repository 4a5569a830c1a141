"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from helpers.report_models import Case, make_case


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


@pytest.fixture(scope="session")
def class_case() -> Case:
    """A fitted classifier and its predictions, which several tests look at."""
    return make_case("class")


@pytest.fixture(scope="session")
def real_case() -> Case:
    """The same of a regressor."""
    return make_case("real")
