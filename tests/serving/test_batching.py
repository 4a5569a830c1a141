"""The queue of requests: who is predicted with whom, and what becomes of those who leave or fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from vmtl.serving.batching import Batcher
from vmtl.serving.requests import BATCH_ROWS, Options, PredictionRequest


def request(name: str, n_rows: int = 1, alone: bool = False, coverage: float | None = None) -> PredictionRequest:
    return PredictionRequest([[0.0]] * n_rows, [name] * n_rows, Options(coverage), alone)


class Recorder:
    """Answers by the name of the request; holds the first batch until it is told to go on."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.go_on = threading.Event()

    def __call__(self, requests: Sequence[PredictionRequest]) -> list[bytes | Exception]:
        names = [request.tasks[0] for request in requests]
        self.batches.append(names)
        if len(self.batches) == 1:
            self.go_on.wait()
        return [ValueError(name) if name.startswith("bad") else name.encode() for name in names]


async def ask_all(recorder: Recorder, requests: list[PredictionRequest], leaves: int | None = None) -> list[object]:
    """Answers to a first request, and to others that arrive while it is predicted."""
    batcher = Batcher(recorder)
    first = asyncio.create_task(batcher.answer(request("first")))
    while not recorder.batches:
        await asyncio.sleep(0.001)
    others = [asyncio.create_task(batcher.answer(other)) for other in requests]
    while len(batcher) < len(others):
        await asyncio.sleep(0.001)
    if leaves is not None:
        others[leaves].cancel()
        await asyncio.sleep(0.001)
        assert len(batcher) == len(others) - 1
    recorder.go_on.set()
    return await asyncio.gather(first, *others, return_exceptions=True)


def test_those_that_wait_together_are_predicted_together() -> None:
    recorder = Recorder()
    answers = asyncio.run(ask_all(recorder, [request(name) for name in "abc"]))
    assert recorder.batches == [["first"], ["a", "b", "c"]]
    assert answers == [b"first", b"a", b"b", b"c"]


def test_other_options_many_rows_and_loners_are_batches_of_their_own() -> None:
    recorder = Recorder()
    waiting = [
        request("a"),
        request("sure", coverage=0.9),
        request("loner", alone=True),
        request("long", BATCH_ROWS),
        request("b"),
        request("surer", coverage=0.9),
    ]
    answers = asyncio.run(ask_all(recorder, waiting))
    assert recorder.batches == [["first"], ["a", "b"], ["sure", "surer"], ["loner"], ["long"]]
    assert answers == [b"first", b"a", b"sure", b"loner", b"long", b"b", b"surer"]


def test_an_error_goes_to_the_one_who_asked() -> None:
    answers = asyncio.run(ask_all(Recorder(), [request("a"), request("bad"), request("b")]))
    assert [answers[0], answers[1], answers[3]] == [b"first", b"a", b"b"]
    assert isinstance(answers[2], ValueError)


def test_who_leaves_is_not_predicted() -> None:
    recorder = Recorder()
    answers = asyncio.run(ask_all(recorder, [request(name) for name in "abc"], leaves=1))
    assert recorder.batches == [["first"], ["a", "c"]]
    assert isinstance(answers[2], asyncio.CancelledError)
    assert [answers[1], answers[3]] == [b"a", b"c"]


def test_it_works_again_after_it_was_empty() -> None:
    async def twice() -> list[bytes]:
        recorder = Recorder()
        recorder.go_on.set()
        batcher = Batcher(recorder)
        return [await batcher.answer(request("a")), await batcher.answer(request("b"))]

    assert asyncio.run(twice()) == [b"a", b"b"]


@pytest.mark.parametrize("late", [0, 1])
def test_who_leaves_while_being_predicted_disturbs_nobody(late: int) -> None:
    async def leave() -> bytes:
        recorder = Recorder()
        batcher = Batcher(recorder)
        first = asyncio.create_task(batcher.answer(request("first")))
        while not recorder.batches:
            await asyncio.sleep(0.001)
        first.cancel()
        if late:
            await asyncio.sleep(0.001)
        second = asyncio.create_task(batcher.answer(request("second")))
        recorder.go_on.set()
        return await second

    assert asyncio.run(leave()) == b"second"
