"""``vmtl serve``: what it gives to the server. Its processes and answers: ``tests/serving``."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.tables import Run

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

from vmtl.serving import Limits, make_app, server


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What a server that never runs was given."""
    given = SimpleNamespace()

    def remember_server(app: Any, listener: socket.socket, workers: int, say: Any) -> None:
        given.app, given.address, given.workers = app, listener.getsockname()[:2], workers
        listener.close()
        say("It was served.")

    def remember_app(model: Any, *, limits: Limits) -> Any:
        given.model, given.limits, given.made = model, limits, make_app(model, limits=limits)
        return given.made

    monkeypatch.setattr("vmtl.serving.make_app", remember_app, raising=False)
    monkeypatch.setattr(server, "serve", remember_server)
    return given


def test_the_server_gets_the_model_with_its_limits(run: Run, class_model: Path, served: SimpleNamespace) -> None:
    limits = ("--max-rows", "7", "--max-bytes", "999", "--max-waiting", "5", "--timeout", "2.5")
    done = run("serve", class_model, "--port", "0", "--workers", "3", *limits)
    assert done.exit_code == 0, done.output
    assert f"http://127.0.0.1:{served.address[1]}" in done.stderr
    assert "It was served." in done.stderr
    assert served.app is served.made
    assert served.workers == 3
    assert served.model.tasks_.tolist() == ["north", "south", "west"]
    assert served.limits == Limits(rows=7, bytes=999, waiting=5, seconds=2.5)


def test_an_address_of_version_six_is_written_as_a_browser_takes_it(
    run: Run, class_model: Path, served: SimpleNamespace
) -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    done = run("serve", class_model, "--host", "::1", "--port", "0")
    assert done.exit_code == 0, done.output
    assert served.address[0] == "::1"
    assert f"http://[::1]:{served.address[1]}," in done.stderr
