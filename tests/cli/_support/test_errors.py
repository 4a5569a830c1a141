"""Bad input: one sentence, the right exit code, nothing written."""

from __future__ import annotations

import errno
import io
import os
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import typer

from helpers.tables import FEW, Run
from vmtl.cli._support.errors import GuardedGroup

Arguments = list[object]


def fit(folder: Path, *further: object, table: str = "class_train.csv") -> Arguments:
    return ["fit", folder / table, "--task", "site", "--target", "outcome", *FEW, *further]


def edited(folder: Path, out: Path, edit: Callable[[pd.DataFrame], pd.DataFrame], name: str = "new.csv") -> Path:
    edit(pd.read_csv(folder / name)).to_csv(out / "edited.csv", index=False)
    return out / "edited.csv"


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


FIT_ERRORS: dict[str, tuple[Callable[[Path, Path], Arguments], str]] = {
    "no file": (lambda d, o: fit(d, table="absent.csv"), "There is no file"),
    "no task column": (lambda d, o: fit(d, "--task", "hospital"), "has no column 'hospital'. Its columns: 'age',"),
    "task not given": (
        lambda d, o: ["fit", d / "class_train.csv", "--target", "outcome"],
        "Error: Say which column holds the task: --task COLUMN (the default, 'domain', is not in",
    ),
    "neither given": (
        lambda d, o: ["fit", d / "class_train.csv"],
        "Say which columns hold the task and the target: --task COLUMN --target COLUMN (the defaults, 'domain' and",
    ),
    "wrong case": (lambda d, o: fit(d, "--task", "Site"), "has no column 'Site' (did you mean 'site'?). Its"),
    "a typo": (lambda d, o: fit(d, "--target", "outcme"), "'site', 'outcome'. Choose one with --target."),
    "no target column": (lambda d, o: fit(d, "--target", "y"), "has no column 'y'"),
    "one class": (
        lambda d, o: fit(o, table=edited(d, o, lambda t: t.assign(outcome="mild"), "class_train.csv").name),
        "is 'mild' in every row; give rows of at least two classes",
    ),
    "a slip in the target": (
        lambda d, o: fit(o, "--target", "days", table=edited(d, o, _slip, "real_train.csv").name),
        "'days' is nearly all numbers; 1 cell such as 'n/a?' in data row 8 is not; repair it, or choose the kind",
    ),
    "a slip in a regression": (
        lambda d, o: fit(
            o, "--target", "days", "--kind", "regression", table=edited(d, o, _slip, "real_train.csv").name
        ),
        "'n/a?' in data row 8",
    ),
    "unknown drop": (lambda d, o: fit(d, "--drop", "z"), "Choose one with --drop."),
    "unknown kind": (lambda d, o: fit(d, "--kind", "guess"), "choose one of"),
    "text as a number": (lambda d, o: fit(d, "--kind", "regression"), "no number"),
    "unknown method": (lambda d, o: fit(d, "--paper-method", "magic"), "Unknown method 'magic'"),
    "unknown preset": (lambda d, o: fit(d, "--paper-method", "vmtl", "--preset", "magic"), "Unknown preset 'magic'"),
    "unknown option": (lambda d, o: fit(d, "--set", "magic=1"), "--set 'magic=1' is not NAME=VALUE"),
    "no value": (lambda d, o: fit(d, "--set", "sharing"), "--set 'sharing' is not NAME=VALUE"),
    "bad value": (
        lambda d, o: fit(d, "--paper-method", "vmtl", "--set", "sharing=2"),
        "sharing must be between 0 and 1",
    ),
    "unknown choice": (lambda d, o: fit(d, "--missing", "guess"), "missing must be one of"),
    "gaps refused": (lambda d, o: fit(d, "--missing", "error"), "Values are missing in 'bmi'"),
    "no folder": (lambda d, o: fit(d, "--out", o / "no" / "m.vmtl"), "There is no folder"),
    "a folder": (lambda d, o: fit(d, "--out", o), "is a folder"),
    "its own input": (lambda d, o: fit(d, "--out", d / "class_train.csv"), "is one of the inputs"),
    "an empty file": (lambda d, o: fit(o, table=written(o / "e.csv", b"").name), "e.csv is empty"),
    "no rows": (lambda d, o: fit(o, table=written(o / "e.csv", b"a,site,outcome\n").name), "has no rows"),
    "not text": (lambda d, o: fit(o, table=written(o / "e.csv", b"PK\x00a,\n1,\n").name), "it holds zero bytes"),
    "not UTF-16": (lambda d, o: fit(o, table=written(o / "e.csv", b"\xff\xfea\x00\x00\xd8").name), "no UTF-16 text"),
    "another kind of file": (lambda d, o: fit(o, table=written(o / "e.ods", b"PK").name), "export it as CSV"),
    "no Excel file": (lambda d, o: fit(o, table=written(o / "e.xlsx", b"PK").name), "it is no Excel file"),
    "a task without a name": (
        lambda d, o: fit(o, table=edited(d, o, _without_site, "class_train.csv").name),
        "'site' of",
    ),
}


def _slip(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(days=table["days"].astype(object).where(table.index != 7, "n/a?"))


def _capitals(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(outcome=table["outcome"].replace("mild", "Mild"))


def _sixty(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(age=table["age"].astype(object).where(table.index != 3, "sixty"))


def _without_site(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(site=table["site"].where(table.index > 0))


@pytest.mark.parametrize("name", FIT_ERRORS)
def test_fit_refuses(run: Run, tables: Path, tmp_path: Path, name: str) -> None:
    arguments, words = FIT_ERRORS[name]
    given = arguments(tables, tmp_path)
    if "--out" not in given:
        given += ["--out", tmp_path / "m.vmtl"]
    before = {path: path.read_bytes() for folder in (tables, tmp_path) for path in folder.iterdir() if path.is_file()}
    check_refused(run(*given), words)
    after = {path: path.read_bytes() for folder in (tables, tmp_path) for path in folder.iterdir() if path.is_file()}
    assert after == before


def check_refused(done: object, words: str, code: int = 2) -> None:
    assert done.exit_code == code, done.output  # type: ignore[attr-defined]
    text = done.stderr.splitlines()[-1]  # type: ignore[attr-defined]
    assert text.startswith("Error: ")
    assert words in text
    assert "Traceback" not in done.output  # type: ignore[attr-defined]


USE_ERRORS: dict[str, tuple[Callable[[Path, Path, Path], Arguments], str]] = {
    "no model": (lambda d, m, o: ["predict", o / "no.vmtl", d / "new.csv"], "There is no model file"),
    "a table as model": (lambda d, m, o: ["info", d / "new.csv"], "is not a vmtl file"),
    "swapped": (lambda d, m, o: ["predict", d / "new.csv", m], "give a model written by `vmtl fit`"),
    "an unknown output": (lambda d, m, o: ["predict", m, d / "new.csv", "--out", o / "p.xlsx"], "in .csv or .tsv"),
    "an unknown choice": (
        lambda d, m, o: ["predict", m, d / "new.csv", "--unknown-task", "guess"],
        "choose error, average or similar",
    ),
    "one cell of text": (
        lambda d, m, o: ["predict", m, edited(d, o, _sixty)],
        "edited.csv, data row 4: 'sixty' in column 'age', which held numbers in training; write a number or leave",
    ),
    "another case": (
        lambda d, m, o: ["evaluate", m, edited(d, o, _capitals, "class_labelled.csv")],
        "has the class 'Mild' (did you mean 'mild'?), which the model never saw; spell it as in training",
    ),
    "a task in another case": (
        lambda d, m, o: ["predict", m, edited(d, o, lambda t: t.assign(site=t["site"].str.upper()))],
        "(did you mean 'north'?)",
    ),
    "a folder as model": (lambda d, m, o: ["info", o], "is a folder"),
    "a pickle": (lambda d, m, o: ["info", written(o / "p.vmtl", b"\x80\x04\x95cos\nsystem\n")], "is not a vmtl file"),
    "a damaged model": (
        lambda d, m, o: ["info", written(o / "p.vmtl", m.read_bytes()[:-9] + b"\x01" * 9)],
        "damaged",
    ),
    "a cut model": (lambda d, m, o: ["info", written(o / "p.vmtl", m.read_bytes()[:100])], "cut short"),
    "unknown task": (
        lambda d, m, o: ["predict", m, edited(d, o, lambda t: t.assign(site="east"))],
        "Unknown task 'east'; the model knows 'north', 'south', 'west'. Set unknown_task='average' (--unknown-task",
    ),
    "a lacking column": (
        lambda d, m, o: ["predict", m, edited(d, o, lambda t: t.drop(columns="age"))],
        "edited.csv lacks 'age', which the model was fitted on; add it.",
    ),
    "lacking columns": (
        lambda d, m, o: ["evaluate", m, edited(d, o, lambda t: t[["site", "outcome", "bmi"]], "class_labelled.csv")],
        "edited.csv lacks 'age', 'dose', 'ward', which the model was fitted on; add them.",
    ),
    "no task column": (
        lambda d, m, o: ["predict", m, edited(d, o, lambda t: t.drop(columns="site"))],
        "no task column 'site'",
    ),
    "an empty task": (lambda d, m, o: ["predict", m, edited(d, o, _without_site)], "'site' of"),
    "a taken column": (
        lambda d, m, o: ["predict", m, edited(d, o, lambda t: t.assign(prediction=1))],
        "already has a column 'prediction'",
    ),
    "text for numbers": (lambda d, m, o: ["predict", m, edited(d, o, lambda t: t.assign(age="old"))], "'age'"),
    "no rows": (lambda d, m, o: ["predict", m, edited(d, o, lambda t: t[:0])], "has no rows"),
    "no labels": (lambda d, m, o: ["evaluate", m, d / "new.csv"], "'ward', 'site'. Choose one with --target."),
    "an unseen class": (
        lambda d, m, o: ["evaluate", m, edited(d, o, lambda t: t.assign(outcome="new"), "class_labelled.csv")],
        "has the class 'new', which the model never saw",
    ),
    "comparison without rows": (
        lambda d, m, o: ["report", m, "--data", d / "class_labelled.csv", "--compare", "stl", "--out", o / "r.html"],
        "add --train",
    ),
    "comparison with nothing": (
        lambda d, m, o: [
            *("report", m, "--data", d / "class_labelled.csv", "--out", o / "r.html"),
            *("--train", d / "class_train.csv", "--compare", "magic"),
        ],
        "There is nothing called 'magic' to compare with",
    ),
}


@pytest.mark.parametrize("name", USE_ERRORS)
def test_commands_refuse(run: Run, tables: Path, class_model: Path, tmp_path: Path, name: str) -> None:
    arguments, words = USE_ERRORS[name]
    given = arguments(tables, class_model, tmp_path)
    if given[0] == "predict" and "--out" not in given:
        given += ["--out", tmp_path / "out.csv"]
    check_refused(run(*given), words)
    assert not (tmp_path / "out.csv").exists()
    assert not (tmp_path / "p.xlsx").exists()
    assert not (tmp_path / "r.html").exists()


def test_wrong_usage_is_2(run: Run, tables: Path) -> None:
    for wrong in (["fit"], ["fit", tables / "class_train.csv"], ["nonsense"], ["fit", "--steps", "0"]):
        assert run(*wrong).exit_code == 2


def test_a_read_only_folder_is_refused_before_the_work(
    run: Run, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    check_refused(run(*fit(tables, "--out", tmp_path / "m.vmtl")), "cannot be written to")


def test_a_full_disk_is_a_failure_and_keeps_the_old_file(
    run: Run, tables: Path, class_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    out = written(tmp_path / "p.csv", b"old")
    monkeypatch.setattr(os, "fsync", full)
    check_refused(run("predict", class_model, tables / "new.csv", "--out", out), "No space left", code=1)
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]
    assert out.read_bytes() == b"old"


def test_ctrl_c_while_writing_leaves_nothing(
    run: Run, tables: Path, class_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stop)
    done = run("predict", class_model, tables / "new.csv", "--out", tmp_path / "p.csv")
    assert done.exit_code == 130
    assert "Stopped" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_surprises_ask_for_debug_and_debug_shows_the_traceback(
    run: Run, class_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def surprise(path: Path) -> None:
        raise ZeroDivisionError("who would\nhave thought")

    monkeypatch.setattr("vmtl.cli._support.loading.load_model", surprise)
    done = run("info", class_model)
    check_refused(done, "ZeroDivisionError: who would have thought", code=1)
    assert "--debug" in done.stderr
    for wanted in (["--debug", "info", class_model], ["info", class_model, "--debug"]):
        done = run(*wanted)
        assert isinstance(done.exception, ZeroDivisionError)
        assert "surprise" in "".join(traceback.format_exception(done.exception))


def test_names_cannot_drive_the_terminal(run: Run, tables: Path, class_model: Path, tmp_path: Path) -> None:
    wild = edited(tables, tmp_path, lambda t: t.assign(site="\x1b[2J[bold]east"))
    done = run("predict", class_model, wild, "--out", tmp_path / "p.csv")
    assert "\x1b" not in done.output
    check_refused(done, "[bold]east")


def test_a_terminal_gets_no_line_that_breaks_within_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not read in a terminal stays one line."""
    width, words = 40, "There is no such thing; give another one. " * 5

    def fail(context: object) -> None:
        raise ValueError(words)

    monkeypatch.setattr("typer.core.TyperGroup.invoke", lambda group, context: fail(context))
    monkeypatch.setenv("COLUMNS", str(width))
    for is_terminal in (True, False):
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda answer=is_terminal: answer)
        monkeypatch.setattr("sys.stderr", stream)
        with pytest.raises(typer.Exit):
            GuardedGroup().invoke(SimpleNamespace(meta={}))
        lines = stream.getvalue().splitlines()
        assert " ".join(lines) == f"Error: {words.strip()}"
        assert (max(map(len, lines)) <= width) == is_terminal


def test_warnings_of_libraries_are_one_line(run: Run, class_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(path: Path) -> None:
        warnings.warn("mind\nthe gap", UserWarning, stacklevel=1)
        raise ValueError("Enough.")

    monkeypatch.setattr("vmtl.cli._support.loading.load_model", load)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert run("info", class_model).stderr == "Warning: mind the gap\nError: Enough.\n"
