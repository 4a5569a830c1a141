"""A folder of Parquet files gives the model that its rows give in memory, and one sentence where it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import vmtl
from helpers.folders import labelled, write_folder
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl.data.stored import parquet_folder, stored_rows
from vmtl.estimators import parquet_fit

pytest.importorskip("pyarrow", reason="Parquet is an extra: pip install vmtl[tables]")

N_ROWS = 900


@pytest.fixture(scope="module", autouse=True)
def few_are_many() -> Iterator[None]:
    """Limits of thousands of rows are limits of hundreds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_fit, "MAX_ROWS_IN_MEMORY", 200)
        patch.setattr(parquet_folder, "BLOCK_ROWS", 50)
        yield


def model_of(classes: int, **options: Any) -> Any:
    kind = MultiTaskClassifier if classes else MultiTaskRegressor
    return kind(**({"random_state": 0} | options))


def in_memory(table: pd.DataFrame, model: Any) -> Any:
    return model.fit(table.drop(columns=["site", "y"]), table["y"], tasks=table["site"])


def predictions(model: Any, table: pd.DataFrame) -> list[np.ndarray]:
    X, tasks = table.drop(columns=["site", "y"]), table["site"]
    mean = model.predict_proba(X, tasks=tasks) if hasattr(model, "classes_") else model.predict(X, tasks=tasks)
    ends = (
        model.predict_interval(X, tasks=tasks) if not hasattr(model, "classes_") else model.predict_set(X, tasks=tasks)
    )
    return [mean, model.uncertainty(X, tasks=tasks).to_numpy(), ends.to_numpy(dtype=float)]


def assert_alike(one: Any, two: Any, table: pd.DataFrame, rtol: float = 1e-6) -> None:
    assert list(one.tasks_) == list(two.tasks_)
    assert list(getattr(one, "classes_", ())) == list(getattr(two, "classes_", ()))
    for a, b in zip(predictions(one, table), predictions(two, table), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(b).max())
    np.testing.assert_allclose(one.sharing_, two.sharing_, rtol=rtol)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_it_is_the_fit_of_all_rows(classes: int, tmp_path: Path) -> None:
    table = labelled(N_ROWS, classes)
    write_folder(tmp_path / "rows", table)
    found = model_of(classes).fit_parquet(tmp_path / "rows", task="site", target="y")
    assert_alike(found, in_memory(table, model_of(classes)), table.head(50))


