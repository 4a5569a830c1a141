"""The second opinion of a forest as users see it: where it is, how much it counts, and that it is all there."""

from __future__ import annotations

import copy
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import vmtl
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils.tensor_files import ModelFileError
from vmtl._utils.types import Array
from vmtl.data.row_order import in_canonical_order
from vmtl.data.rows import Rows
from vmtl.estimators import model_file
from vmtl.estimators.inputs.training_rows import make_rows
from vmtl.gp.forest import grow_forest, infer_share

RNG = np.random.default_rng(0)
TASK = np.arange(120) % 3


def steps(x: Array) -> Array:
    """Both of two columns above a threshold, one label in ten wrong."""
    return ((x[:, 0] > 0) & (x[:, 1] > 0)) ^ (RNG.random(len(x)) < 0.1)


X = RNG.uniform(-1, 1, size=(120, 4))
Y = steps(X)
NEW, NEW_TASK = RNG.uniform(-1, 1, size=(50, 4)), np.arange(50) % 3
ADDED = RNG.uniform(-1, 1, size=(20, 4))
ADDED_Y = steps(ADDED)


def fit(**options: Any) -> MultiTaskClassifier:
    return MultiTaskClassifier(**{"random_state": 0, **options}).fit(X, Y, tasks=TASK)


@pytest.fixture(scope="module")
def model() -> MultiTaskClassifier:
    return fit()


@pytest.fixture(scope="module")
def alone() -> MultiTaskClassifier:
    """Without a forest."""
    return fit(forest=False)


def said(model: MultiTaskClassifier, x: Array) -> torch.Tensor:
    """What the forest says by itself."""
    with torch.no_grad():
        return model._fitted.forest(torch.from_numpy(x))


def entropy(p: Array) -> Array:
    return -(p * np.log(np.maximum(p, 1e-300))).sum(1)


def test_steps_give_a_forest_a_say(model: MultiTaskClassifier, alone: MultiTaskClassifier) -> None:
    share = model.hyperparameters_.forest_share
    assert 0.2 < share <= 1
    assert share == float(model._fitted.forest.share)
    assert alone.hyperparameters_.forest_share is None
    assert alone._fitted.forest is None
    p, q = (m.predict_proba(NEW, tasks=NEW_TASK) for m in (model, alone))
    assert np.abs(p - q).max() > 0.05


