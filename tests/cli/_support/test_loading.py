"""Files that commands read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl.cli._support.loading import as_written, digest, load_model, match_tasks, read_labelled, read_rows


def test_a_model_of_either_kind_is_loaded(class_model: Path, real_model: Path) -> None:
    assert isinstance(load_model(class_model), MultiTaskClassifier)
    assert isinstance(load_model(real_model), MultiTaskRegressor)
    assert load_model(class_model, "average").unknown_task == "average"


def test_what_cannot_be_loaded_is_explained(class_model: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="make one with `vmtl fit`"):
        load_model(tmp_path / "absent.vmtl")
    with pytest.raises(ValueError, match="--unknown-task is 'guess'"):
        load_model(class_model, "guess")


@pytest.mark.parametrize(
    ("names", "kind"), [(("1", "-2"), "i"), (("1", "02"), "U"), (("1", "a"), "U"), (("1" * 20, "2"), "U")]
)
def test_whole_numbers_stay_numbers(names: tuple[str, ...], kind: str) -> None:
    written = as_written(names)
    assert written.dtype.kind == kind
    assert tuple(map(str, written)) == names


def test_tasks_are_those_of_the_model_however_they_are_written(class_model: Path) -> None:
    model = load_model(class_model)
    model.tasks_ = np.array([1, 2], dtype=object)
    assert match_tasks(np.array(["1", "2", "3"], dtype=object), model).tolist() == [1, 2, "3"]


def test_labelled_rows_have_the_names_of_training(tables: Path, class_model: Path) -> None:
    model = load_model(class_model)
    problem, tasks, labels = read_labelled(tables / "class_labelled.csv", model, None, None)
    assert set(tasks) <= set(model.tasks_)
    assert set(labels) <= set(model.classes_)
    assert len(labels) == problem.n_rows


def test_rows_to_predict_need_no_target(tables: Path, class_model: Path, tmp_path: Path) -> None:
    table = pd.read_csv(tables / "class_labelled.csv").drop(columns="outcome")
    table.to_csv(tmp_path / "new.csv", index=False)
    rows = read_rows(tmp_path / "new.csv", load_model(class_model), None)
    assert rows.table is not None
    assert len(rows.tasks) == len(table)


def test_columns_that_nobody_named_are_asked_for(tables: Path, class_model: Path, tmp_path: Path) -> None:
    """A model file that was saved from Python need not say what its columns were called."""
    model = load_model(class_model)
    labelled = tables / "class_labelled.csv"
    with pytest.raises(
        ValueError, match=r"has no column 'sit' \(did you mean 'site'\?\)\. .* Choose one with --task\."
    ):
        read_labelled(labelled, model, "sit", None)
    model.metadata_ = {"task": "site"}
    with pytest.raises(ValueError, match=r"^The model file does not record its target column; add --target COLUMN\.$"):
        read_labelled(labelled, model, None, None)
    assert read_labelled(labelled, model, None, "outcome")[0].n_rows == 60
    model.metadata_, model.task_column = {}, None
    with pytest.raises(ValueError, match=r"its task and target columns; add --task COLUMN --target COLUMN\.$"):
        read_labelled(labelled, model, None, None)
    with pytest.raises(ValueError, match=r"^The model file does not record its task column; add --task COLUMN\.$"):
        read_rows(tables / "new.csv", model, None)


def test_a_cell_of_another_kind_is_found_in_its_file(tables: Path, class_model: Path, tmp_path: Path) -> None:
    table = pd.read_csv(tables / "class_labelled.csv").astype({"age": object})
    table.loc[1, "age"] = "high"
    table.to_csv(tmp_path / "text.csv", index=False)
    found = r"text\.csv, data row 2: 'high' in column 'age', which held numbers in training; write a number"
    with pytest.raises(ValueError, match=found):
        read_labelled(tmp_path / "text.csv", load_model(class_model), None, None)
    with pytest.raises(ValueError, match=found):
        read_rows(tmp_path / "text.csv", load_model(class_model), None)


def test_no_column_is_suggested_that_the_model_uses(tables: Path, class_model: Path, tmp_path: Path) -> None:
    table = pd.read_csv(tables / "new.csv").rename(columns={"age": "Age"})
    table.to_csv(tmp_path / "t.csv", index=False)
    model = load_model(class_model)
    with pytest.raises(ValueError, match=r"lacks 'age' \(did you mean 'Age'\?\)"):
        read_rows(tmp_path / "t.csv", model, None)
    assert model.preprocessor_ is not None
    model.preprocessor_.feature_names_in_[0] = "doses"
    with pytest.raises(ValueError, match="lacks 'doses', which"):
        read_rows(tables / "new.csv", model, None)


def test_a_digest_is_of_rows_in_any_order(tables: Path, class_model: Path, tmp_path: Path) -> None:
    model = load_model(class_model)
    table = pd.read_csv(tables / "class_labelled.csv")
    table.sample(frac=1, random_state=0).to_csv(tmp_path / "turned.csv", index=False)
    table.iloc[1:].to_csv(tmp_path / "fewer.csv", index=False)
    files = (tables / "class_labelled.csv", tmp_path / "turned.csv", tmp_path / "fewer.csv")
    same, turned, fewer = (digest(read_labelled(file, model, None, None)[0], model) for file in files)
    assert same == turned != fewer
