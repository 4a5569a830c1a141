"""Options of tables as they were typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.tables import Run
from vmtl.cli._support.reading import Reading, parse_types


def test_types_are_pairs() -> None:
    assert parse_types(["zip=text", "a=b=day-first"]) == {"zip": "text", "a=b": "day-first"}
    for pair in ("zip", "zip=word", "=text="):
        with pytest.raises(ValueError, match="is not COLUMN=TYPE"):
            parse_types([pair])


def test_columns_that_nobody_named_have_defaults() -> None:
    reading = Reading.of_options("site", None, "auto", None, None, None, None)
    assert (reading.task_column, reading.target_column, reading.assumed) == ("site", "label", ["target"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--encoding", "utf-9"), "'utf-9' is no known encoding"),
        (("--sheet", "A"), "is no Excel file, so it has no sheets"),
        (("--type", "age"), "--type 'age' is not COLUMN=TYPE"),
        (("--type", "age=float"), "with a TYPE among number, decimal-point"),
        (("--type", "agee=text"), "no column 'agee' (did you mean 'age'?)"),
        (("--holdout", "20"), "--holdout is 20; give the share of the rows"),
    ],
)
def test_what_makes_no_sense_is_refused(
    run: Run, tables: Path, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    table, columns = tables / "class_train.csv", ("--task", "site", "--target", "outcome")
    done = run("fit", table, *columns, "--out", tmp_path / "m.vmtl", *options)
    assert done.exit_code == 2
    assert words in done.stderr.splitlines()[-1]
    assert not (tmp_path / "m.vmtl").exists()


def test_text_of_another_encoding_than_was_named_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"gr\xf6\xdfe\n1\n")
    done = run("fit", tmp_path / "t.csv", "--encoding", "utf-8", "--out", tmp_path / "m.vmtl")
    assert done.exit_code == 2
    assert "it is no utf-8 text" in done.stderr
