"""A block of a folder becomes the rows that the fitted estimator would make of it, by what all blocks taught."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

from helpers.folders import labelled
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl.data.preprocessing import TablePreprocessor
from vmtl.estimators.inputs.folder_reader import FolderReader
from vmtl.estimators.inputs.target_encoding import ClassEncoder, RealEncoder, TargetEncoder

PLACES = {"aachen": 0, "bonn": 1, "celle": 2}
FEATURES = ("c", "a")


def reader_of(model: MultiTaskClassifier | MultiTaskRegressor, encoder: TargetEncoder, **known: object) -> FolderReader:
    """One that knows these things of columns and targets, and is not fitted."""
    plain = {"preprocessor_": None, "n_features_in_": 2, "feature_names_in_": np.array(FEATURES, dtype=object)}
    for name, value in (known if "preprocessor_" in known else plain | known).items():
        setattr(model, name, value)
    return FolderReader(model, "site", "y", FEATURES, PLACES, encoder)


def test_classes_and_tasks_have_the_numbers_of_the_whole_folder() -> None:
    """A block of one task and one class still knows of all."""
    table = labelled(90, 3).assign(y=lambda rows: np.array(["low", "mid", "top"])[rows["y"]])
    block = table[(table["site"] == "celle") & (table["y"] == "top")]
    reader = reader_of(MultiTaskClassifier(), ClassEncoder(np.array(["low", "mid", "top"], dtype=object)))
    rows = reader(block, 0)
    assert (rows.n_tasks, rows.n_classes, rows.is_classification) == (3, 3, True)
    assert rows.task.tolist() == [2] * len(block)
    assert rows.y.tolist() == [2] * len(block)
    assert rows.weight.tolist() == [1] * len(block)
    torch.testing.assert_close(rows.x, torch.tensor(block[["c", "a"]].to_numpy().copy(), dtype=torch.float64))


def test_targets_are_standardised_by_the_moments_of_all_rows() -> None:
    block = labelled(20, 0)
    reader = reader_of(MultiTaskRegressor(), RealEncoder(3.0, 2.0))
    rows = pickle.loads(pickle.dumps(reader))(block, 40)  # as a worker gets it
    np.testing.assert_allclose(2.0 * rows.y.numpy() + 3.0, block["y"])
    assert rows.task.tolist() == [PLACES[site] for site in block["site"]]
    assert (rows.n_classes, rows.is_classification, rows.x.dtype) == (1, False, torch.float64)


def test_columns_are_encoded_as_all_rows_taught() -> None:
    table = labelled(90, 0)
    table.loc[3:9, "c"] = np.nan
    learned = TablePreprocessor(missing="impute").fit(table[["c", "a"]])
    model = MultiTaskRegressor(missing="impute")
    reader = reader_of(model, RealEncoder(0.0, 1.0), preprocessor_=learned, n_features_in_=3)
    rows = reader(table.head(20), 0)
    np.testing.assert_allclose(rows.x, learned.transform(table[["c", "a"]].head(20)), rtol=1e-6)
    assert rows.x[:, 2].tolist() == table["c"].head(20).isna().astype(float).tolist()


def test_a_class_or_task_that_no_scan_saw_is_refused() -> None:
    reader = reader_of(MultiTaskClassifier(), ClassEncoder(np.array([0, 1])))
    with pytest.raises(ValueError, match="2"):
        reader(labelled(30, 3), 0)
    with pytest.raises(KeyError):
        reader(labelled(30, 2).assign(site="dresden"), 0)
