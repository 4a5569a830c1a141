"""Bad input gets a clear error, and nothing is half done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers.toys import toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl.estimators.inputs import check_classes, check_labels, encode_tasks, task_values, unique_tasks
from vmtl.inference.variational.training import DivergenceError

DATA = toy([8, 9, 7], classes=3)
X, Y, TASKS = DATA.X, DATA.y, np.array(["north", "south", "west"])[DATA.task]


def small(**options: Any) -> MultiTaskClassifier:
    return MultiTaskClassifier(**{"max_steps": 2, "latent_dim": 5, "random_state": 0, **options})


@pytest.fixture(scope="module")
def model() -> MultiTaskClassifier:
    return small().fit(X, Y, tasks=TASKS)


def spoiled(value: float, column: int = 3) -> np.ndarray:
    bad = X.copy()
    bad[4, column] = value
    return bad


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")])
def test_nan_and_infinity_name_their_column(value: float, word: str, model: MultiTaskClassifier) -> None:
    with pytest.raises(ValueError, match=f"X contains {word}.* in column 3; re(move|place)") as caught:
        small().fit(spoiled(value), Y, tasks=TASKS)
    assert "\n" not in str(caught.value)
    frame = pd.DataFrame(spoiled(value), columns=list("abcdef"))
    with pytest.raises(ValueError, match=f"X contains {word}.* in column 'd'"):
        small().fit(frame, Y, tasks=TASKS)
    with pytest.raises(ValueError, match="column 3"):
        model.predict(spoiled(value), tasks=TASKS)


def test_two_bad_columns_are_counted() -> None:
    bad = spoiled(np.nan)
    bad[0, 5] = np.inf
    with pytest.raises(ValueError, match="in column 3 and 1 more"):
        small().fit(bad, Y, tasks=TASKS)


@pytest.mark.parametrize(
    ("tasks", "sentence"),
    [
        (TASKS[:-1], "tasks has 23 labels but X has 24 rows; give one label per row"),
        (np.stack([TASKS, TASKS], 1), "one label per row, a 1-d array; got 2 dimensions"),
        ("north", "one label per row, a 1-d array; got 'north'"),
        (7, "one label per row, a 1-d array; got 7"),
        ([None, *TASKS[1:]], "missing label; give every row a task"),
        ([np.nan, *TASKS[1:]], "missing label"),
        (pd.Series([pd.NA, *TASKS[1:]]), "missing label"),
        ([["a"], *TASKS[1:]], "hashable labels"),
        (
            pd.Series(pd.Categorical(TASKS, categories=["east", "north", "south", "west"])),
            r"Task 'east' has no rows; drop it",
        ),
    ],
)
def test_bad_tasks(tasks: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        small().fit(X, Y, tasks=tasks)


def test_a_task_whose_rows_weigh_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="Task 'south' has no rows with a positive sample_weight; drop it"):
        small().fit(X, Y, tasks=TASKS, sample_weight=(TASKS != "south").astype(float))


def test_an_unknown_task_is_named_and_the_known_ones_listed(model: MultiTaskClassifier) -> None:
    sentence = "Unknown task 'east'; the model knows 'north', 'south', 'west'. Set unknown_task='average'"
    for call in (model.predict, model.predict_proba, model.uncertainty):
        with pytest.raises(ValueError, match=sentence):
            call(X[:2], tasks=["north", "east"])


def test_a_category_without_rows_is_fine_in_prediction(model: MultiTaskClassifier) -> None:
    tasks = pd.Series(TASKS).astype("category")
    np.testing.assert_array_equal(model.predict(X[:3], tasks=tasks[:3]), model.predict(X[:3], tasks=TASKS[:3]))


def test_several_tasks_need_tasks_in_prediction(model: MultiTaskClassifier) -> None:
    with pytest.raises(ValueError, match="This model has 3 tasks; pass tasks="):
        model.predict(X)


def test_wrong_number_of_features(model: MultiTaskClassifier) -> None:
    with pytest.raises(ValueError, match="X has 5 features, but MultiTaskClassifier is expecting 6 features"):
        model.predict(X[:, :5], tasks=TASKS)


def test_regression_targets_that_are_text() -> None:
    with pytest.raises(ValueError, match=r"y must be numbers for a regression.*use MultiTaskClassifier"):
        MultiTaskRegressor().fit(X, np.array(["a", "b", "c"])[Y], tasks=TASKS)
    with pytest.raises(ValueError, match="NaN"):
        MultiTaskRegressor().fit(X, np.where(Y == 0, np.nan, 1.0), tasks=TASKS)
    with pytest.raises(ValueError, match=r"one target per row|2"):
        MultiTaskRegressor().fit(X, np.stack([Y, Y], 1).astype(float), tasks=TASKS)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sharing": 1.5}, "sharing must be between 0 and 1; got 1.5"),
        ({"sharing": -0.1}, "sharing must be between 0 and 1"),
        ({"latent_dim": 0}, "latent_dim must be a positive integer; got 0"),
        ({"max_steps": 0}, "max_steps must be a positive integer"),
        ({"n_z": 1.5}, "n_z must be a positive integer"),
        ({"learning_rate": 0}, "learning_rate must be positive; got 0"),
        ({"learning_rate": -1.0}, "learning_rate must be positive"),
        ({"kl_form": "exact"}, "kl_form must be one of 'bound'"),
        ({"mixing": "hard"}, "mixing must be one of 'gumbel', 'learnable', 'mean'"),
        ({"encoder": "cnn"}, "encoder must be one of 'kernel'"),
        ({"predictive": "map"}, "predictive must be one of"),
        ({"method": "nash"}, "Unknown method 'nash'; choose one of"),
        ({"preset": "fast"}, "Unknown preset 'fast'; choose one of default, paper, released"),
        ({"unknown_task": "guess"}, "unknown_task must be one of 'error', 'average', 'similar'"),
        ({"missing": "drop"}, "missing must be one of 'error', 'impute'"),
        ({"dtype": "float16"}, "dtype must be one of 'float32', 'float64'"),
        ({"task_column": "task"}, "task_column='task' needs X to be a DataFrame"),
    ],
)
def test_bad_options_are_refused_by_fit_not_by_init(options: dict[str, Any], sentence: str) -> None:
    estimator = small(**options)
    tasks = None if "task_column" in options else TASKS
    with pytest.raises(ValueError, match=sentence):
        estimator.fit(X, Y, tasks=tasks)
    assert not hasattr(estimator, "classes_")


def test_a_missing_task_column_lists_the_columns() -> None:
    with pytest.raises(ValueError, match="task_column='site' is not a column of X; its columns are 'a', 'b'"):
        small(task_column="site").fit(pd.DataFrame(X, columns=list("abcdef")), Y)


def test_unequal_lengths() -> None:
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples|give one per row"):
        small().fit(X, Y[:-1], tasks=TASKS)
    with pytest.raises(ValueError, match="sample_weight"):
        small().fit(X, Y, tasks=TASKS, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        small().fit(X, Y, tasks=TASKS, sample_weight=-np.ones(24))
    with pytest.raises(ValueError, match=r"y is None|requires y"):
        small().fit(X, None, tasks=TASKS)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda m: m.fit(spoiled(np.nan), Y, tasks=TASKS),
        lambda m: m.fit(X[:, :4], np.where(Y == 0, 9, Y), tasks=TASKS[:5]),
        lambda m: m.set_params(sharing=3.0).fit(X[:, :4], Y + 5, tasks=TASKS),
        lambda m: m.fit(X[:, :4], Y + 5, tasks=TASKS, callback=stop),
    ],
)
def test_a_failed_fit_leaves_a_fitted_model_as_it_was(attempt: Any) -> None:
    fitted = small().fit(X, Y, tasks=TASKS)
    before = fitted.predict_proba(X, tasks=TASKS)
    with pytest.raises((ValueError, RuntimeError)):
        attempt(fitted)
    np.testing.assert_array_equal(fitted.predict_proba(X, tasks=TASKS), before)
    assert list(fitted.classes_) == [0, 1, 2]


def stop(progress: Any) -> None:
    raise RuntimeError("stop")


def test_divergence_names_the_task_and_leaves_nothing() -> None:
    estimator = small(encoder="linear", method="bmtl", preset="paper", max_steps=5, learning_rate=1e30)
    with pytest.raises(
        DivergenceError, match=r"Training diverged at step \d+: nll of task '\w+' is not finite"
    ) as caught:
        estimator.fit(X, Y, tasks=TASKS)
    assert caught.value.step >= 1
    assert not hasattr(estimator, "classes_")


def test_labels_of_tasks_may_be_anything_hashable() -> None:
    values = task_values([("a", 1), ("b", 2), ("a", 1)], 3)
    assert unique_tasks(values) == [("a", 1), ("b", 2)]
    assert encode_tasks(values, [("a", 1), ("b", 2)], allow_unknown=False).tolist() == [0, 1, 0]
    assert unique_tasks(task_values(np.array([3, 1, 3]), 3)) == [1, 3]
    assert all(type(value) is int for value in task_values(np.array([3, 1, 3]), 3))
    assert unique_tasks(task_values([1, "b", 1], 3)) == [1, "b"]
    assert task_values(["nan", "x"], 2).tolist() == ["nan", "x"]
    assert encode_tasks(task_values(["z"], 1), ["a"], allow_unknown=True).tolist() == [-1]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_a_missing_class_is_refused_however_it_is_written(missing: object) -> None:
    y = np.array(["a", "b", missing], dtype=object)
    with pytest.raises(ValueError, match="y contains a missing label"):
        check_labels(y)


@pytest.mark.parametrize("values", [[0.25, 0.5, 0.75] * 4, [0.1 * i for i in range(12)]])
def test_fractions_are_no_classes(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"y holds fractions such as 0\.\d+, .* use MultiTaskRegressor"):
        check_classes(np.array(values))
    check_classes(np.array([1.0, 2.0, 1.0]))
    check_classes(np.array(values).astype(str))
