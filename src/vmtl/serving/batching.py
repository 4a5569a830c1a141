"""Requests of all connections wait in one queue; those that wait together are predicted together.

One thread predicts, so torch never works for two requests at once. While it does, further requests arrive and form the
next batch: nobody waits for a batch to fill, and the more there is to do, the less each request costs.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from vmtl.serving.requests import BATCH_ROWS, PredictionRequest

Waiting = tuple[PredictionRequest, "asyncio.Future[bytes]"]


class Batcher:
    """The queue. Everything but ``predict`` runs in the event loop, so nothing is locked."""

    def __init__(self, predict: Callable[[Sequence[PredictionRequest]], list[bytes | Exception]]) -> None:
        self._predict = predict
        self._waiting: deque[Waiting] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="vmtl")
        self._work: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """Requests that are waiting; those that are being predicted are not among them."""
        return len(self._waiting)

    async def answer(self, request: PredictionRequest) -> bytes:
        """The answer to a request when its turn has come; whoever stops waiting for it gives up its place."""
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._work is None:
            self._work = asyncio.create_task(self._predict_all())
        try:
            return await future
        finally:
            if future.cancelled():
                self._waiting = deque(pair for pair in self._waiting if pair[1] is not future)

    async def _predict_all(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                batch = self._next_batch()
                answers = await loop.run_in_executor(self._thread, self._predict, [request for request, _ in batch])
                for (_, future), answer in zip(batch, answers, strict=True):
                    if future.done():
                        continue
                    if isinstance(answer, Exception):
                        future.set_exception(answer)
                    else:
                        future.set_result(answer)
        finally:
            self._work = None

    def _next_batch(self) -> list[Waiting]:
        """The request that has waited longest, and those after it that can be predicted together with it."""
        first = self._waiting.popleft()
        batch, n_rows, left = [first], len(first[0].rows), deque[Waiting]()
        if first[0].alone:
            return batch
        for pair in self._waiting:
            request = pair[0]
            fits = not request.alone and request.options == first[0].options
            if fits and n_rows + len(request.rows) <= BATCH_ROWS:
                batch.append(pair)
                n_rows += len(request.rows)
            else:
                left.append(pair)
        self._waiting = left
        return batch
