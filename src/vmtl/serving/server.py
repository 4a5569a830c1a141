"""The processes that answer: one, or several that share a socket and are started again when they end."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from starlette.responses import JSONResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio
    from multiprocessing.context import ForkProcess

    from starlette.types import ASGIApp

#: Seconds that requests under way have after SIGTERM.
GRACE = 10
#: Seconds in which the head of a request has to arrive, an idle connection is kept, and a client has to read on.
HEAD_SECONDS, IDLE_SECONDS, STALLED_SECONDS = 10, 30, 30
#: Open connections of one process; on further ones every request is answered by 503.
MOST_CONNECTIONS = 500
#: Connections that wait to be accepted, in the kernel.
BACKLOG = 1024
#: A worker that ends within this many seconds is started again after as many.
SHORT_LIFE = 1.0

too_many_connections = JSONResponse(
    {"error": f"More than {MOST_CONNECTIONS} connections are open; try again in a second."},
    503,
    {"Retry-After": "1", "Connection": "close"},
)


class Connection(H11Protocol):
    """One connection of a client: what uvicorn makes of it, with limits on slow clients and on their number."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux: also of a client that is there, but reads nothing
            client = transport.get_extra_info("socket")
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALLED_SECONDS * 1000)
        if len(self.connections) > MOST_CONNECTIONS:
            self.app = too_many_connections
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(exc)

    def _watch_head(self) -> None:
        """While a head is incomplete its time runs, however often a few more bytes of it come."""
        if self.conn.their_state is not h11.IDLE:
            self._stop_watching()
        elif self._late is None:
            self._late = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_watching(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class Server(uvicorn.Server):
    """Answers on a socket that other processes may share."""

    def __init__(self, app: ASGIApp, parent: int | None = None) -> None:
        config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            backlog=1,  # accept one connection at a time, so that a crowd is shared out among the processes
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=GRACE,
        )
        super().__init__(config)
        self.parent = parent

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or []:
            listener.listen(BACKLOG)

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: whether to end, which a worker does when its parent is gone."""
        return await super().on_tick(counter) or self.parent not in (None, os.getppid())


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there, or an error that says what to do."""
    try:
        # The protocol is named: asyncio sets TCP_NODELAY only on sockets that say they are TCP. Without it the body of
        # an answer waits until the client has acknowledged the head, 40 ms on a connection that is kept alive.
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        ((_, kind, protocol, _, place), *_) = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _cannot_listen(host, port, error) from None
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _cannot_listen(host, port, error) from None
    return listener


def _cannot_listen(host: str, port: int, error: OSError) -> ValueError:
    reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
    return ValueError(f"Cannot listen at {host}, port {port} ({reason}); choose another --host or --port.")


def address(listener: socket.socket) -> str:
    """Where a browser finds it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(app: ASGIApp, listener: socket.socket, workers: int = 1, say: Callable[[str], None] = print) -> None:
    """Answer until SIGTERM or Ctrl-C; what happens to workers is said."""
    if workers > 1 and "fork" not in multiprocessing.get_all_start_methods():
        raise ValueError("--workers needs fork, which this system lacks; start several servers behind a proxy.")
    signal.signal(signal.SIGTERM, _leave)  # uvicorn ends its requests, then raises the signal again
    gc.collect()
    gc.freeze()  # the model stays: collections need not look at it, and forks share its memory
    if workers == 1:
        Server(app).run([listener])
    else:
        _supervise(app, listener, workers, say)


def _supervise(app: ASGIApp, listener: socket.socket, workers: int, say: Callable[[str], None]) -> None:
    """Keep so many workers alive. They are forks: they share the model's memory, and a new one is there at once."""
    fork = multiprocessing.get_context("fork")
    running: dict[Any, tuple[ForkProcess, float]] = {}  # by what tells their end
    try:
        while True:
            while len(running) < workers:
                worker = fork.Process(target=_work, args=(app, listener, os.getpid()))
                worker.start()
                running[worker.sentinel] = worker, time.monotonic()
            for sentinel in wait(list(running)):
                worker, born = running.pop(sentinel)
                worker.join()
                say(f"Worker {worker.pid} ended ({_reason(worker.exitcode)}); another one takes its place.")
                if time.monotonic() - born < SHORT_LIFE:
                    time.sleep(SHORT_LIFE)
    finally:
        for worker, _ in running.values():
            worker.terminate()
        end = time.monotonic() + GRACE + 1
        for worker, _ in running.values():
            worker.join(max(0.0, end - time.monotonic()))
            worker.kill()


def _work(app: ASGIApp, listener: socket.socket, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent ends its workers
    Server(app, parent).run([listener])


def _reason(code: int | None) -> str:
    return f"code {code}" if code is None or code >= 0 else signal.Signals(-code).name


def _leave(*_: object) -> None:
    raise SystemExit(0)
