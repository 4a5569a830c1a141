"""Columns that options name."""

from __future__ import annotations

import pytest

from vmtl._utils.missing_columns import check_columns
from vmtl.cli._support.column_options import named_by_options

COLUMNS = ["age", "hospital", "treatment"]


def message(named: dict[str, str], **how: object) -> str:
    with pytest.raises(ValueError) as caught, named_by_options(**how):  # type: ignore[arg-type]
        check_columns("train.csv", named, COLUMNS)
    return str(caught.value)


def test_a_wrong_name_is_corrected_with_its_option() -> None:
    assert message({"hospitl": "task", "treatment": "target"}) == (
        "train.csv has no column 'hospitl' (did you mean 'hospital'?). Its columns: 'age', 'hospital', 'treatment'. "
        "Choose one with --task."
    )
    assert message({"a": "task", "b": "target"}).endswith("Choose one with --task and one with --target.")


def test_an_option_that_was_left_out_is_asked_for() -> None:
    assert message({"domain": "task"}, assumed=["task"]) == (
        "Say which column holds the task: --task COLUMN (the default, 'domain', is not in train.csv)."
    )
    assert message({"domain": "task", "label": "target"}, assumed=["task", "target"]) == (
        "Say which columns hold the task and the target: --task COLUMN --target COLUMN "
        "(the defaults, 'domain' and 'label', are not in train.csv)."
    )


def test_a_model_file_may_not_have_recorded_it() -> None:
    assert message({"label": "target"}, assumed=["target"], model=True) == (
        "The model file does not record its target column; add --target COLUMN."
    )


def test_other_errors_pass() -> None:
    with pytest.raises(ValueError, match=r"^Another one$"), named_by_options():
        raise ValueError("Another one")
