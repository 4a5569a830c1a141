"""``vmtl serve``: a model behind HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from vmtl._utils.missing_extra import require
from vmtl.cli._support.console import note
from vmtl.cli._support.options import Debug, ModelFile, Quiet, UnknownTask


def serve(
    model: ModelFile,
    host: Annotated[
        str, typer.Option(help="The address to listen at; 0.0.0.0 is every one of this machine.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Processes that answer; one per core is enough.")] = 1,
    unknown_task: UnknownTask = None,
    max_rows: Annotated[int, typer.Option(min=1, help="Rows of one request at most.")] = 10_000,
    max_bytes: Annotated[int, typer.Option(min=1, help="Bytes of one request at most.")] = 2**24,
    max_waiting: Annotated[
        int, typer.Option(min=1, help="Requests that wait in one process at most; further ones get 503.")
    ] = 256,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds until a request is given up.")] = 30.0,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Answer predictions over HTTP until Ctrl-C or SIGTERM.

    `GET /` says what the model is, `GET /health` that it answers, and `POST /predict` takes
    `{"rows": [{"age": 61, "dose": 2.5}], "tasks": "north"}`: rows as objects, as an object of columns, or as lists in
    the order of the columns; tasks as one name for all rows, a list, or left out where the rows have the task column.
    `"coverage": 0.9` adds intervals or sets of classes, `"uncertainty": true` where the uncertainty comes from.
    There is neither a password nor encryption: put a proxy that has both in front of what others can reach.
    """
    require("serve", "Serving", "starlette", "uvicorn")
    import torch

    from vmtl.cli._support.loading import load_model
    from vmtl.serving import Limits, make_app

    torch.set_num_threads(1)  # small requests gain nothing from more, and threads do not survive a fork
    limits = Limits(rows=max_rows, bytes=max_bytes, waiting=max_waiting, seconds=timeout)
    app = make_app(load_model(model, unknown_task), limits=limits)
    from vmtl.serving import server

    listener = server.listen(host, port)
    note(f"{model} at {server.address(listener)}, ended by Ctrl-C.", quiet)
    server.serve(app, listener, workers, lambda sentence: note(sentence, quiet))
