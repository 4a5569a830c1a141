"""A service to ask: ``vmtl serve`` as a process of its own, or a server in a thread of the tests."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from helpers.processes import PATIENCE


@dataclass(frozen=True)
class Client:
    """Asks one address, with a new connection each time; may be shared by threads."""

    address: str

    @property
    def port(self) -> int:
        return int(self.address.rsplit(":")[-1])

    def get(self, page: str) -> Any:
        return requests.get(self.address + page, timeout=PATIENCE)

    def post(self, page: str, **body: Any) -> Any:
        return requests.post(self.address + page, timeout=PATIENCE, **body)

    def connect(self) -> socket.socket:
        """A bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)


@contextmanager
def process_of(path: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], Client]]:
    """The process of ``vmtl serve`` on a free port, and a client of it."""
    command = [sys.executable, "-m", "vmtl", "serve", str(path), "--port", "0", *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        try:
            first = process.stderr.readline()
            address = re.search(r"http://\S+:\d+", first)
            assert address is not None, first + process.stderr.read()
            yield process, Client(address[0])
        finally:
            process.kill()


@contextmanager
def thread_of(app: Any) -> Iterator[Client]:
    """A server of ``app`` in a thread, which sees what a test has patched."""
    from vmtl.serving.server import Server, listen

    with listen("127.0.0.1", 0) as listener:
        server = Server(app)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield Client(f"http://127.0.0.1:{listener.getsockname()[1]}")
        finally:
            server.should_exit = True
            thread.join()


def wait_until(true: Callable[[], bool]) -> None:
    """Ask again and again; a process that hangs fails the test."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)
