"""What both estimators do alike: fitting, predicting, tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from helpers.forms import some_in_the_short_form
from helpers.three_tasks import REAL, TASK, UNIT, X, Y, classifier, regressor
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl.inference.variational.batches import GroupedBatches

pytestmark = pytest.mark.usefixtures("inference")


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


@pytest.mark.parametrize(("options", "trains"), [({}, False), ({"preset": "paper", "max_steps": 3}, True)])
def test_the_bar_says_whether_steps_are_taken(
    options: Any, trains: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")
    MultiTaskClassifier(random_state=0, verbose=1, **options).fit(X, Y, tasks=TASK)
    shown = capsys.readouterr().err
    assert "Training" in shown if trains else "Fitting" in shown and "Training" not in shown
    assert "/?" not in shown


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
@pytest.mark.parametrize("method", some_in_the_short_form(("vmtl", "vmtl_ac"), "vmtl_ac"))
def test_every_ablation_is_a_field(method: str, options: dict[str, Any]) -> None:
    """``test_options`` fits the same with the default method."""
    model = classifier(method=method, max_steps=2, latent_dim=6, **options).fit(X, Y, tasks=TASK)
    assert np.isfinite(model.predict_proba(X, tasks=TASK)).all()
    values = regressor(method=method, max_steps=2, latent_dim=6, **options).fit(REAL.X, UNIT, tasks=TASK)
    assert np.isfinite(values.predict(REAL.X, tasks=TASK)).all()


@pytest.mark.parametrize("method", ["vmtl", "stl"])
def test_an_unknown_task_is_encoded_as_the_average_of_all(method: str) -> None:
    model = classifier(method=method, max_steps=5, unknown_task="average").fit(X, Y, tasks=TASK)
    every = [model.encode(X, tasks=[name] * len(X)) for name in model.tasks_]
    np.testing.assert_allclose(model.encode(X, tasks=["nowhere"] * len(X)), np.mean(every, axis=0), atol=1e-6)


def test_unknown_task_average(clf: MultiTaskClassifier, reg: MultiTaskRegressor) -> None:
    averaging = clone(clf).set_params(unknown_task="average").fit(X, Y, tasks=TASK)
    tasks = np.where(np.arange(48) < 5, "east", TASK)
    averaged = averaging.predict_proba(X, tasks=tasks)
    each = np.mean([clf.predict_proba(X[:5], tasks=[name] * 5) for name in clf.tasks_], axis=0)
    np.testing.assert_allclose(averaged[:5], each, atol=1e-6)
    np.testing.assert_allclose(averaged[5:], clf.predict_proba(X, tasks=TASK)[5:], atol=1e-6)
    values = clone(reg).set_params(unknown_task="average").fit(REAL.X, UNIT, tasks=TASK)
    mean, std = values.predict(REAL.X, tasks=tasks, return_std=True)
    parts = np.array([reg.predict(REAL.X[:5], tasks=[name] * 5) for name in reg.tasks_])
    np.testing.assert_allclose(mean[:5], parts.mean(0), rtol=1e-6)
    assert (std[:5] >= parts.std(0)).all()
    assert averaging.score_tasks(X, Y, tasks=tasks).index.tolist() == ["east", "north", "south", "west"]


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


def test_user_methods_work_and_need_an_id_to_be_saved(tmp_path: Path) -> None:
    from vmtl import Method

    own = Method(name="Mine", summary="s", reference="r", weighting="uncertainty")
    model = classifier(method=own, max_steps=2).fit(X, Y, tasks=TASK)
    with pytest.raises(ValueError, match=r"give yours an id first: vmtl\.register_method"):
        model.save(tmp_path / "m.vmtl")
