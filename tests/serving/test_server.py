"""The processes that answer: where they listen, whom they turn away, and how they end and begin again."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
import requests

from helpers.processes import PATIENCE
from helpers.small_fits import TASKS, X, Y, small
from vmtl import MultiTaskClassifier

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from helpers.serving import Client, process_of, thread_of, wait_until
from vmtl.serving import server


@pytest.fixture(scope="module")
def model() -> MultiTaskClassifier:
    return small(method="bmtl", encoder="linear").fit(X, Y, tasks=TASKS)


@pytest.fixture(scope="module")
def path(model: MultiTaskClassifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served") / "model.vmtl"
    model.save(path)
    return path


@pytest.fixture
def app() -> Starlette:
    return Starlette(routes=[Route("/", lambda request: PlainTextResponse("here"))])


# -- one process ----------------------------------------------------------------------------------------


def test_it_listens_where_it_was_told() -> None:
    with server.listen("127.0.0.1", 0) as listener:
        host, port = listener.getsockname()
        assert host == "127.0.0.1"
        with socket.create_connection((host, port), timeout=PATIENCE):
            pass


def test_a_taken_port_and_an_address_of_nobody_are_one_sentence() -> None:
    with server.listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(
            ValueError, match=rf"^Cannot listen at 127\.0\.0\.1, port {port} \(Address already in use\)"
        ):
            server.listen("127.0.0.1", port)
    with pytest.raises(ValueError, match=r"^Cannot listen at 192\.0\.2\.1, port 0 \(.+\); choose another --host or"):
        server.listen("192.0.2.1", 0)  # kept for documents: no machine has it


def test_small_answers_leave_at_once(app: Starlette, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TCP_NODELAY a body waits for the acknowledgement of the head, which a client delays by 40 ms."""
    options: list[int] = []

    class Watched(server.Connection):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            accepted = transport.get_extra_info("socket")
            options.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(server, "Connection", Watched)
    with thread_of(app) as client:
        assert client.get("/").text == "here"
    assert options
    assert all(options)


def test_who_sends_half_a_head_or_nothing_is_not_kept(app: Starlette, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(server, "IDLE_SECONDS", 0.2)
    with thread_of(app) as client:
        with client.connect() as silent:
            assert silent.recv(100) == b""
        with client.connect() as slow:
            slow.sendall(b"GET / HTTP/1.1\r\nHo")
            assert slow.recv(100) == b""
        with client.connect() as idle:
            idle.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert b"".join(iter(lambda: idle.recv(1000), b"")).endswith(b"here")
        with client.connect() as second:
            second.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert second.recv(1000)
            second.sendall(b"GET / HTTP/1.1\r\nHo")
            assert b"".join(iter(lambda: second.recv(1000), b"")) in (b"", b"here")


def test_more_connections_than_it_takes_are_told_so(app: Starlette, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 2)
    with thread_of(app) as client:
        open_ones = [client.connect() for _ in range(2)]
        wait_until(lambda: client.get("/").status_code == 503)
        refused = client.get("/")
        assert (refused.headers["Retry-After"], refused.headers["Connection"]) == ("1", "close")
        for connection in open_ones:
            connection.close()
        wait_until(lambda: client.get("/").status_code == 200)


# -- processes of their own -----------------------------------------------------------------------------


@pytest.mark.system
def test_answers_on_a_connection_that_is_kept_do_not_stall(path: Path) -> None:
    with process_of(path) as (_, client):
        seconds = []
        with closing(http.client.HTTPConnection("127.0.0.1", client.port, timeout=PATIENCE)) as connection:
            for _ in range(50):
                start = time.perf_counter()
                connection.request("GET", "/health")
                assert connection.getresponse().read()
                seconds.append(time.perf_counter() - start)
        assert median(seconds) < 0.03  # under 1 ms; 44 ms where the client's acknowledgement is waited for


@pytest.mark.system
def test_sigterm_ends_it_with_success_and_a_taken_port_is_said(path: Path) -> None:
    with process_of(path) as (process, client):
        command = [sys.executable, "-m", "vmtl", "serve", str(path), "--port", str(client.port)]
        second = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        assert second.returncode == 2
        sentence = f"Cannot listen at 127.0.0.1, port {client.port} (Address already in use); choose another"
        assert sentence in second.stderr
        assert client.get("/health").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0


def workers(client: Client, at_least: int = 2) -> set[int]:
    """The processes that answer: so many different ones, which are asked at the same time."""
    found: set[int] = set()

    def ask(_: int) -> int:
        return int(client.get("/health").json()["process"])

    def enough() -> bool:
        with ThreadPoolExecutor(8) as pool:
            found.update(pool.map(ask, range(32)))
        return len(found) >= at_least

    wait_until(enough)
    return found


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forks")


@needs_fork
@pytest.mark.system
def test_when_a_worker_is_killed_the_others_go_on_and_another_one_comes(path: Path, model: MultiTaskClassifier) -> None:
    with process_of(path, "--workers", "2") as (process, client), load_on(client, model) as answers:
        before = workers(client)
        assert len(before) == 2
        wait_until(lambda: len(answers) > 50)
        killed = min(before)
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: bool(workers(client) - before))
        far = len(answers) + 100
        wait_until(lambda: len(answers) > far)
        after = workers(client)
        assert killed not in after
        assert before - {killed} < after
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert all(map(is_gone, after))
        assert process.stderr is not None
        assert f"Worker {killed} ended (SIGKILL); another one takes its place." in process.stderr.read()
    wrong = [answer for answer in answers if answer]
    assert not wrong
    assert len(answers) > far


class load_on:
    """Threads that predict until the end of the block; how far off each answer was, or 0 if none came."""

    def __init__(self, client: Client, model: MultiTaskClassifier) -> None:
        self.client, self.ended, self.answers, self.numbers = client, threading.Event(), [], count()
        self.expected = model.predict_proba(X, tasks=TASKS)
        self.threads = [threading.Thread(target=self.ask_on) for _ in range(4)]
        self.answers: list[bool]

    def __enter__(self) -> list[bool]:
        for thread in self.threads:
            thread.start()
        return self.answers

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def ask_on(self) -> None:
        with requests.Session() as session:
            self.ask_with(session)

    def ask_with(self, session: requests.Session) -> None:
        while not self.ended.is_set():
            row = next(self.numbers) % len(X)
            try:
                body = {"rows": [X[row].tolist()], "tasks": str(TASKS[row])}
                answer = session.post(f"{self.client.address}/predict", json=body, timeout=PATIENCE)
            except requests.RequestException:  # of a worker that was killed
                time.sleep(0.01)
                continue
            (predicted,) = answer.json()["predictions"]
            off = np.abs(np.array(list(predicted["probabilities"].values())) - self.expected[row]).max()
            self.answers.append(bool(off > 1e-5))


@needs_fork
@pytest.mark.system
def test_workers_do_not_outlive_their_parent(path: Path) -> None:
    with process_of(path, "--workers", "2") as (process, client):
        left = workers(client)
        process.kill()
        process.wait(PATIENCE)
        wait_until(lambda: all(map(is_gone, left)))


# -- the parent -----------------------------------------------------------------------------------------


def test_without_fork_there_is_one_worker(app: Starlette, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    with server.listen("127.0.0.1", 0) as listener, pytest.raises(ValueError, match=r"^--workers needs fork"):
        server.serve(app, listener, workers=2)
