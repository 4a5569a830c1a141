"""Options of tables as they were typed."""

from __future__ import annotations

import pytest

from vmtl.cli._support.reading import Reading, parse_types


def test_types_are_pairs() -> None:
    assert parse_types(["zip=text", "a=b=day-first"]) == {"zip": "text", "a=b": "day-first"}
    for pair in ("zip", "zip=word", "=text="):
        with pytest.raises(ValueError, match="is not COLUMN=TYPE"):
            parse_types([pair])


def test_columns_that_nobody_named_have_defaults() -> None:
    reading = Reading.of_options("site", None, "auto", None, None, None, None)
    assert (reading.task_column, reading.target_column, reading.assumed) == ("site", "label", ["target"])
