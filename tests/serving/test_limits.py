"""The limits of a service, and what the documentation says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from vmtl.serving import Limits

PAGE = Path(__file__).resolve().parents[2] / "docs" / "production.md"


def test_bodies_of_all_requests_have_a_limit_of_their_own() -> None:
    limits = Limits(rows=3, bytes=100, waiting=2, seconds=1.5)
    assert limits.to_json() == {"rows": 3, "bytes": 100, "waiting": 2, "seconds": 1.5}
    assert limits.bytes_waiting == 400


def test_the_page_states_them() -> None:
    pytest.importorskip("uvicorn")
    from vmtl.serving import server

    limits, text = Limits(), PAGE.read_text(encoding="utf-8")
    assert limits.bytes == 2**24
    for row in (
        f"| rows of a request | `--max-rows`, {limits.rows:,} |",
        "| length of a request | `--max-bytes`, 16 MiB |",
        f"| requests that wait | `--max-waiting`, {limits.waiting} |",
        f"| open connections | {server.MOST_CONNECTIONS} |",
        f"| time to the prediction | `--timeout`, {limits.seconds:g} s from the head |",
        f"| time for the head to arrive | {server.HEAD_SECONDS} s |",
        f"| idle connection | {server.IDLE_SECONDS} s |",
        f"| client that does not read its answer (Linux) | {server.STALLED_SECONDS} s |",
        f"| requests under way at SIGTERM | {server.GRACE} s |",
    ):
        assert row in text
