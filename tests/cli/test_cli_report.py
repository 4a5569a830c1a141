"""``vmtl report``: what the page and the terminal say about the rows and the seed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
from cli_tables import Run

TOO_GOOD = "the numbers are too good"


def test_rows_that_were_in_training_are_told(run: Run, tables: Path, class_model: Path, tmp_path: Path) -> None:
    train, mixed, out = tables / "class_train.csv", tmp_path / "mixed.csv", tmp_path / "r.html"
    pd.concat([pd.read_csv(train)[:4], pd.read_csv(tables / "class_labelled.csv")]).to_csv(mixed, index=False)
    ask = ("report", class_model, "--train", train, "--compare", "stl", "--repeats", 0, "--out", out)
    done = run(*ask, "--data", mixed)
    assert done.exit_code == 0, done.output
    told = "4 of the 64 labelled rows are also among the training rows"
    assert told in done.stderr
    assert told in out.read_text()
    found = json.loads(run(*ask, "--data", mixed, "--json").stdout)
    assert found["warnings"][0].startswith(told)
    done = run(*ask, "--data", tables / "class_labelled.csv")
    assert TOO_GOOD not in done.stderr + out.read_text()


def test_the_training_table_is_known_by_its_name_and_counts(
    run: Run, tables: Path, real_model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "r.html"
    done = run("report", real_model, "--data", tables / "real_train.csv", "--out", out)
    assert "look like the training table" in done.stderr
    assert TOO_GOOD in out.read_text()
    done = run("report", real_model, "--data", tables / "real_labelled.csv", "--out", out)
    assert TOO_GOOD not in done.stderr + out.read_text()


def test_the_seed_is_the_one_that_was_given(run: Run, tables: Path, class_model: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    run("report", class_model, "--data", tables / "class_labelled.csv", "--out", out)
    assert re.search(r">seed</td>\s*<td[^>]*>3</td>", out.read_text())
