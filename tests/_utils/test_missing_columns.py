"""Columns that a table does not have."""

from __future__ import annotations

import pytest

from vmtl._utils.missing_columns import MissingColumnsError, check_columns


def test_what_is_there_and_which_argument_chooses_it_is_said() -> None:
    check_columns("t.csv", {"site": "task", "y": "target"}, ["a", "site", "y"])
    with pytest.raises(MissingColumnsError) as caught:
        check_columns("t.csv", {"sit": "task", "y": "target"}, ["a", "site", "y"])
    assert str(caught.value) == (
        "t.csv has no column 'sit' (did you mean 'site'?). Its columns: 'a', 'site', 'y'. "
        "Choose one with the argument task."
    )
    assert caught.value.absent == {"sit": "task"}


def test_several_arguments_are_named_once_each() -> None:
    with pytest.raises(ValueError) as caught:
        check_columns("t.csv", {"p": "task", "q": "drop", "r": "drop"}, range(25))
    assert "has no columns 'p', 'q', 'r'." in str(caught.value)
    assert "'19' and 5 more." in str(caught.value)
    assert str(caught.value).endswith("Choose one with the argument task and one with the argument drop.")
