"""``vmtl serve``: a model behind HTTP."""

from __future__ import annotations

import os
import signal
import socket
from typing import Annotated

import typer

from vmtl._utils.missing_extra import require
from vmtl.cli._support.console import note
from vmtl.cli._support.options import Debug, ModelFile, Quiet, UnknownTask

#: Seconds that requests under way have after SIGTERM, and requests at once before new ones are answered by 503.
GRACE, MOST_AT_ONCE = 10, 256


def serve(
    model: ModelFile,
    host: Annotated[
        str, typer.Option(help="The address to listen at; 0.0.0.0 is every one of this machine.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    unknown_task: UnknownTask = None,
    max_rows: Annotated[int, typer.Option(min=1, help="Rows of one request at most.")] = 10_000,
    max_bytes: Annotated[int, typer.Option(min=1, help="Bytes of one request at most.")] = 2**24,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Answer predictions over HTTP until Ctrl-C or SIGTERM.

    `GET /` says what the model is, `GET /health` that it answers, and `POST /predict` takes
    `{"rows": [{"age": 61, "dose": 2.5}], "tasks": "north"}`: rows as objects, as an object of columns, or as lists in
    the order of the columns; tasks as one name for all rows, a list, or left out where the rows have the task column.
    There is neither a password nor encryption: put a proxy that has both in front of what others can reach.
    """
    require("serve", "Serving", "fastapi", "uvicorn")
    import torch
    import uvicorn

    from vmtl.cli._support.loading import load_model
    from vmtl.deployment import make_app

    app = make_app(load_model(model, unknown_task), max_rows=max_rows, max_bytes=max_bytes)
    torch.set_num_threads(1)  # small requests gain nothing from more
    listener = listen(host, port)
    name = f"[{host}]" if ":" in host else host
    note(f"{model} at http://{name}:{listener.getsockname()[1]}, ended by Ctrl-C.", quiet)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, limit_concurrency=MOST_AT_ONCE, timeout_graceful_shutdown=GRACE
    )
    signal.signal(signal.SIGTERM, leave)  # uvicorn ends its requests, then raises the signal again
    uvicorn.Server(config).run(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there, or an error that says what to do."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise ValueError(f"Cannot listen at {host}, port {port} ({reason}); choose another --host or --port.") from None


def leave(*_: object) -> None:
    raise SystemExit(0)
