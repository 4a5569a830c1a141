"""What tests start ends with them, also when they are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.processes import MARK, born, end_marked, is_gone, marked, own_name

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")

#: Starts a grandchild that nobody waits for, says its number, and goes on or ends.
PARENT = """
import subprocess, sys, time
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
child = subprocess.Popen(sleep, start_new_session=True, stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
time.sleep(float(sys.argv[1]))
"""


def start(mark: str, seconds: float) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(seconds)], env={**os.environ, MARK: mark}, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def test_children_carry_the_name_of_this_process() -> None:
    assert os.environ[MARK] == own_name()
    assert not is_gone(own_name())


def test_a_grandchild_is_found_and_ended() -> None:
    own = f"{own_name()}-grandchild"
    parent, grandchild = start(own, 0)
    parent.communicate()
    assert (grandchild, own) in set(marked())
    assert end_marked(lambda mark: mark == own) == [grandchild]


def test_what_a_killed_run_left_is_ended_and_nothing_else() -> None:
    """The run is a process that is killed; its grandchild belongs to nobody then."""
    untouched = f"{own_name()}-other"  # no other test run may think that it is gone
    victim, other = start(untouched, 600)
    name = f"{victim.pid}-{born(victim.pid)}"
    parent, grandchild = start(name, 600)
    try:
        assert end_marked(lambda mark: mark == name and is_gone(mark)) == []
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
        assert set(end_marked(lambda mark: mark == name and is_gone(mark))) == {parent.pid, grandchild}
        assert born(other) is not None
    finally:
        parent.kill()
        parent.communicate()
        end_marked(lambda mark: mark == untouched)
