"""``add_task``: a task more in a fitted model, everything else as it was, and bad input refused whole."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.three_tasks import REAL, TASK, UNIT, X, Y
import vmtl
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl.datasets import make_task_groups
from vmtl.estimators import relatedness_tables
from vmtl.gp import relatedness, surroundings, task_covariance
from vmtl.gp.positions import task_positions
from vmtl.results import relatedness as results
from vmtl.serving import describe

GROUPS = make_task_groups(0, unrelated=0, adversarial=0, tasks_per_group=3, n_rows=(20, 30), n_test=60)
NAMES = np.array(GROUPS.problem.task_names, dtype=object)[GROUPS.problem.task]
TRAIN = np.isin(np.arange(len(NAMES)), GROUPS.split.train)
NEW = str(NAMES[-1])
NUMBERS = np.einsum("nd,nd->n", GROUPS.problem.X, GROUPS.weights[GROUPS.problem.task, 0])
Estimator = MultiTaskClassifier | MultiTaskRegressor


def targets(real: bool) -> np.ndarray:
    return NUMBERS if real else GROUPS.problem.y


def rows(task: str, real: bool, train: bool = True) -> tuple[np.ndarray, np.ndarray]:
    chosen = (task == NAMES) & (train == TRAIN)
    return GROUPS.problem.X[chosen], targets(real)[chosen]


def is_real(model: Estimator) -> bool:
    return not hasattr(model, "classes_")


def fitted(real: bool, **options: object) -> Estimator:
    known = TRAIN & (NAMES != NEW)
    model: Estimator = (MultiTaskRegressor if real else MultiTaskClassifier)(random_state=0, **options)
    return model.fit(GROUPS.problem.X[known], targets(real)[known], tasks=NAMES[known])


@pytest.fixture(scope="module", params=[False, True], ids=["classes", "numbers"])
def before(request: pytest.FixtureRequest) -> Estimator:
    return fitted(request.param)


@pytest.fixture(scope="module")
def after(before: Estimator) -> Estimator:
    return copy.deepcopy(before).add_task(*rows(NEW, is_real(before)), task=NEW)


def predictions(model: Estimator, X: np.ndarray, tasks: np.ndarray) -> list[np.ndarray]:
    first = model.predict_proba(X, tasks=tasks) if hasattr(model, "classes_") else model.predict(X, tasks=tasks)
    return [first, model.uncertainty(X, tasks=tasks).to_numpy()]


def test_others_are_unchanged_to_the_bit(before: Estimator, after: Estimator) -> None:
    known = NAMES != NEW
    pairs = zip(*(predictions(m, GROUPS.problem.X[known], NAMES[known]) for m in (before, after)), strict=True)
    assert all(np.array_equal(one, other) for one, other in pairs)
    assert before.tasks_.tolist() == after.tasks_.tolist()[:-1]


def test_everything_speaks_of_one_task_more(before: Estimator, after: Estimator) -> None:
    n_tasks = len(before.tasks_) + 1
    for table in (after.alpha_, after.beta_, *after.alpha_interval_, *after.beta_interval_):
        assert table.shape == (n_tasks, n_tasks)
    low, high = after.alpha_interval_
    assert (low <= after.alpha_ + 1e-6).all(axis=None)
    assert (high >= after.alpha_ - 1e-6).all(axis=None)
    np.testing.assert_allclose(after.alpha_.sum(axis=1), 1, rtol=1e-5)
    assert after.sharing_.between(0, 1).all()
    assert after.sharing_interval_.shape == (n_tasks, 2)
    assert list(after.positions_.index) == list(after.tasks_)
    structure = after.structure_
    assert structure is not None
    assert structure.covariance is not None
    assert np.linalg.eigvalsh(structure.covariance.numpy()).min() > 0
    X, y = rows(NEW, is_real(after), train=False)
    tasks = np.full(len(y), NEW, dtype=object)
    guaranteed = after.predict_set if hasattr(after, "classes_") else after.predict_interval
    assert len(guaranteed(X, tasks=tasks, coverage=0.8)) == len(y)
    assert after.score_tasks(X, y, tasks=tasks).index.tolist() == [NEW]
    assert len(after.suggest(X, tasks, 3)) == 3
    assert NEW in describe(after)["tasks"]


def test_left_out_scores_of_the_new_task_are_like_those_of_the_others(after: Estimator) -> None:
    scores = after._fitted.left_out
    assert scores is not None
    own = scores.task == len(after.tasks_) - 1
    assert int(own.sum()) == len(rows(NEW, is_real(after))[1])
    ratio = float(scores.score[own].mean() / scores.score[~own].mean())
    assert 0.5 < ratio < 2


def test_the_new_task_is_learned_about_as_in_one_fit(after: Estimator) -> None:
    """The whole comparison is in benchmarks/relatedness/new_tasks.py."""
    real = is_real(after)
    kind = MultiTaskRegressor if real else MultiTaskClassifier
    refit = kind(random_state=0).fit(GROUPS.problem.X[TRAIN], targets(real)[TRAIN], tasks=NAMES[TRAIN])
    X, y = rows(NEW, real, train=False)
    tasks = np.full(len(y), NEW, dtype=object)
    one, other = (predictions(model, X, tasks)[0] for model in (after, refit))
    if real:
        assert np.sqrt(np.mean((one - other) ** 2)) < 0.35 * NUMBERS.std()
    else:
        assert np.abs(one - other).sum(1).mean() / 2 < 0.15
    assert after.score(X, y, tasks=tasks) > refit.score(X, y, tasks=tasks) - 0.1


def test_it_is_saved_and_loaded_to_the_bit_and_extended_again(after: Estimator, tmp_path: Path) -> None:
    after.save(tmp_path / "model.vmtl")
    again = vmtl.load(tmp_path / "model.vmtl")
    X, y = rows(NEW, is_real(after), train=False)
    for one, other in zip(*(predictions(m, X, np.full(len(y), NEW)) for m in (after, again)), strict=True):
        assert np.array_equal(one, other)
    pd.testing.assert_frame_equal(after.alpha_, again.alpha_)
    for model in (copy.deepcopy(after), again):
        model.add_task(X, y, task="one more")
    one, other = (predictions(m, X, np.full(len(y), "one more", dtype=object)) for m in (again, model))
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_more_rows_of_a_known_task_are_more_evidence_of_it(before: Estimator) -> None:
    """A task that came with a third of its rows and gets the others later is near to one that had all at once."""
    X, y = rows(NEW, is_real(before))
    first = np.arange(len(y)) % 3 == 0
    part = copy.deepcopy(before).add_task(X[first], y[first], task=NEW)
    later = copy.deepcopy(part).add_task(X[~first], y[~first], task=NEW)
    once = copy.deepcopy(before).add_task(X, y, task=NEW)
    assert later.tasks_.tolist() == once.tasks_.tolist()
    test, _ = rows(NEW, is_real(before), train=False)
    tasks = np.full(len(test), NEW, dtype=object)
    few, two, one = (predictions(model, test, tasks)[0] for model in (part, later, once))
    assert np.abs(two - one).mean() < 0.6 * np.abs(few - one).mean()
    others = NAMES != NEW
    for a, b in zip(*(predictions(m, GROUPS.problem.X[others], NAMES[others]) for m in (part, later)), strict=True):
        assert np.array_equal(a, b)
    pd.testing.assert_frame_equal(part.alpha_, later.alpha_)


def test_labels_have_the_last_word() -> None:
    """A task with the representations of its group and the labels turned round learns next to nothing from it."""
    model = fitted(False)
    X, y = rows(NEW, False)
    wrong = np.array([3, 2, 1, 0])[y]
    one, other = (copy.deepcopy(model).add_task(X, target, task="x").sharing_["x"] for target in (y, wrong))
    assert other <= one


@pytest.mark.parametrize("real", [False, True])
def test_bad_input_is_one_sentence_and_leaves_the_model_as_it_was(real: bool) -> None:
    model: Estimator = MultiTaskRegressor(random_state=0) if real else MultiTaskClassifier(random_state=0)
    model.fit(X, UNIT if real else Y, tasks=TASK)
    good = UNIT[:4] if real else Y[:4]
    state = dict(vars(model))
    nan = [1.0, np.nan, 2.0, 3.0] if real else ["ant", None, "bee", "cat"]
    cases: list[tuple[object, object, dict[str, object], str]] = [
        (X[:4, :3], good, {}, "X has 3 features"),
        (X[:0], good[:0], {}, "X has no rows; give at least one of task 'east'."),
        (X[:4], good[:3], {}, "y has 3 targets but X has 4 rows; give one per row."),
        (X[:4], None, {}, "y has 0 targets but X has 4 rows"),
        (X[:4], nan, {}, "y contains"),
        (np.where(np.eye(4, 6) > 0, np.nan, X[:4]), good, {}, "X contains NaN"),
        (X[:4], good, {"sample_weight": np.zeros(4)}, "at least one non-zero number"),
        (X[:4], good, {"task": None}, "tasks contains a missing label"),
    ]
    if not real:
        cases.append((X[:4], ["ant", "bee", "bat", "ant"], {}, "y has the class 'bat', which the model never saw"))
    for bad, target, options, sentence in cases:
        with pytest.raises(ValueError, match=sentence):
            model.add_task(bad, target, **{"task": "east", **options})
        assert all(vars(model)[name] is value for name, value in state.items())


def test_one_class_only_is_learned_and_said() -> None:
    model = MultiTaskClassifier(random_state=0).fit(X, Y, tasks=TASK)
    with pytest.warns(UserWarning, match="All rows of task 'east' are of class 'bee'"):
        model.add_task(X[Y == "bee"][:5], ["bee"] * 5, task="east")
    p = model.predict_proba(X, tasks=["east"] * len(X))
    assert p[:, 1].mean() > model.predict_proba(X, tasks=TASK)[:, 1].mean()


def test_one_task_is_joined_by_a_second() -> None:
    model = MultiTaskRegressor(random_state=0).fit(REAL.X[TASK != "west"], UNIT[TASK != "west"], tasks="all")
    model.add_task(REAL.X[TASK == "west"], UNIT[TASK == "west"], task="west")
    assert model.alpha_.shape == (2, 2)
    assert model.score(REAL.X[TASK == "west"], UNIT[TASK == "west"], tasks=["west"] * 12) > 0


@pytest.mark.parametrize("relatedness", ["learned", "even", "none", "pooled"])
def test_two_tasks_get_a_third(relatedness: str) -> None:
    known = TASK != "west"
    model = MultiTaskRegressor(relatedness, random_state=0).fit(REAL.X[known], UNIT[known], tasks=TASK[known])
    model.add_task(REAL.X[~known], UNIT[~known], task="west")
    assert model.alpha_.shape == (3, 3)
    assert model.score(REAL.X[~known], UNIT[~known], tasks=TASK[~known]) > 0


@pytest.mark.parametrize("real", [False, True], ids=["classes", "numbers"])
def test_many_tasks_without_a_table_of_all_pairs_get_one_more(
    real: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Their covariance is a factor of few columns, before and after; predictions are about those of the table, which
    knows groups that only targets tell, too."""
    X_test, y_test = rows(NEW, real, train=False)
    tasks = np.full(len(X_test), NEW, dtype=object)
    table = fitted(real).add_task(*rows(NEW, real), task=NEW)
    for module in (task_covariance, task_positions):
        monkeypatch.setattr(module, "MAX_DENSE", 4)
    model = fitted(real).add_task(*rows(NEW, real), task=NEW)
    structure = model.structure_
    assert structure is not None
    assert structure.covariance is None
    assert structure.factor is not None
    assert len(structure.factor) == len(model.tasks_)
    assert model.alpha_.shape == (len(model.tasks_), len(model.tasks_))
    assert model.score(X_test, y_test, tasks=tasks) > table.score(X_test, y_test, tasks=tasks) - 0.15
    model.save(tmp_path / "model.vmtl")
    again = vmtl.load(tmp_path / "model.vmtl").add_task(*rows(NEW, real), task="another")
    for one, other in zip(predictions(model, X_test, tasks), predictions(again, X_test, tasks), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_model_of_thousands_of_tasks_grows_without_a_table(
    before: Estimator, after: Estimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (relatedness, relatedness_tables, surroundings, task_positions, results):
        monkeypatch.setattr(module, "MAX_TASKS", len(before.tasks_))
    for module in (task_covariance, task_positions):
        monkeypatch.setattr(module, "MAX_DENSE", 4)
    real = is_real(before)
    model = fitted(real)
    known = NAMES != NEW
    unchanged = predictions(model, GROUPS.problem.X[known], NAMES[known])
    model.add_task(*rows(NEW, real), task=NEW)
    again = predictions(model, GROUPS.problem.X[known], NAMES[known])
    assert all(np.array_equal(one, other) for one, other in zip(unchanged, again, strict=True))
    structure = model.structure_
    assert structure is not None
    assert structure.alpha is None
    X, y = rows(NEW, real, train=False)
    tasks = np.full(len(y), NEW, dtype=object)
    assert model.score(X, y, tasks=tasks) > after.score(X, y, tasks=tasks) - 0.15
