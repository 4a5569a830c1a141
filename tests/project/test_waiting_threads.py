"""Threads sleep while they wait, unless the user said otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = "import vmtl, os; print(os.environ['OMP_WAIT_POLICY'])"


@pytest.mark.parametrize(("given", "expected"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_that_wait_do_not_spin_unless_asked_to(given: str | None, expected: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    if given is not None:
        environment["OMP_WAIT_POLICY"] = given
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected
