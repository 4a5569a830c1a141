"""The progress bar: on standard error, with what is done; silent where nobody wants it."""

from __future__ import annotations

import pytest

from vmtl._utils.progress_bar import progress_bar


def test_it_shows_what_is_done_the_rate_and_a_text_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with progress_bar("Fits", 3, unit="fits") as show:
        show("first")
        show("second")
    written = capsys.readouterr()
    assert written.out == ""
    assert all(word in written.err for word in ("Fits", "2/3", "second", "fits/s"))


def test_the_work_may_say_how_far_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with progress_bar("Fitting") as show:
        show("loss 1", completed=40, total=100)
        show("loss 0", completed=70, total=100, label="Training")
    last = capsys.readouterr().err.rpartition("Fitting")[-1]
    assert " 70/100" in last
    assert "Training" in last


def test_nothing_is_counted_while_nobody_knows_how_much_there_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with progress_bar("Fitting") as show:
        show("choosing a kernel", 0)
        show("solving for the weights", 0)
    shown = capsys.readouterr().err
    assert "solving for the weights" in shown
    assert "/?" not in shown


def test_an_invisible_bar_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("Fits", 2, visible=False) as show:
        show()
        show("text", completed=2, total=2)
    assert capsys.readouterr() == ("", "")