def test_a_prediction_is_the_mixture_of_both(model: MultiTaskClassifier, alone: MultiTaskClassifier) -> None:
    p, q = (m.predict_proba(NEW, tasks=NEW_TASK) for m in (model, alone))
    v = model.hyperparameters_.forest_share
    np.testing.assert_allclose(p, (1 - v) * q + v * said(model, NEW).numpy(), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(p, model._fitted.forest.join(torch.from_numpy(q), said(model, NEW)).numpy())
    np.testing.assert_allclose(p.sum(1), 1, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(model.predict(NEW, tasks=NEW_TASK), model.classes_[p.argmax(1)])


def test_uncertainty_is_that_of_the_mixture(model: MultiTaskClassifier, alone: MultiTaskClassifier) -> None:
    found, before = (m.uncertainty(NEW, tasks=NEW_TASK) for m in (model, alone))
    v = model.hyperparameters_.forest_share
    np.testing.assert_allclose(found["total"], entropy(model.predict_proba(NEW, tasks=NEW_TASK)), rtol=0, atol=1e-6)
    assert (found["aleatoric"] <= found["total"]).all()
    mixture = (1 - v) * before["aleatoric"] + v * entropy(said(model, NEW).numpy())
    np.testing.assert_allclose(found["aleatoric"], np.minimum(mixture, found["total"]), rtol=0, atol=1e-6)


def test_an_unknown_task_is_predicted_with_the_forest(model: MultiTaskClassifier) -> None:
    average = copy.deepcopy(model).set_params(unknown_task="average")
    p = average.predict_proba(NEW, tasks=np.full(50, 9))
    each = [model.predict_proba(NEW, tasks=np.full(50, task)) for task in range(3)]
    np.testing.assert_allclose(p, np.mean(each, axis=0), rtol=0, atol=1e-6)


def test_a_row_alone_is_predicted_as_among_others(model: MultiTaskClassifier) -> None:
    together = model.predict_proba(NEW, tasks=NEW_TASK)
    one_by_one = [model.predict_proba(NEW[i : i + 1], tasks=NEW_TASK[i : i + 1])[0] for i in range(10)]
    np.testing.assert_allclose(one_by_one, together[:10], rtol=0, atol=1e-6)


def test_a_file_holds_the_forest(model: MultiTaskClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "model.vmtl")
    loaded = vmtl.load(tmp_path / "model.vmtl")
    assert loaded.hyperparameters_.forest_share == model.hyperparameters_.forest_share
    for name in ("predict_proba", "uncertainty", "predict_set"):
        before, after = (np.asarray(getattr(m, name)(NEW, tasks=NEW_TASK)) for m in (model, loaded))
        np.testing.assert_array_equal(after, before)
    tensors, again = model._fitted.forest.to_tensors(), loaded._fitted.forest.to_tensors()
    assert all(torch.equal(again[name], tensor) for name, tensor in tensors.items())


@pytest.mark.parametrize(
    "name", ["column", "threshold", "below", "above", "value", "root", "base", "sharpness", "share"]
)
def test_a_file_without_all_of_the_forest_is_refused(name: str, model: MultiTaskClassifier) -> None:
    document, tensors = model_file.describe(model)
    model_file.rebuild(document, tensors, "whole")
    del tensors[f"fitted.forest.{name}"]
    with pytest.raises(ModelFileError, match="does not describe"):
        model_file.rebuild(document, tensors, "damaged")


def test_an_exported_program_holds_the_forest(model: MultiTaskClassifier) -> None:
    from vmtl.serving.prediction_module import PredictionModule

    module = PredictionModule(model)
    with torch.no_grad():
        outputs = dict(zip(module.outputs, module(torch.from_numpy(NEW), torch.from_numpy(NEW_TASK)), strict=True))
    np.testing.assert_allclose(outputs["probabilities"], model.predict_proba(NEW, tasks=NEW_TASK), rtol=0, atol=1e-5)
    for name, values in model.uncertainty(NEW, tasks=NEW_TASK).items():
        np.testing.assert_allclose(outputs[str(name)], values, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("columns", "has_forest"), [(100, True), (101, False)])
def test_what_is_no_table_has_no_forest(columns: int, has_forest: bool) -> None:
    x = np.column_stack([X[:40], np.random.default_rng(1).normal(size=(40, columns - 4))])
    wide = MultiTaskClassifier(random_state=0).fit(x, Y[:40], tasks=TASK[:40])
    assert (wide._fitted.forest is not None) is has_forest
    assert (wide.hyperparameters_.forest_share is not None) is has_forest


def test_a_regression_has_no_forest() -> None:
    regressor = MultiTaskRegressor(random_state=0).fit(X, X[:, 0] + Y, tasks=TASK)
    assert regressor._fitted.forest is None
    assert regressor.hyperparameters_.forest_share is None
    assert "forest" not in signature(MultiTaskRegressor).parameters
    assert "forest" in signature(MultiTaskClassifier).parameters
    with pytest.raises(TypeError, match="forest"):
        MultiTaskRegressor(forest=False)  # type: ignore[call-arg]


def training_rows(model: MultiTaskClassifier) -> Rows:
    return in_canonical_order(make_rows(X, Y.astype(np.int64), TASK, np.ones(120), 3, model._encoder))


def test_left_out_rows_are_predicted_by_both(model: MultiTaskClassifier, alone: MultiTaskClassifier) -> None:
    """By the model without a row, and by the trees that have not seen it."""
    rows = training_rows(model)
    by_forest = grow_forest(rows, model.seed_).out_of_bag.gather(1, rows.y[:, None])[:, 0]
    by_model = 1 - alone._fitted.left_out.score
    v = model.hyperparameters_.forest_share
    assert v == pytest.approx(infer_share(by_model, by_forest, rows.weight), abs=1e-9)
    joined = (1 - v) * by_model + v * by_forest
    torch.testing.assert_close(model._fitted.left_out.score, 1 - joined, rtol=0, atol=1e-9)
    assert float((model._fitted.left_out.score - alone._fitted.left_out.score).abs().max()) > 0.01


def test_sets_of_classes_follow_from_the_joined_scores(model: MultiTaskClassifier) -> None:
    p = model.predict_proba(NEW, tasks=NEW_TASK)
    least = 1 - model._fitted.left_out.quantiles(0.8, 3).numpy()[NEW_TASK]
    expected = (p >= least[:, None]) | (p == p.max(1, keepdims=True))
    np.testing.assert_array_equal(model.predict_set(NEW, tasks=NEW_TASK, coverage=0.8), expected)


def test_a_further_task_leaves_the_forest_and_all_others_as_they_are(model: MultiTaskClassifier) -> None:
    before, longer = model.predict_proba(NEW, tasks=NEW_TASK), copy.deepcopy(model)
    longer.add_task(ADDED, ADDED_Y, task=3)
    np.testing.assert_array_equal(longer.predict_proba(NEW, tasks=NEW_TASK), before)
    assert longer.hyperparameters_.forest_share == model.hyperparameters_.forest_share
    kept = longer._fitted.forest.to_tensors()
    assert all(torch.equal(kept[name], tensor) for name, tensor in model._fitted.forest.to_tensors().items())


@pytest.mark.parametrize("task", [3, 1])
def test_rows_that_are_added_are_scored_with_the_forest(
    task: int, model: MultiTaskClassifier, alone: MultiTaskClassifier
) -> None:
    """Of a new task, and more of a known one; the forest has not seen them."""
    longer, without = (copy.deepcopy(m).add_task(ADDED, ADDED_Y, task=task) for m in (model, alone))
    score, by_model = (m._fitted.left_out.score[-20:] for m in (longer, without))
    v = model.hyperparameters_.forest_share
    by_forest = said(model, ADDED).gather(1, torch.from_numpy(ADDED_Y.astype(np.int64))[:, None])[:, 0]
    torch.testing.assert_close(score, 1 - ((1 - v) * (1 - by_model) + v * by_forest), rtol=0, atol=1e-6)
    p, q = (m.predict_proba(NEW, tasks=np.full(50, task)) for m in (longer, without))
    np.testing.assert_allclose(p, (1 - v) * q + v * said(model, NEW).numpy(), rtol=0, atol=1e-6)


def test_the_order_of_rows_does_not_matter() -> None:
    order = np.random.default_rng(1).permutation(120)
    one, other = (
        MultiTaskClassifier(random_state=0).fit(X[rows], Y[rows], tasks=TASK[rows]) for rows in (np.arange(120), order)
    )
    assert other.hyperparameters_.forest_share == pytest.approx(one.hyperparameters_.forest_share, abs=1e-5)
    trees, others = one._fitted.forest.to_tensors(), other._fitted.forest.to_tensors()
    assert all(torch.equal(others[name], tensor) for name, tensor in trees.items() if name != "share")
    p, q = (m.predict_proba(NEW, tasks=NEW_TASK) for m in (other, one))
    np.testing.assert_allclose(p, q, rtol=0, atol=1e-6)
