"""Attempts at a job that go wrong, where the processes of an engine can import them."""

from __future__ import annotations

import os

from benchmarks.paper.run.engines import Place


def die(arguments: dict[str, object], place: Place) -> None:
    """End the process without a word."""
    os._exit(9)


def die_once(arguments: dict[str, object], place: Place) -> dict[str, object]:
    """The same, but only at the first attempt."""
    assert place.data is not None
    flag = place.data / f"{arguments['method']}"
    if not flag.exists():
        flag.touch()
        os._exit(9)
    return {"method": arguments["method"]}


def refuse(arguments: dict[str, object], place: Place) -> None:
    """An error like any other."""
    raise ValueError("this cannot be")
