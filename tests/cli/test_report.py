"""``vmtl report``: what the page and the terminal say about the rows and the seed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

from helpers.report_models import Case, make_case
from helpers.tables import Run
from vmtl.cli.report import columns_of, fit_others
from vmtl.evaluation import Labelled

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
    answer = json.loads(run(*ask, "--data", mixed, "--json").stdout)
    assert answer["warnings"][0].startswith(told)
    done = run(*ask, "--data", tables / "class_labelled.csv")
    assert TOO_GOOD not in done.stderr + out.read_text()


def test_the_training_table_is_known_under_any_name_and_order(
    run: Run, tables: Path, class_model: Path, real_model: Path, tmp_path: Path
) -> None:
    out, copy, almost = tmp_path / "r.html", tmp_path / "other.csv", tmp_path / "real_train.csv"
    for model, name in ((class_model, "class_train"), (real_model, "real_train")):
        table = pd.read_csv(tables / f"{name}.csv")
        table.sample(frac=1, random_state=0).assign(note="of no use to the model").to_csv(copy, index=False)
        done = run("report", model, "--data", copy, "--out", out)
        assert "the rows the model was trained on" in done.stderr
        assert TOO_GOOD in out.read_text()
    table.assign(days=table["days"] + 1).to_csv(almost, index=False)
    for labelled in (almost, tables / "real_labelled.csv"):
        done = run("report", real_model, "--data", labelled, "--out", out)
        assert TOO_GOOD not in done.stderr + out.read_text()


def test_rows_of_a_task_that_was_not_in_training(run: Run, tables: Path, class_model: Path, tmp_path: Path) -> None:
    table, out = tmp_path / "moved.csv", tmp_path / "r.html"
    labelled = pd.read_csv(tables / "class_labelled.csv")
    labelled["site"] = labelled["site"].replace({labelled["site"].iloc[0]: "a new site"})
    labelled.to_csv(table, index=False)
    done = run("report", class_model, "--data", table, "--out", out)
    assert done.exit_code == 2
    assert "a new site" in done.stderr
    assert not out.exists()
    done = run("report", class_model, "--data", table, "--out", out, "--unknown-task", "average")
    assert done.exit_code == 0, done.output
    assert "not in training, so predicted as the average task: &#39;a new site&#39;" in out.read_text()


def test_the_seed_is_the_one_that_was_given(run: Run, tables: Path, class_model: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    run("report", class_model, "--data", tables / "class_labelled.csv", "--out", out)
    assert re.search(r">seed</td>\s*<td[^>]*>3</td>", out.read_text())


def test_columns_are_counted_unless_they_are_many(class_case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    totals: list[int | None] = []

    @contextmanager
    def bar(label: str, total: int | None = None, *, visible: bool = True) -> Iterator[object]:
        totals.append(total)
        yield lambda name: None

    monkeypatch.setattr("vmtl._utils.progress_bar.progress_bar", bar)
    X = pd.DataFrame(class_case.test.X)
    test = Labelled(X, class_case.test.y, class_case.test.tasks)
    assert columns_of(class_case.model, test, True) is not None
    monkeypatch.setattr("vmtl.evaluation.importance.MOST_COLUMNS", 1)
    columns_of(class_case.model, test, True)
    assert totals == [X.shape[1], None]


def test_a_control_is_fitted_where_there_is_something_to_explain(class_case: Case) -> None:
    """Two tasks have nobody to prefer."""
    for case, wanted in ((class_case, True), (make_case("class", ("a", "b")), False)):
        others, control = fit_others(case.model, case.evidence, case.train, case.test, ["pooled_linear"], 1, False)
        assert list(others) == ["pooled_linear"]
        assert (control is not None) == wanted
