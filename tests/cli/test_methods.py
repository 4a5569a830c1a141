"""``vmtl methods``: what can be fitted."""

from __future__ import annotations

import json

from helpers.tables import Run
from vmtl import METHODS


def test_every_method_is_listed(run: Run) -> None:
    shown = run("methods").stdout
    assert all(name in shown for name in METHODS)
    assert set(json.loads(run("methods", "--json").stdout)) == set(METHODS)
