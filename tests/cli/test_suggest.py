"""``vmtl suggest``: which rows to have labelled next."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pandas as pd

from helpers.tables import Run


def test_chosen_rows_are_written_with_their_place(run: Run, tables: Path, class_model: Path, tmp_path: Path) -> None:
    pool = pd.read_csv(tables / "new.csv")
    done = run("suggest", class_model, tables / "new.csv", "-n", 7, "--out", tmp_path / "chosen.csv")
    assert done.exit_code == 0, done.output
    assert "7 rows to label" in done.stderr
    chosen = pd.read_csv(tmp_path / "chosen.csv")
    assert chosen["row"].nunique() == 7
    expected = pool.iloc[chosen["row"] - 1].reset_index(drop=True)
    pd.testing.assert_frame_equal(chosen.drop(columns="row"), expected, check_exact=False, atol=1e-9)
    as_json = json.loads(run("suggest", class_model, tables / "new.csv", "-n", 7, "--json").stdout)
    assert as_json["rows"] == chosen["row"].tolist()


def test_for_one_task_only_its_rows(run: Run, tables: Path, real_model: Path) -> None:
    done = run("suggest", real_model, tables / "new.csv", "-n", 4, "--for-task", "west", "--quiet")
    assert done.exit_code == 0, done.output
    assert set(pd.read_csv(io.StringIO(done.stdout))["site"]) == {"west"}


def test_bad_input_is_a_sentence_and_no_file(run: Run, tables: Path, class_model: Path, tmp_path: Path) -> None:
    out = tmp_path / "chosen.csv"
    for arguments, sentence in (
        (("-n", 100), "n is 100, but there are 60 different rows to choose from."),
        (("-n", 2, "--for-task", "wst"), "Unknown task 'wst' (did you mean 'west'?); the model knows"),
    ):
        done = run("suggest", class_model, tables / "new.csv", *arguments, "--out", out)
        assert done.exit_code == 2
        assert sentence in done.stderr
        assert not out.exists()
