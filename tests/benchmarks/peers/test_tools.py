"""Every peer on a toy problem that it can solve; those that are not installed are skipped."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.peers.peer import Shape
from benchmarks.peers.scores import score
from benchmarks.peers.sets import Problem, Rows
from benchmarks.peers.tools import PEERS
from helpers.forms import some_in_the_short_form

pytestmark = pytest.mark.filterwarnings("ignore")
N_TASKS = 4
SLOW, HEAVY = pytest.mark.slow, ("gp", "realmlp", "tabpfn")


def toy(kind, n_per_task=30, seed=0):
    """Tasks with own intercepts, two columns and a category that matter, and a gap in the frame."""
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(N_TASKS), 2 * n_per_task)
    x, level = rng.normal(size=(len(task), 2)), rng.integers(2, size=len(task))
    value = 2 * x[:, 0] - x[:, 1] + level + np.linspace(-2, 2, N_TASKS)[task] + 0.3 * rng.normal(size=len(task))
    y = {
        "binary": (value > np.median(value)).astype(int),
        "multi-class": np.digitize(value, np.quantile(value, [0.3, 0.7])),
        "regression": value,
    }[kind]
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": np.where(level == 1, "high", "low")})
    frame.loc[0, "a"] = np.nan
    rows = Rows(np.column_stack([x, level]), frame, task, y)
    first = np.arange(len(task)) % 2 == 0
    train, test = rows.subset(np.flatnonzero(first)), rows.subset(np.flatnonzero(~first))
    n_classes = 1 if kind == "regression" else len(np.unique(y))
    return Problem("toy", kind, N_TASKS, n_classes, train, test)


@pytest.mark.parametrize("kind", some_in_the_short_form(("binary", "multi-class", "regression"), "regression"))
@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=SLOW if key in HEAVY else ()) for key in PEERS if key != "constant"]
)
def test_a_peer_is_better_than_the_floor(key, kind):
    peer = PEERS[key]
    if reason := peer.absent():
        pytest.skip(reason)
    if kind not in peer.kinds:
        pytest.skip(f"{peer.title} has no {kind}")
    problem = toy(kind)
    floor = score(problem, PEERS["constant"]().fit_predict(problem.train, problem.test, Shape.of(problem), 0))
    found = score(problem, peer().fit_predict(problem.train, problem.test, Shape.of(problem), 0))
    assert found["nll"] < 0.9 * floor["nll"]
    if kind == "regression":
        assert found["rmse"] < 0.7 * floor["rmse"]
        assert 0.6 < found["coverage"] <= 1


@pytest.mark.parametrize("key", ["per_task", "dummies", "svm", pytest.param("forest", marks=pytest.mark.slow)])
def test_test_labels_are_not_looked_at(key):
    problem = toy("binary")
    blind = Rows(problem.test.X, problem.test.frame, problem.test.task, 1 - problem.test.y)
    shape = Shape.of(problem)
    a, b = (PEERS[key]().fit_predict(problem.train, test, shape, 0).p for test in (problem.test, blind))
    np.testing.assert_array_equal(a, b)


def test_a_copy_per_task_is_what_the_kernel_of_augmented_rows_says():
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    from benchmarks.peers.tools.linear import Augmented

    problem = toy("regression")
    shape = Shape.of(problem)
    scaler = StandardScaler().fit(problem.train.X)

    def copies(rows):
        x, one_hot = scaler.transform(rows.X), np.eye(N_TASKS)[rows.task]
        own = (one_hot[:, :, None] * np.column_stack([x, np.ones(len(x))])[:, None, :]).reshape(len(x), -1)
        return np.hstack([x, own])

    direct = Ridge(alpha=0.1).fit(copies(problem.train), problem.train.y).predict(copies(problem.test))
    peer = Augmented()
    found = peer.predict(peer.train(problem.train, shape, {"C": 10.0}, 0), problem.test, shape, None)
    np.testing.assert_allclose(found, direct, rtol=1e-6, atol=1e-8)


def test_a_mixed_model_has_no_columns_that_separate_classes():
    from benchmarks.peers.tools.lme4 import separating

    y = np.array([0, 0, 0, 1, 1, 1])
    both, one, number = [0, 1, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1], [1, 2, 3, 4, 5, 6]
    assert separating(np.column_stack([both, one, number]), y).tolist() == [False, True, False]
