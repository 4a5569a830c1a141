"""Which cases of a test run in the short form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def some_in_the_short_form(values: Iterable[Any], *short: Any) -> list[Any]:
    """Parameters of a test: all of ``values``, those that are not in ``short`` marked slow."""
    listed = list(values)
    assert set(short) <= set(listed), f"{short} are not all among {listed}"
    return [value if value in short else pytest.param(value, marks=pytest.mark.slow) for value in listed]
