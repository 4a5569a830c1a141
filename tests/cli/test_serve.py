"""``vmtl serve``: where it listens, what it gives to the server, and how it ends. Answers: ``tests/serving``."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.tables import Run
from vmtl.cli.serve import GRACE, MOST_AT_ONCE, leave, listen

uvicorn = pytest.importorskip("uvicorn")
pytest.importorskip("fastapi")


def test_it_listens_where_it_was_told() -> None:
    with listen("127.0.0.1", 0) as listener:
        host, port = listener.getsockname()
        assert host == "127.0.0.1"
        with socket.create_connection((host, port), timeout=10):
            pass


def test_a_taken_port_and_an_address_of_nobody_are_one_sentence() -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(
            ValueError, match=rf"^Cannot listen at 127\.0\.0\.1, port {port} \(Address already in use\)"
        ):
            listen("127.0.0.1", port)
    with pytest.raises(ValueError, match=r"^Cannot listen at 192\.0\.2\.1, port 0 \(.+\); choose another --host or"):
        listen("192.0.2.1", 0)  # kept for documents: no machine has it


def test_the_signal_to_end_is_a_success() -> None:
    with pytest.raises(SystemExit) as ended:
        leave(signal.SIGTERM, None)
    assert ended.value.code == 0


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """What a server that never runs was given."""
    from vmtl.serving import make_app

    given, before = SimpleNamespace(), signal.getsignal(signal.SIGTERM)

    class Server:
        def __init__(self, config: Any) -> None:
            given.config = config

        def run(self, sockets: list[socket.socket]) -> None:
            (listener,) = sockets
            given.address = listener.getsockname()[:2]
            given.ends_by = signal.getsignal(signal.SIGTERM)
            listener.close()

    def remembered(model: Any, **limits: int) -> Any:
        given.model, given.limits, given.app = model, limits, make_app(model, **limits)
        return given.app

    monkeypatch.setattr("vmtl.serving.make_app", remembered)
    monkeypatch.setattr(uvicorn, "Server", Server)
    yield given
    signal.signal(signal.SIGTERM, before)


def test_the_server_gets_the_model_with_its_limits(run: Run, class_model: Path, served: SimpleNamespace) -> None:
    done = run("serve", class_model, "--port", "0", "--max-rows", "7", "--max-bytes", "999")
    assert done.exit_code == 0, done.output
    assert f"http://127.0.0.1:{served.address[1]}" in done.stderr
    assert (served.config.limit_concurrency, served.config.timeout_graceful_shutdown) == (MOST_AT_ONCE, GRACE)
    assert served.ends_by is leave
    assert served.config.app is served.app
    assert served.model.tasks_.tolist() == ["north", "south", "west"]
    assert served.limits == {"max_rows": 7, "max_bytes": 999}


def test_an_address_of_version_six_is_written_as_a_browser_takes_it(
    run: Run, class_model: Path, served: SimpleNamespace
) -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    done = run("serve", class_model, "--host", "::1", "--port", "0")
    assert done.exit_code == 0, done.output
    assert served.address[0] == "::1"
    assert f"http://[::1]:{served.address[1]}," in done.stderr
