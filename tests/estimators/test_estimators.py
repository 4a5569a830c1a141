"""The estimators as a user meets them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
import torch
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.toys import SMALL, build, toy
from vmtl import METHODS, PRESETS, MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils.noise import Noise
from vmtl._utils.tensor_files import ModelFileError
from vmtl.config.settings import Settings
from vmtl.data.duplicates import merge_duplicates
from vmtl.data.rows import Rows
from vmtl.inference.exact.kernel_selection import ASSUMED
from vmtl.inference.recipes.steps import learn_features
from vmtl.inference.variational.batches import GroupedBatches
from vmtl.model.objective import Objective, Scales

pytestmark = pytest.mark.usefixtures("inference")

DATA = toy([16, 20, 12], classes=4, features=6, spread=0.7)
X, Y, TASK = DATA.X, np.array(["ant", "bee", "cat", "dog"])[DATA.y], np.array(["north", "south", "west"])[DATA.task]
REAL = toy([16, 20, 12], features=6)
UNIT = 1000.0 + 50.0 * REAL.y


def classifier(**options: Any) -> MultiTaskClassifier:
    return MultiTaskClassifier(**{"max_steps": 40, "random_state": 0, **options})


def regressor(**options: Any) -> MultiTaskRegressor:
    return MultiTaskRegressor(**{"max_steps": 40, "random_state": 0, **options})


@pytest.fixture(scope="module")
def clf(inference: None) -> MultiTaskClassifier:
    return classifier().fit(X, Y, tasks=TASK)


@pytest.fixture(scope="module")
def reg(inference: None) -> MultiTaskRegressor:
    return regressor().fit(REAL.X, UNIT, tasks=TASK)


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"f{j}" for j in range(6)], index=np.arange(100, 148)).assign(site=TASK)


def test_classifier_api(clf: MultiTaskClassifier) -> None:
    p = clf.predict_proba(X, tasks=TASK)
    assert p.shape == (48, 4)
    np.testing.assert_allclose(p.sum(1), 1, atol=1e-5)
    predicted = clf.predict(X, tasks=TASK)
    np.testing.assert_array_equal(predicted, clf.classes_[p.argmax(1)])
    assert clf.score(X, Y, tasks=TASK) == pytest.approx(np.mean(predicted == Y))
    assert clf.score(X, Y, tasks=TASK) > 0.9
    scores = clf.score_tasks(X, Y, tasks=TASK)
    assert list(scores.index) == ["north", "south", "west"]
    assert scores["south"] == pytest.approx(np.mean((predicted == Y)[TASK == "south"]))


def test_relatedness_is_a_table_with_zero_diagonal_and_rows_that_sum_to_one(clf: MultiTaskClassifier) -> None:
    for table in (clf.alpha_, clf.beta_):
        assert list(table.index) == list(table.columns) == ["north", "south", "west"]
        np.testing.assert_array_equal(np.diag(table), 0)
        np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-6)


def test_history_has_a_row_per_step_and_task(clf: MultiTaskClassifier) -> None:
    history = clf.history_
    names = {"step", "task", "nll", "kl_z", "kl_w", "kl_scale_z", "kl_scale_w", "tau", "lr", "seconds"}
    assert names <= set(history.columns)
    assert len(history) == 40 * 3
    assert history["step"].iloc[-1] == 40
    assert history.notna().all().all()
    assert history["seconds"].is_monotonic_increasing


def test_uncertainty_of_classes(clf: MultiTaskClassifier) -> None:
    found = clf.uncertainty(X, tasks=TASK)
    assert list(found.columns) == ["total", "aleatoric", "epistemic"]
    np.testing.assert_allclose(found.total, found.aleatoric + found.epistemic, atol=1e-6)
    p = clf.predict_proba(X, tasks=TASK).astype(float)
    np.testing.assert_allclose(found.total, -(p * np.log(np.maximum(p, 1e-30))).sum(1), atol=1e-4)
    assert (found.to_numpy() >= -1e-7).all()


def test_regression_is_in_the_unit_of_the_user(reg: MultiTaskRegressor) -> None:
    mean, std = reg.predict(REAL.X, tasks=TASK, return_std=True)
    assert reg.score(REAL.X, UNIT, tasks=TASK) > 0.5
    assert 800 < mean.min() < mean.max() < 1200
    found = reg.uncertainty(REAL.X, tasks=TASK)
    np.testing.assert_allclose(found.total, std)
    np.testing.assert_allclose(found.total**2, found.aleatoric**2 + found.epistemic**2)
    residual = np.sqrt(np.mean((mean - UNIT) ** 2))
    assert 0.3 * residual < std.mean() < 5 * residual
    other = regressor().fit(REAL.X, 3.0 + 0.001 * REAL.y, tasks=TASK)
    small, small_std = other.predict(REAL.X, tasks=TASK, return_std=True)
    np.testing.assert_allclose((small - 3.0) / 0.001, (mean - 1000) / 50, atol=1e-3)
    np.testing.assert_allclose(small_std / 0.001, std / 50, rtol=1e-3)


def test_a_constant_target() -> None:
    model = regressor(max_steps=5).fit(REAL.X, np.full(48, 7.0), tasks=TASK)
    np.testing.assert_allclose(model.predict(REAL.X, tasks=TASK), 7.0, atol=0.5)


def test_tasks_none_is_one_task() -> None:
    model = classifier(max_steps=5).fit(X, Y)
    assert model.predict(X).shape == (48,)
    assert len(model.score_tasks(X, Y)) == 1
    assert model.alpha_.shape == (1, 1)


def test_not_fitted() -> None:
    with pytest.raises(NotFittedError):
        classifier().predict(X, tasks=TASK)
    with pytest.raises(NotFittedError):
        regressor().save("never.vmtl")


@pytest.mark.parametrize("labels", [[3, 1, 7, 5], [True, False], ["b", "a"], [2.0, 1.0, 0.0]])
def test_labels_of_any_kind_come_back(labels: list[Any], tmp_path: Path) -> None:
    y = np.array(labels)[DATA.y % len(labels)]
    model = classifier(max_steps=3).fit(X, y, tasks=TASK)
    assert model.predict(X, tasks=TASK).dtype == y.dtype
    assert set(model.predict(X, tasks=TASK)) <= set(labels)
    model.save(tmp_path / "m.vmtl")
    loaded = MultiTaskClassifier.load(tmp_path / "m.vmtl")
    assert loaded.classes_.dtype == model.classes_.dtype


@pytest.mark.parametrize("method", ["vmtl", "vmtl_ac", "bakker"])
def test_a_class_missing_in_a_task_is_predicted_when_others_have_it(method: str) -> None:
    """Class 0 never occurs in the training rows of task 0; its test rows there are all of class 0."""
    train = toy([40, 40, 40], classes=4, seed=3)
    keep = ~((train.task == 0) & (train.y == 0))
    model = MultiTaskClassifier(method=method, max_steps=150, random_state=0)
    model.fit(train.X[keep], train.y[keep], tasks=train.task[keep])
    hidden = train.X[~keep]
    accuracy = np.mean(model.predict(hidden, tasks=np.zeros(len(hidden), dtype=int)) == 0)
    assert accuracy > 0.5  # chance is 0.25, and a model of task 0 alone never says 0
    assert model.score(train.X[keep], train.y[keep], tasks=train.task[keep]) > 0.8


def test_a_row_of_weight_zero_is_no_row() -> None:
    extra, weight = np.random.default_rng(1).normal(size=(9, 6)), np.r_[np.ones(48), np.zeros(9)]
    more = {"tasks": np.r_[TASK, TASK[:9]], "sample_weight": weight}
    with_extra = classifier().fit(np.r_[X, extra], np.r_[Y, ["eel"] * 9], **more)
    without = classifier().fit(X, Y, tasks=TASK)
    assert with_extra.classes_.tolist() == without.classes_.tolist()
    found, expected = (model.predict_proba(X, tasks=TASK) for model in (with_extra, without))
    np.testing.assert_allclose(found, expected, atol=0.03)  # other noise in training
    found, expected = (
        model.predict(REAL.X, tasks=TASK)
        for model in (
            regressor().fit(np.r_[REAL.X, extra], np.r_[UNIT, 9e3 + extra[:, 0]], **more),
            regressor().fit(REAL.X, UNIT, tasks=TASK),
        )
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_the_same_weight_for_all_rows_changes_little() -> None:
    noisy = UNIT + 50 * np.random.default_rng(0).normal(size=48)
    plain, heavy = (
        regressor().fit(REAL.X, noisy, tasks=TASK, sample_weight=np.full(48, weight)) for weight in (1.0, 1000.0)
    )
    np.testing.assert_allclose(heavy.predict(REAL.X, tasks=TASK), plain.predict(REAL.X, tasks=TASK), rtol=1e-3)


@pytest.mark.parametrize("method", ["vmtl", "stl"])
def test_an_unknown_task_is_encoded_as_the_average_of_all(method: str) -> None:
    model = classifier(method=method, max_steps=5, unknown_task="average").fit(X, Y, tasks=TASK)
    every = [model.encode(X, tasks=[name] * len(X)) for name in model.tasks_]
    np.testing.assert_allclose(model.encode(X, tasks=["nowhere"] * len(X)), np.mean(every, axis=0), atol=1e-6)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_batch_rows_is_the_size_of_a_step(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    draw = GroupedBatches.draw

    def count(sampler: GroupedBatches, noise: Any) -> Any:
        batch = draw(sampler, noise)
        sizes.append(batch.y.shape[1])
        return batch

    monkeypatch.setattr(GroupedBatches, "draw", count)
    classifier(preset=preset, max_steps=2, batch_rows=3).fit(X, Y, tasks=TASK)
    regressor(preset=preset, max_steps=2, batch_rows=3).fit(REAL.X, UNIT, tasks=TASK)
    assert sizes == [4 * 3, 4 * 3, 30, 30]  # four classes
    classifier(preset=preset, max_steps=2, batch_rows=0).fit(X, Y, tasks=TASK)
    assert len(sizes) == 4


@pytest.mark.parametrize("preset", ["default", "paper", "released"])
def test_save_and_load_round_trip_exactly(preset: str, tmp_path: Path) -> None:
    options = {"preset": preset, "max_steps": 3, "tie_mixing": True}
    for model, data, y in ((classifier(**options), X, Y), (regressor(**options), REAL.X, UNIT)):
        model.fit(data, y, tasks=TASK)
        model.save(tmp_path / "m.vmtl")
        loaded = type(model).load(tmp_path / "m.vmtl")
        np.testing.assert_array_equal(loaded.predict(data, tasks=TASK), model.predict(data, tasks=TASK))
        assert loaded.uncertainty(data, tasks=TASK).equals(model.uncertainty(data, tasks=TASK))
        assert loaded.alpha_.equals(model.alpha_)
        assert loaded.beta_.equals(model.alpha_)
        assert loaded.get_params() == model.get_params()
        assert loaded.settings_ == model.settings_


def test_the_wrong_class_to_load(clf: MultiTaskClassifier, tmp_path: Path) -> None:
    clf.save(tmp_path / "m.vmtl")
    with pytest.raises(ModelFileError, match="holds a MultiTaskClassifier; load it with that class"):
        MultiTaskRegressor.load(tmp_path / "m.vmtl")


def test_options_reach_the_settings_and_none_keeps_the_preset() -> None:
    assert MultiTaskClassifier(preset="paper").settings() == PRESETS["paper"]
    changed = MultiTaskClassifier(
        preset="paper", sharing=0.5, learning_rate=0.01, n_z=3, kl_form="monte-carlo"
    ).settings()
    assert (changed.sharing, changed.n_z, changed.predict_z, changed.kl_form) == (0.5, 3, 3, "monte-carlo")
    assert changed.learning_rate == ("halving", 0.01, 3000.0)


@pytest.mark.parametrize(
    "options",
    [
        {"bayesian_z": False},
        {"bayesian_w": False},
        {"bayesian_z": False, "bayesian_w": False},
        {"mixing": "learnable"},
        {"mixing": "mean"},
        {"tie_mixing": True},
        {"n_z": 1, "n_w": 3},
        {"kl_form": "monte-carlo"},
        {"kl_form": "moment-matched"},
        {"kl_form": "weighted-sum"},
        {"encoder": "linear"},
        {"encoder": "mlp"},
        {"encoder": "noisy-linear"},
        {"predictive": "monte-carlo"},
        {"predictive": "mean"},
        {"sharing": 0.0},
        {"sharing": 1.0},
        {"dtype": "float64"},
    ],
    ids=str,
)
def test_every_ablation_is_a_field(options: dict[str, Any]) -> None:
    for method in ("vmtl", "vmtl_ac"):
        model = classifier(method=method, max_steps=2, latent_dim=6, **options).fit(X, Y, tasks=TASK)
        assert np.isfinite(model.predict_proba(X, tasks=TASK)).all()
    values = regressor(max_steps=2, latent_dim=6, **options).fit(REAL.X, UNIT, tasks=TASK)
    assert np.isfinite(values.predict(REAL.X, tasks=TASK)).all()


def test_deterministic_z_and_w_are_the_deterministic_method() -> None:
    rows = {"max_steps": 5, "encoder": "linear", "latent_dim": 4}
    ours = classifier(method="vmtl", bayesian_z=False, bayesian_w=False, **rows).fit(X, Y, tasks=TASK)
    theirs = classifier(method="bmtl", **rows).fit(X, Y, tasks=TASK)
    np.testing.assert_allclose(ours.predict_proba(X, tasks=TASK), theirs.predict_proba(X, tasks=TASK), atol=1e-6)


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


def test_pandas_in_and_out(frame: pd.DataFrame, clf: MultiTaskClassifier) -> None:
    table = frame.drop(columns="site")
    model = classifier().fit(table, pd.Series(Y, index=frame.index), tasks=frame["site"])
    assert list(model.feature_names_in_) == list(table.columns)
    np.testing.assert_allclose(
        model.predict_proba(table, tasks=frame["site"]), clf.predict_proba(X, tasks=TASK), atol=1e-6
    )
    assert model.uncertainty(table, tasks=frame["site"]).index.equals(frame.index)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[table.columns[::-1]], tasks=frame["site"])


def test_task_column(frame: pd.DataFrame, clf: MultiTaskClassifier, tmp_path: Path) -> None:
    model = classifier(task_column="site").fit(frame, Y)
    assert model.n_features_in_ == 6
    expected = clf.predict_proba(X, tasks=TASK)
    np.testing.assert_allclose(model.predict_proba(frame), expected, atol=1e-6)
    assert model.score_tasks(frame, Y).equals(clf.score_tasks(X, Y, tasks=TASK))
    model.save(tmp_path / "m.vmtl")
    np.testing.assert_allclose(MultiTaskClassifier.load(tmp_path / "m.vmtl").predict_proba(frame), expected, atol=1e-6)
    moved = model.predict_proba(frame, tasks=np.full(48, "west"))
    np.testing.assert_allclose(moved, clf.predict_proba(X, tasks=np.full(48, "west")), atol=1e-6)


def test_unknown_task_average(clf: MultiTaskClassifier, reg: MultiTaskRegressor) -> None:
    averaging = clone(clf).set_params(unknown_task="average").fit(X, Y, tasks=TASK)
    tasks = np.where(np.arange(48) < 5, "east", TASK)
    found = averaging.predict_proba(X, tasks=tasks)
    each = np.mean([clf.predict_proba(X[:5], tasks=[name] * 5) for name in clf.tasks_], axis=0)
    np.testing.assert_allclose(found[:5], each, atol=1e-6)
    np.testing.assert_allclose(found[5:], clf.predict_proba(X, tasks=TASK)[5:], atol=1e-6)
    values = clone(reg).set_params(unknown_task="average").fit(REAL.X, UNIT, tasks=TASK)
    mean, std = values.predict(REAL.X, tasks=tasks, return_std=True)
    parts = np.array([reg.predict(REAL.X[:5], tasks=[name] * 5) for name in reg.tasks_])
    np.testing.assert_allclose(mean[:5], parts.mean(0), rtol=1e-6)
    assert (std[:5] >= parts.std(0)).all()
    assert averaging.score_tasks(X, Y, tasks=tasks).index.tolist() == ["east", "north", "south", "west"]


@pytest.fixture
def routing() -> Any:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_metadata_routing_through_a_pipeline_and_a_search() -> None:
    estimator = classifier(max_steps=5).set_fit_request(tasks=True, sample_weight=True)
    estimator = estimator.set_predict_request(tasks=True).set_score_request(tasks=True, sample_weight=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), estimator)
    pipeline.fit(X, Y, tasks=TASK, sample_weight=np.ones(48))
    assert pipeline.predict(X, tasks=TASK).shape == (48,)
    assert pipeline.score(X, Y, tasks=TASK) > 0.3
    search = GridSearchCV(
        pipeline, {"multitaskclassifier__sharing": [0.0, 0.9]}, cv=KFold(2, shuffle=True, random_state=0)
    )
    search.fit(X, Y, tasks=TASK)
    assert set(search.best_params_) == {"multitaskclassifier__sharing"}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_pipelines_and_searches_without_routing_by_a_task_column(frame: pd.DataFrame) -> None:
    scaler = ColumnTransformer([("scaled", StandardScaler(), [f"f{j}" for j in range(6)])], remainder="passthrough")
    scaler.set_output(transform="pandas")
    pipeline = make_pipeline(scaler, classifier(task_column="remainder__site", max_steps=5))
    scores = cross_val_score(pipeline, frame, Y, cv=KFold(2, shuffle=True, random_state=0))
    assert np.isfinite(scores).all()
    search = GridSearchCV(classifier(task_column="site", max_steps=3), {"method": ["vmtl", "bmtl"]}, cv=2)
    assert search.fit(frame.sample(frac=1, random_state=0), Y[frame.sample(frac=1, random_state=0).index - 100])


def test_early_stopping_keeps_the_best_weights() -> None:
    model = classifier(early_stopping=True, max_steps=60, encoder="linear", latent_dim=4).fit(X, Y, tasks=TASK)
    assert model.score(X, Y, tasks=TASK) > 0.6
    regressor(early_stopping=True, max_steps=20).fit(REAL.X, UNIT, tasks=TASK)
    with pytest.raises(ValueError, match="at least 5 rows in some task; set early_stopping=False"):
        classifier(early_stopping=True).fit(X[:8], Y[:8], tasks=TASK[:8])


def test_callback_sees_every_step_and_threads_are_restored() -> None:
    steps: list[int] = []
    before = torch.get_num_threads()
    threads: list[int] = []

    def callback(progress: Any) -> None:
        steps.append(progress.step)
        threads.append(torch.get_num_threads())

    model = classifier(method="bmtl", max_steps=3, n_threads=before + 1, encoder="linear")
    model.fit(X, Y, tasks=TASK, callback=callback)
    assert steps == [1, 2, 3]
    assert threads == [before + 1] * 3
    assert torch.get_num_threads() == before


def test_encode_gives_the_mean_representation(clf: MultiTaskClassifier) -> None:
    z = clf.encode(X, tasks=TASK)
    assert z.shape == (48, clf._fitted.model.encoder.latent_dim)
    assert np.isfinite(z).all()


def test_many_tasks_many_classes_one_row_each() -> None:
    rng = np.random.default_rng(0)
    wide, labels = rng.normal(size=(300, 20)), np.arange(300) % 130
    model = classifier(max_steps=1, latent_dim=20).fit(wide, labels, tasks=np.arange(300) % 75)
    assert model.predict_proba(wide[:3], tasks=[0, 1, 2]).shape == (3, 130)
    assert model.alpha_.shape == (75, 75)


def test_user_methods_work_and_need_an_id_to_be_saved(tmp_path: Path) -> None:
    from vmtl import Method

    own = Method(name="Mine", summary="s", reference="r", weighting="uncertainty")
    model = classifier(method=own, max_steps=2).fit(X, Y, tasks=TASK)
    with pytest.raises(ValueError, match=r"give yours an id first: vmtl\.register_method"):
        model.save(tmp_path / "m.vmtl")
