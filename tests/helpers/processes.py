"""No process outlives the tests that started it: every child carries the name of its test process in its environment.

Ray, browsers and killed runs start processes that nobody waits for. Where /proc shows environments (Linux), those that
are left are ended after the last test, and those of test runs that were killed before the first one.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

MARK = "VMTL_TEST_PROCESS"
#: Seconds after which a process hangs and is not merely slow, on any machine under any load.
PATIENCE = 3600
#: The same for Ray: workers that are not starved by whatever else runs, and time for its processes to find each other.
PATIENT_RAY = {
    "RAY_worker_niceness": "0",
    "RAY_worker_register_timeout_seconds": str(PATIENCE),
    "RAY_agent_register_timeout_ms": str(1000 * PATIENCE),
    "RAY_health_check_timeout_ms": str(1000 * PATIENCE),
    "RAY_gcs_server_request_timeout_seconds": str(PATIENCE),
}


def born(pid: int) -> str | None:
    """When a process was started, in ticks since the machine was; None if it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def own_name() -> str:
    """Process ids are used again, so the time of birth is part of the name."""
    return f"{os.getpid()}-{born(os.getpid())}"


def is_gone(name: str) -> bool:
    """Whether the process has ended whose name the mark is, or begins with."""
    pid, birth = name.split("-")[:2]
    return born(int(pid)) != birth


def end_marked(which: Callable[[str], bool]) -> list[int]:
    """Kill the processes whose mark is one of ``which``; their ids."""
    ended = []
    for pid, mark in marked():
        if pid != os.getpid() and which(mark):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
                ended.append(pid)
    return ended


def marked() -> Iterator[tuple[int, str]]:
    """Processes that a test process started, and its name."""
    key = f"{MARK}=".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            for entry in (folder / "environ").read_bytes().split(b"\0"):
                if entry.startswith(key):
                    yield int(folder.name), entry.removeprefix(key).decode()
