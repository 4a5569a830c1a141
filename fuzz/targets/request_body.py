"""The body of `POST /predict`: an answer with predictions, or a status of 4xx and a sentence; never 5xx."""

from __future__ import annotations

import asyncio
import json
import random
from functools import cache
from typing import Any

import numpy as np

from mutation import changed
from oracle import check_sentence
from targets.small_models import fitted_classifier
from vmtl.serving import Limits, make_app

ROW = {"age": 61.5, "dose": 0.25, "ward": "a"}
SEEDS = tuple(
    json.dumps(document).encode()
    for document in (
        {"rows": [ROW], "tasks": "north"},
        {"rows": [ROW, {**ROW, "ward": None}], "tasks": ["south", "north"]},
        {"rows": {"age": [1, 2], "dose": [0, None], "ward": ["a", "b"]}, "tasks": "north"},
        {"rows": [[61, 0.5, "b"]], "tasks": ["south"]},
        {"rows": [ROW | {"site": "north", "day": "2020-01-31"}]},
    )
)


LOOP = asyncio.new_event_loop()  # the application keeps what waits in one loop


@cache
def app() -> Any:
    return make_app(fitted_classifier(), limits=Limits(rows=50, bytes=2**16))


async def post(body: bytes) -> tuple[int, bytes]:
    """Status and body of the answer, by ASGI and without a network."""
    received = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return received.pop() if received else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    where = {"path": "/predict", "raw_path": b"/predict", "query_string": b"", "root_path": "", "scheme": "http"}
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "headers": headers}
    await app()({**scope, **where, "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1)}, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def one_input(data: bytes) -> None:
    status, body = LOOP.run_until_complete(post(data))
    answer = json.loads(body)
    if status == 200:
        chances = [list(row["probabilities"].values()) for row in answer["predictions"]]
        assert chances
        assert np.allclose(np.sum(chances, axis=1), 1, atol=1e-6)
    else:
        assert 400 <= status < 500, (status, body)
        check_sentence(answer["error"])


def mutate(data: bytes, seed: int) -> bytes | None:
    rng = random.Random(seed)
    try:
        document = json.loads(data)
        for _ in range(rng.randint(1, 3)):
            document = changed(document, rng)
        return json.dumps(document).encode()
    except (ValueError, RecursionError):
        return None
