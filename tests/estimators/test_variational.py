"""The paper's system behind the estimators: its options, its files and its training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import vmtl
from helpers.three_tasks import REAL, TASK, UNIT, X, Y, paper_classifier, paper_regressor
from vmtl import METHODS, PRESETS, VMTLClassifier, VMTLRegressor


@pytest.mark.parametrize("preset", PRESETS)
def test_none_keeps_the_preset(preset: str) -> None:
    assert VMTLRegressor(preset=preset).settings() == PRESETS[preset]


def test_draws_are_for_training_and_prediction_and_a_rate_keeps_its_schedule() -> None:
    settings = VMTLClassifier(n_z=3, n_w=5, learning_rate=0.5, sharing=0.5).settings()
    assert settings.sharing == 0.5
    assert (settings.n_z, settings.predict_z, settings.n_w, settings.predict_w) == (3, 3, 5, 5)
    name, _, *rest = PRESETS["paper"].learning_rate
    assert settings.learning_rate == (name, 0.5, *rest)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sharing": 1.5}, "sharing must be between 0 and 1; got 1.5"),
        ({"latent_dim": 0}, "latent_dim must be a positive integer; got 0"),
        ({"max_steps": 0}, "max_steps must be a positive integer"),
        ({"n_z": 1.5}, "n_z must be a positive integer"),
        ({"learning_rate": 0}, "learning_rate must be positive; got 0"),
        ({"kl_form": "exact"}, "kl_form must be one of 'bound'"),
        ({"mixing": "hard"}, "mixing must be one of 'gumbel', 'learnable', 'mean'"),
        ({"encoder": "cnn"}, "encoder must be one of 'linear'"),
        ({"predictive": "map"}, "predictive must be one of"),
        ({"method": "nash"}, "Unknown method 'nash'; choose one of"),
        ({"preset": "default"}, "Unknown preset 'default'; choose one of paper"),
        ({"unknown_task": "similar"}, "unknown_task must be one of 'error', 'average'; got 'similar'"),
        ({"dtype": "float16"}, "dtype must be one of 'float32', 'float64'"),
        ({"device": "nowhere"}, "set device='cpu'"),
    ],
)
def test_bad_options_are_refused_by_fit_not_by_init(options: dict[str, Any], sentence: str) -> None:
    model = VMTLClassifier(**options)
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, Y, tasks=TASK)
    assert not hasattr(model, "classes_")


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
        {"encoder": "mlp"},
        {"encoder": "noisy-linear"},
        {"predictive": "moment"},
        {"predictive": "mean"},
        {"sharing": 0.0},
        {"learning_rate": 0.3},
        {"batch_rows": 2},
        {"early_stopping": True},
        {"dtype": "float64"},
        {"latent_dim": 3},
        {"max_steps": 2},
        {"preset": "released"},
        {"preset": "literal", "kl_form": "bound"},
        {"method": "vmtl_ac"},
        {"random_state": 1},
    ],
    ids=str,
)
def test_every_option_changes_predictions(options: dict[str, Any]) -> None:
    for make, data, y in ((paper_classifier, X, Y), (paper_regressor, REAL.X, UNIT)):
        common = {"sharing": 0.9, "learning_rate": 0.05}
        plain = make(**common).fit(data, y, tasks=TASK)
        other = make(**{**common, **options}).fit(data, y, tasks=TASK)
        one, two = (model.uncertainty(data, tasks=TASK).to_numpy() for model in (plain, other))
        assert np.isfinite(two).all()
        assert np.abs(one - two).max() > 0


@pytest.mark.parametrize("preset", PRESETS)
def test_save_and_load_round_trip_exactly(preset: str, tmp_path: Path) -> None:
    for make, data, y in ((paper_classifier, X, Y), (paper_regressor, REAL.X, UNIT)):
        model = make(preset=preset, tie_mixing=True).fit(data, y, tasks=TASK)
        model.save(tmp_path / "m.vmtl")
        loaded = vmtl.load(tmp_path / "m.vmtl")
        assert type(loaded) is type(model)
        np.testing.assert_array_equal(loaded.predict(data, tasks=TASK), model.predict(data, tasks=TASK))
        assert loaded.uncertainty(data, tasks=TASK).equals(model.uncertainty(data, tasks=TASK))
        assert loaded.alpha_.equals(model.alpha_)
        assert loaded.beta_.equals(model.alpha_)
        assert loaded.history_.equals(model.history_)
        assert loaded.get_params() == model.get_params()
        assert loaded.settings_ == model.settings_ == model.settings()
        assert loaded.hyperparameters_ == model.hyperparameters_


@pytest.mark.parametrize("method", ["bmtl", "stl", "pooled"])
def test_methods_that_share_nothing_have_empty_maps(method: str) -> None:
    model = paper_classifier(method=method).fit(X, Y, tasks=TASK)
    assert not model.alpha_.to_numpy().any()
    assert not model.sharing_.to_numpy().any()


def test_history_has_a_row_per_step_and_task() -> None:
    history = paper_classifier(max_steps=6).fit(X, Y, tasks=TASK).history_
    assert list(history.columns[:2]) == ["step", "task"]
    assert {"nll", "kl_z", "kl_w", "kl_scale_z", "kl_scale_w", "tau", "lr", "seconds"} <= set(history.columns)
    assert len(history) == 6 * 3
    assert history["step"].max() == 6
    assert history.notna().all().all()


def test_callback_sees_every_step_and_threads_are_restored() -> None:
    steps: list[int] = []
    threads: list[int] = []
    before = torch.get_num_threads()

    def callback(progress: Any) -> None:
        steps.append(progress.step)
        threads.append(torch.get_num_threads())

    paper_classifier(max_steps=3, n_threads=before + 1).fit(X, Y, tasks=TASK, callback=callback)
    assert steps == [1, 2, 3]
    assert threads == [before + 1] * 3
    assert torch.get_num_threads() == before


def test_the_bar_shows_the_steps(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")
    paper_classifier(verbose=1).fit(X, Y, tasks=TASK)
    assert "Training" in capsys.readouterr().err


def test_a_checkpoint_continues_the_same_run(tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    def stop(progress: Any) -> None:
        if progress.step == 3:
            raise Stopped

    whole = paper_classifier().fit(X, Y, tasks=TASK)
    with pytest.raises(Stopped):
        paper_classifier().fit(X, Y, tasks=TASK, checkpoint=tmp_path / "run", callback=stop)
    resumed = paper_classifier().fit(X, Y, tasks=TASK, checkpoint=tmp_path / "run")
    np.testing.assert_array_equal(resumed.predict_proba(X, tasks=TASK), whole.predict_proba(X, tasks=TASK))


def test_early_stopping_needs_rows() -> None:
    with pytest.raises(ValueError, match="at least 5 rows in some task; set early_stopping=False"):
        paper_classifier(early_stopping=True).fit(X[:8], Y[:8], tasks=TASK[:8])


def test_deterministic_z_and_w_are_the_deterministic_method() -> None:
    ours = paper_classifier(bayesian_z=False, bayesian_w=False).fit(X, Y, tasks=TASK)
    theirs = paper_classifier(method="bmtl").fit(X, Y, tasks=TASK)
    np.testing.assert_allclose(ours.predict_proba(X, tasks=TASK), theirs.predict_proba(X, tasks=TASK), atol=1e-6)


def test_class_weight_is_a_sample_weight() -> None:
    options = {"method": "bmtl", "batch_rows": 0}
    balanced = paper_classifier(class_weight={"ant": 3.0}, **options).fit(X, Y, tasks=TASK)
    same = paper_classifier(**options).fit(X, Y, tasks=TASK, sample_weight=np.where(Y == "ant", 3.0, 1.0))
    np.testing.assert_allclose(balanced.predict_proba(X, tasks=TASK), same.predict_proba(X, tasks=TASK), atol=1e-7)


def test_all_methods_are_offered() -> None:
    assert len(METHODS) >= 11
