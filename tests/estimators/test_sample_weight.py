"""A row of weight 2 is a row twice, one of weight 0 is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.three_tasks import DATA, REAL, TASK, UNIT, X, Y, classifier, regressor
from helpers.toys import SMALL, build
from vmtl import METHODS, MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils.noise import Noise
from vmtl.config.settings import Settings
from vmtl.data.duplicates import merge_duplicates
from vmtl.data.rows import Rows
from vmtl.inference.features.kernel_selection import ASSUMED
from vmtl.inference.recipes.steps import learn_features
from vmtl.model.objective import Objective, Scales

pytestmark = pytest.mark.usefixtures("inference")


def test_a_row_of_weight_zero_is_no_row() -> None:
    extra, weight = np.random.default_rng(1).normal(size=(9, 6)), np.r_[np.ones(48), np.zeros(9)]
    more = {"tasks": np.r_[TASK, TASK[:9]], "sample_weight": weight}
    with_extra = classifier().fit(np.r_[X, extra], np.r_[Y, ["eel"] * 9], **more)
    without = classifier().fit(X, Y, tasks=TASK)
    assert with_extra.classes_.tolist() == without.classes_.tolist()
    weighted, expected = (model.predict_proba(X, tasks=TASK) for model in (with_extra, without))
    np.testing.assert_allclose(weighted, expected, atol=0.03)  # other noise in training
    weighted, expected = (
        model.predict(REAL.X, tasks=TASK)
        for model in (
            regressor().fit(np.r_[REAL.X, extra], np.r_[UNIT, 9e3 + extra[:, 0]], **more),
            regressor().fit(REAL.X, UNIT, tasks=TASK),
        )
    )
    np.testing.assert_allclose(weighted, expected, rtol=1e-4)


def test_the_same_weight_for_all_rows_changes_little() -> None:
    noisy = UNIT + 50 * np.random.default_rng(0).normal(size=48)
    plain, heavy = (
        regressor().fit(REAL.X, noisy, tasks=TASK, sample_weight=np.full(48, weight)) for weight in (1.0, 1000.0)
    )
    np.testing.assert_allclose(heavy.predict(REAL.X, tasks=TASK), plain.predict(REAL.X, tasks=TASK), rtol=1e-3)


@pytest.mark.parametrize(
    ("method", "encoder"), [("vmtl", "kernel"), ("vbmtl", "kernel"), ("bmtl", "linear"), ("long", "mlp")]
)
def test_weight_two_is_the_row_twice_in_regression(method: str, encoder: str) -> None:
    """Regression with moments has no noise, so whole fits must agree."""
    weight = np.ones(48)
    weight[[0, 5, 30]] = 2
    twice = np.concatenate([np.arange(48), [0, 5, 30]])
    options = {"method": method, "encoder": encoder, "max_steps": 10, "latent_dim": 5, "dtype": "float64"}
    once = regressor(**options).fit(REAL.X, UNIT, tasks=TASK, sample_weight=weight)
    copied = regressor(**options).fit(REAL.X[twice], UNIT[twice], tasks=TASK[twice])
    assert once.y_mean_ == pytest.approx(copied.y_mean_)
    np.testing.assert_allclose(once.predict(X, tasks=TASK), copied.predict(X, tasks=TASK), rtol=1e-6)


@pytest.mark.parametrize("method", ["vmtl", "vbmtl"])
def test_weight_two_is_the_row_twice_where_posteriors_are_solved(method: str) -> None:
    """In single precision: probabilities to 1e-4, targets to 1e-4 of their deviation of 50."""
    weight = np.ones(48)
    weight[[0, 5, 30]] = 2
    twice = np.concatenate([np.arange(48), [0, 5, 30]])
    once = MultiTaskClassifier(method, random_state=0).fit(X, Y, tasks=TASK, sample_weight=weight)
    copied = MultiTaskClassifier(method, random_state=0).fit(X[twice], Y[twice], tasks=TASK[twice])
    np.testing.assert_allclose(once.predict_proba(X, tasks=TASK), copied.predict_proba(X, tasks=TASK), atol=1e-4)
    once = MultiTaskRegressor(method, random_state=0).fit(REAL.X, UNIT, tasks=TASK, sample_weight=weight)
    copied = MultiTaskRegressor(method, random_state=0).fit(REAL.X[twice], UNIT[twice], tasks=TASK[twice])
    for one, two in zip(*(m.predict(REAL.X, tasks=TASK, return_std=True) for m in (once, copied)), strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=5e-3)


@pytest.mark.parametrize("method", ["bmtl", "stl", "pooled", "kendall"])
@pytest.mark.parametrize("encoder", ["kernel", "linear"])
def test_weight_two_is_the_row_twice_in_classification(method: str, encoder: str) -> None:
    """Deterministic methods have no noise that would depend on the number of rows."""
    weight = np.ones(48)
    weight[[0, 5, 30]] = 2
    twice = np.concatenate([np.arange(48), [0, 5, 30]])
    options = {"method": method, "encoder": encoder, "max_steps": 10, "latent_dim": 5, "dtype": "float64"}
    once = classifier(**options).fit(X, Y, tasks=TASK, sample_weight=weight)
    copied = classifier(**options).fit(X[twice], Y[twice], tasks=TASK[twice])
    np.testing.assert_allclose(once.predict_proba(X, tasks=TASK), copied.predict_proba(X, tasks=TASK), atol=1e-6)
    plain = classifier(**options).fit(X, Y, tasks=TASK)
    assert not np.allclose(once.predict_proba(X, tasks=TASK), plain.predict_proba(X, tasks=TASK), atol=1e-6)


def test_weight_two_is_the_row_twice_with_sampled_weights_and_the_same_noise() -> None:
    """The objective of vmtl on the same noise per row."""

    class RowNoise(Noise):
        """The same normal draws for every row."""

        def normal(self, draws: int, *shape: int) -> torch.Tensor:
            row = [1 if size in (16, 18, 20) else size for size in shape]
            return super().normal(draws, *row).expand(draws, *shape)

    weight = np.ones(48)
    weight[[0, 5]] = 2
    twice = np.concatenate([np.arange(48), [0, 5]])
    copied = type(DATA)("", DATA.X[twice], DATA.y[twice], DATA.task[twice], 4)
    for estimator in ("sampled", "moment"):
        losses = []
        for rows in (DATA.rows(weight=weight), copied.rows()):
            model = build("vmtl", rows, replace(SMALL, encoder="linear", estimator=estimator))
            batch = rows.batch(*rows.by_task)
            objective = Objective(model, rows)
            values = objective.terms(batch, 0.5, RowNoise(0, torch.device("cpu"), torch.float64))
            losses.append(objective.task_losses(values, Scales(1.0, 1.0, 0.1)))
        torch.testing.assert_close(*losses)


def test_the_feature_map_of_the_kernel_is_exact_in_weights() -> None:
    weight = np.ones(48)
    weight[[0, 5, 30]] = [2, 3, 2]
    twice = np.concatenate([np.arange(48), [0, 5, 5, 30]])
    copied = type(DATA)("", DATA.X[twice], DATA.y[twice], DATA.task[twice], 4)

    def features(rows: Rows) -> torch.Tensor:
        settings = Settings(latent_dim=8)
        feature_map = learn_features(METHODS["vmtl"], settings, merge_duplicates(rows), ASSUMED, 0)
        return feature_map.double()(torch.as_tensor(X)[None])[0]

    torch.testing.assert_close(features(DATA.rows(weight=weight)), features(copied.rows()), atol=1e-6, rtol=1e-6)


def test_class_weight_is_a_sample_weight() -> None:
    options = {"method": "bmtl", "encoder": "linear", "latent_dim": 4, "max_steps": 10}
    heavy = classifier(class_weight={"ant": 3.0}, **options).fit(X, Y, tasks=TASK)
    same = classifier(**options).fit(X, Y, tasks=TASK, sample_weight=np.where(Y == "ant", 3.0, 1.0))
    np.testing.assert_allclose(heavy.predict_proba(X, tasks=TASK), same.predict_proba(X, tasks=TASK), atol=1e-7)
    few = np.flatnonzero((Y != "ant") | (np.arange(48) < 4))
    balanced = classifier(class_weight="balanced", **options).fit(X[few], Y[few], tasks=TASK[few])
    plain = classifier(**options).fit(X[few], Y[few], tasks=TASK[few])
    ant = list(plain.classes_).index("ant")
    assert balanced.predict_proba(X, tasks=TASK)[:, ant].mean() > plain.predict_proba(X, tasks=TASK)[:, ant].mean()
