"""Options that several commands share."""

from __future__ import annotations

from vmtl import METHODS
from vmtl.cli._support.options import method_names


def test_the_names_for_completion_are_the_methods() -> None:
    assert method_names() == sorted(METHODS)
