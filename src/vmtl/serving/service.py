"""A fitted estimator behind HTTP: a small application that any ASGI server runs.

GET / says what the model is, GET /health that it answers, POST /predict predicts. What cannot be predicted is answered
by {"error": one sentence} and a status of 4xx, what cannot be predicted now by 503 with Retry-After.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from vmtl import __version__
from vmtl.serving.batch_prediction import answer_together, warm_up
from vmtl.serving.batching import Batcher
from vmtl.serving.facts import describe
from vmtl.serving.limits import Limits
from vmtl.serving.openapi import openapi
from vmtl.serving.requests import RequestReader

if TYPE_CHECKING:
    from vmtl.serving.facts import Estimator

#: Seconds after which a client that was turned away may try again.
RETRY_AFTER = {"Retry-After": "1"}
#: Bodies from this length on are read beside the event loop, which goes on answering.
LONG = 2**16


def make_app(model: Estimator, *, limits: Limits | None = None) -> Starlette:
    """A web service for a fitted estimator.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    limits : Limits, default=None
        What it takes on before it refuses; ``Limits()`` if None.

    Returns
    -------
    Starlette
        For uvicorn or another ASGI server. Requests that wait at the same time are predicted together, by one thread.
    """
    check_is_fitted(model)
    warm_up(model)
    limits = Limits() if limits is None else limits
    about = {**describe(model), "version": __version__, "limits": limits.to_json()}
    predictions = Predictions(model, limits)

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "waiting": len(predictions.batcher), "process": os.getpid()})

    routes = [
        Route("/", _page(about)),
        Route("/openapi.json", _page(openapi(about))),
        Route("/health", health),
        Route("/predict", predictions.post, methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _no_such_page, Exception: _unexpected})


def _page(document: dict[str, Any]) -> Callable[[Request], Awaitable[Response]]:
    """A page that never changes."""
    response = JSONResponse(document)

    async def page(request: Request) -> Response:
        return response

    return page


class Predictions:
    """``POST /predict``."""

    def __init__(self, model: Estimator, limits: Limits) -> None:
        self.limits = limits
        self.reader = RequestReader(model, limits.rows)
        self.batcher = Batcher(partial(answer_together, model))
        self.bytes_held = 0

    async def post(self, request: Request) -> Response:
        """Predict, or say why not."""
        length = request.headers.get("content-length")
        if length is None:
            return _refuse(411, "The request does not say its length; send Content-Length.")
        n_bytes, limits = int(length), self.limits
        if n_bytes > limits.bytes:
            return _refuse(413, f"The request has {length} bytes, more than {limits.bytes}; send fewer rows at a time.")
        if len(self.batcher) >= limits.waiting or self.bytes_held + n_bytes > limits.bytes_waiting:
            return _refuse(503, "Too many requests are waiting; try again in a second.", RETRY_AFTER)
        self.bytes_held += n_bytes
        try:
            return await self._answer(request, n_bytes)
        finally:
            self.bytes_held -= n_bytes

    async def _answer(self, request: Request, n_bytes: int) -> Response:
        seconds = self.limits.seconds
        late = _refuse(
            408, f"The body did not arrive within {seconds:g} seconds; send it faster.", {"Connection": "close"}
        )
        try:
            async with asyncio.timeout(seconds):
                body = await request.body()
                late = _refuse(503, f"No prediction within {seconds:g} seconds; try again later.", RETRY_AFTER)
                read = self.reader.read
                asked = await asyncio.to_thread(read, body) if n_bytes > LONG else read(body)
                return Response(await self.batcher.answer(asked), media_type="application/json")
        except TimeoutError:
            return late
        except ValueError as error:
            return _refuse(422, " ".join(str(error).split()))
        except ClientDisconnect:
            return Response(status_code=400)  # which nobody reads


def _refuse(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    """One sentence; what a request quotes may hold half of a surrogate pair, which no answer can."""
    return JSONResponse({"error": sentence.encode(errors="replace").decode()}, status, headers)


async def _no_such_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = f"{request.method} {request.url.path}"
    sentence = f"{path} is not served ({error.detail}); GET /, GET /health, POST /predict."
    return _refuse(error.status_code, sentence, dict(error.headers or {}))


async def _unexpected(request: Request, error: Exception) -> Response:
    return _refuse(500, f"Something unexpected happened ({type(error).__name__}); the server's log says what.")