def test_text_gaps_and_dates_are_encoded_as_in_memory(tmp_path: Path) -> None:
    table = labelled(N_ROWS, 0)
    table["colour"] = np.where(table["a"] > 0.5, "red", np.where(table["b"] > 0, "blue", None))
    table["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N_ROWS), "D")
    table.loc[3:9, "c"] = np.nan
    write_folder(tmp_path / "rows", table)
    found = model_of(0, missing="impute").fit_parquet(tmp_path / "rows", task="site", target="y", drop=["d"])
    expected = in_memory(table.drop(columns="d"), model_of(0, missing="impute"))
    assert found.preprocessor_.feature_names_out_ == expected.preprocessor_.feature_names_out_
    assert_alike(found, expected, table.drop(columns="d").head(50))


def test_balanced_classes(tmp_path: Path) -> None:
    table = labelled(N_ROWS, 2).assign(y=lambda rows: np.where(rows["a"] > 1, "rare", "usual"))
    write_folder(tmp_path / "rows", table)
    found = model_of(2, class_weight="balanced").fit_parquet(tmp_path / "rows", task="site", target="y")
    assert_alike(found, in_memory(table, model_of(2, class_weight="balanced")), table.head(50))


def test_a_small_folder_is_read_whole(tmp_path: Path) -> None:
    table = labelled(120, 2)
    write_folder(tmp_path / "rows", table)
    found = model_of(2).fit_parquet(tmp_path / "rows", task="site", target="y")
    assert_alike(found, in_memory(table, model_of(2)), table, rtol=1e-12)


def test_of_very_many_rows_a_pool_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then other rows are looked at when something is chosen: the model is another one, but hardly."""
    monkeypatch.setattr(stored_rows, "POOL_ROWS", 600)
    monkeypatch.setattr(stored_rows, "TASK_ROWS", 30)
    table = labelled(900, 0)
    write_folder(tmp_path / "rows", table)
    found = model_of(0).fit_parquet(tmp_path / "rows", task="site", target="y")
    expected = in_memory(table, model_of(0))
    one, two = predictions(found, table)[0], predictions(expected, table)[0]
    assert np.corrcoef(one, two)[0, 1] > 0.97
    assert not np.allclose(one, two, rtol=1e-6)


def test_a_task_can_be_added_and_a_file_written(tmp_path: Path) -> None:
    table, more = labelled(N_ROWS, 2), labelled(40, 2, seed=1)
    write_folder(tmp_path / "rows", table)
    found, expected = (
        model_of(2).fit_parquet(tmp_path / "rows", task="site", target="y"),
        in_memory(table, model_of(2)),
    )
    for model in (found, expected):
        model.add_task(more[list("abcd")], more["y"], task="dresden")
    assert_alike(found, expected, more.assign(site="dresden"))
    found.save(tmp_path / "model.vmtl")
    again = vmtl.load(tmp_path / "model.vmtl")
    X, tasks = table[list("abcd")], table["site"]
    np.testing.assert_array_equal(again.predict_proba(X, tasks=tasks), found.predict_proba(X, tasks=tasks))


def test_nothing_is_left_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    write_folder(tmp_path / "rows", labelled(N_ROWS, 0))
    model_of(0).fit_parquet(tmp_path / "rows", task="site", target="y")
    assert not list((tmp_path / "scratch").iterdir())


def no_folder(folder: Path) -> None:
    pass


def no_files(folder: Path) -> None:
    folder.mkdir()
    (folder / "rows.csv").write_text("a\n1\n")


def other_columns(folder: Path) -> None:
    write_folder(folder, labelled(N_ROWS, 2))
    labelled(9, 2).rename(columns={"b": "B"}).to_parquet(folder / "z.parquet")


def other_types(folder: Path) -> None:
    write_folder(folder, labelled(N_ROWS, 2))
    labelled(9, 2).astype({"b": str}).to_parquet(folder / "z.parquet")


def no_task(folder: Path) -> None:
    write_folder(folder, labelled(N_ROWS, 2).rename(columns={"site": "sites"}))


def gap_in_task(folder: Path) -> None:
    table = labelled(N_ROWS, 2)
    table.loc[5, "site"] = None
    write_folder(folder, table)


def gap_in_column(folder: Path) -> None:
    table = labelled(N_ROWS, 2)
    table.loc[N_ROWS - 1, "c"] = np.nan
    write_folder(folder, table)


def no_features(folder: Path) -> None:
    write_folder(folder, labelled(N_ROWS, 2)[["site", "y"]])


def no_rows(folder: Path) -> None:
    folder.mkdir()
    labelled(9, 2).head(0).to_parquet(folder / "0.parquet")


def damaged(folder: Path) -> None:
    write_folder(folder, labelled(N_ROWS, 2))
    (folder / "0.parquet").write_bytes(b"PAR1 and nothing else")


def fractions(folder: Path) -> None:
    write_folder(folder, labelled(N_ROWS, 0))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (no_folder, "There is no folder"),
        (no_files, "has no Parquet files"),
        (other_columns, "that .* does not have; give all files the same columns"),
        (other_types, "Column 'b' is double in .* but .*string in"),
        (no_task, "has no column 'site' .*did you mean 'sites'"),
        (gap_in_task, "Column 'site' of the folder is empty in some rows"),
        (gap_in_column, "NaN in column 'c'"),
        (no_features, "has no columns besides"),
        (no_rows, "have no rows"),
        (damaged, "cannot be read as Parquet"),
        (fractions, "y holds fractions"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(make: Any, sentence: str, tmp_path: Path) -> None:
    make(tmp_path / "rows")
    model = model_of(2)
    with pytest.raises((ValueError, FileNotFoundError), match=sentence) as caught:
        model.fit_parquet(tmp_path / "rows", task="site", target="y")
    assert "\n" not in str(caught.value)
    assert not hasattr(model, "tasks_")


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"engine": "cloud"}, "choose local or ray"),
        ({"engine": "ray", "workers": 0}, "choose at least 1"),
        ({"workers": 2}, "workers and address are for engine='ray'"),
    ],
)
def test_what_cannot_be_fitted_in_parts_is_refused(how: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    write_folder(tmp_path / "rows", labelled(N_ROWS, 2))
    with pytest.raises(ValueError, match=sentence):
        model_of(2).fit_parquet(tmp_path / "rows", task="site", target="y", **how)
