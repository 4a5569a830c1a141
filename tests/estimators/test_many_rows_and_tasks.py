"""Thousands of tasks, and thousands of rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils.types import Array
from vmtl.cli.info import model_document
from vmtl.evaluation import Labelled, structure_worth_of
from vmtl.inference.exact import weight_prior
from vmtl.report.many_tasks import read_crowd
from vmtl.report.sections.relatedness import relatedness_section

RNG = np.random.default_rng(0)
#: 1,200 tasks of five rows with a common rule, and levels of their own.
MANY_TASKS = np.repeat(np.arange(1200), 5)
MANY_X = RNG.normal(size=(6000, 4))
MANY_Y = MANY_X[:, 0] - MANY_X[:, 1] + 0.5 * RNG.normal(size=1200)[MANY_TASKS] + 0.5 * RNG.normal(size=6000)

#: More than scales are inferred on, so that a table of all pairs and iterations are both possible.
N_ROWS = weight_prior.SCALE_ROWS + 200


@pytest.fixture(scope="module", params=[MultiTaskClassifier, MultiTaskRegressor])
def crowd(
    request: pytest.FixtureRequest, quick_inference: None
) -> tuple[MultiTaskClassifier | MultiTaskRegressor, Array]:
    """A model of 1,200 tasks, and its targets."""
    y = (MANY_Y > 0).astype(int) if request.param is MultiTaskClassifier else MANY_Y
    return request.param(latent_dim=16, random_state=0).fit(MANY_X, y, tasks=MANY_TASKS), y


def test_a_thousand_tasks_have_teachers_instead_of_a_table(
    crowd: tuple[MultiTaskClassifier | MultiTaskRegressor, Array], tmp_path: Path
) -> None:
    model, y = crowd
    for name in ("alpha_", "beta_", "alpha_interval_", "sharing_interval_"):
        with pytest.raises(AttributeError, match=rf"^1,200 tasks have no {name}, .* teachers\(task\)"):
            getattr(model, name)
    assert model.sharing_.between(0, 1).all()
    assert len(model.positions_) == 1200
    everybody = model.teachers(7, 2000)
    assert len(everybody) == 1199
    assert 7 not in everybody.index
    assert everybody.sum() == pytest.approx(1)
    assert everybody.is_monotonic_decreasing
    pd.testing.assert_series_equal(model.teachers(7, 3), everybody.head(3))
    with pytest.raises(ValueError, match=r"^No task 'x' was fitted; tasks_ lists those that were"):
        model.teachers("x")
    assert model.score(MANY_X, y, tasks=MANY_TASKS) > (0.8 if isinstance(model, MultiTaskClassifier) else 0.7)
    model.save(tmp_path / "model.vmtl")
    assert (tmp_path / "model.vmtl").stat().st_size < 2e6  # no table of pairs: 1,200^2 numbers would be 5.8 MB
    again = type(model).load(tmp_path / "model.vmtl")
    loaded, expected = (m.uncertainty(MANY_X[:50], tasks=MANY_TASKS[:50]) for m in (again, model))
    pd.testing.assert_frame_equal(loaded, expected, check_exact=True)
    pd.testing.assert_series_equal(again.teachers(7), model.teachers(7))


def test_a_thousand_tasks_are_described_without_a_map(
    crowd: tuple[MultiTaskClassifier | MultiTaskRegressor, Array], tmp_path: Path
) -> None:
    model, y = crowd
    model.save(tmp_path / "model.vmtl")
    model = type(model).load(tmp_path / "model.vmtl")
    description = read_crowd(model)
    assert description is not None
    assert description.n_tasks == 1200
    assert 1 <= description.teachers <= 1199 + 1e-6
    assert "1,200 tasks" in description.sentence()
    assert len(description.arrows) == 24
    document = model_document(model)
    assert "alpha" not in document
    assert len(json.dumps(document)) < 1e6
    worth = structure_worth_of(model, Labelled(MANY_X, y, MANY_TASKS))
    section = relatedness_section(model, None, worth)
    assert section is not None
    assert section.words[0] == description.sentence()
    assert [sheet.name for sheet in section.sheets] == ["arrows", "worth"]


def test_few_tasks_have_teachers_too(quick_inference: None) -> None:
    few = MANY_TASKS < 30
    model = MultiTaskRegressor(latent_dim=8, random_state=0).fit(MANY_X[few], MANY_Y[few], tasks=MANY_TASKS[few])
    expected = model.alpha_.loc[4].drop(4).sort_values(ascending=False, kind="stable").head(5)
    pd.testing.assert_series_equal(model.teachers(4, 5), expected, check_names=False)


@pytest.mark.parametrize("options", [{"method": "vmtl_ac", "max_steps": 2}, {"max_steps": 2}])
def test_gradient_steps_work_with_a_thousand_tasks(options: dict[str, Any], quick_inference: None) -> None:
    """Of few rows, since steps pass through tables of all pairs."""
    some = np.arange(len(MANY_Y)) % 5 < 2
    model = MultiTaskRegressor(latent_dim=4, random_state=0, **options)
    model.fit(MANY_X[some], MANY_Y[some], tasks=MANY_TASKS[some])
    assert np.isfinite(model.predict(MANY_X[:50], tasks=MANY_TASKS[:50])).all()
    assert model.teachers(3, 1200).sum() == pytest.approx(1)


def grouped(n_tasks: int, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """Five groups with weights of their own, each moved; 20 rows a task, and which ten of them are for training."""
    rng = np.random.default_rng(seed)
    group, task = rng.integers(0, 5, n_tasks), np.repeat(np.arange(n_tasks), 20)
    weights = rng.normal(size=(5, 10))[group] + 0.3 * rng.normal(size=(n_tasks, 10))
    x = rng.normal(size=(len(task), 10))
    y = (x * weights[task]).sum(1) + 1.5 * rng.normal(size=len(task)) > 0
    return x + 0.7 * rng.normal(size=(5, 10))[group][task], y.astype(int), task, np.arange(len(task)) % 20 < 10


@pytest.mark.slow
@pytest.mark.parametrize("n_tasks", [600, 1500, 3000])
def test_tasks_in_groups_are_predicted_better_than_by_even_weights(n_tasks: int) -> None:
    x, y, task, train = grouped(n_tasks)

    def loss(mixing: str) -> float:
        model = MultiTaskClassifier(mixing=mixing, random_state=0).fit(x[train], y[train], tasks=task[train])
        p = model.predict_proba(x[~train], tasks=task[~train])
        return float(-np.log(p[np.arange(len(p)), y[~train]]).mean())

    assert loss("gumbel") < 0.95 * loss("mean")


def many_rows(classes: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(1)
    x, task = rng.normal(size=(N_ROWS, 5)), np.arange(N_ROWS) % 4
    w = rng.normal(size=(5, max(1, classes))) + 0.5 * rng.normal(size=(4, 5, max(1, classes)))
    signal = np.einsum("nk,nkc->nc", x, w[task])
    if classes:
        return x, task, (signal + rng.gumbel(size=signal.shape)).argmax(1)
    return x, task, signal[:, 0] + rng.normal(size=N_ROWS)


@pytest.mark.parametrize("classes", [0, 2])
def test_many_rows_are_iterated_to_what_a_table_of_all_pairs_gives(
    classes: int, quick_inference: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Probabilities to 0.005, targets to 0.01 of their deviation: the iterations end at a slope of 1e-3."""
    x, task, y = many_rows(classes)
    asked = []
    iterate = weight_prior.solve_iteratively
    monkeypatch.setattr(weight_prior, "solve_iteratively", lambda *rest: asked.append(1) or iterate(*rest))
    kind = MultiTaskClassifier if classes else MultiTaskRegressor
    monkeypatch.setattr(weight_prior, "MAX_DUAL_ROWS", N_ROWS - 1)
    iterated = kind(random_state=0).fit(x, y, tasks=task)
    assert asked == [1]
    monkeypatch.setattr(weight_prior, "MAX_DUAL_ROWS", N_ROWS)
    expected = kind(random_state=0).fit(x, y, tasks=task)
    assert asked == [1]
    new, of = x[:300], task[:300]
    if isinstance(iterated, MultiTaskClassifier) and isinstance(expected, MultiTaskClassifier):
        one, two = (model.predict_proba(new, tasks=of) for model in (iterated, expected))
        np.testing.assert_allclose(one, two, rtol=0, atol=0.005)
    else:
        one, two = (model.predict(new, tasks=of) for model in (iterated, expected))
        np.testing.assert_allclose(one, two, rtol=0, atol=0.01 * y.std())
