"""One fit: the paper's presets use the rows as they are, and nothing is inferred before the first step."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from helpers.paper_models import SMALL
from helpers.toys import toy
from vmtl.paper.fit import build_model, fit
from vmtl.paper.methods import METHODS
from vmtl.paper.presets import PRESETS, get_preset
from vmtl.paper.training.early_stopping import hold_out
from vmtl.paper.training.run import Callbacks
from vmtl.paper.training.training import DivergenceError, Progress, Trainer

ROWS = toy([8, 9, 7], classes=3).rows(torch.float32)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [0, 3])
def test_every_method_in_every_preset(method: str, preset: str, classes: int) -> None:
    rows = toy([8, 9, 7], classes=classes).rows(torch.float32)
    settings = get_preset(preset, METHODS[method].head).with_options(
        max_steps=2, latent_dim=5, hidden_dim=6, n_z=2, n_w=2, predict_z=2, predict_w=2
    )
    fitted = fit(METHODS[method], settings, rows, 0)
    assert fitted.history.step == [1, 2]
    assert fitted.history.lr[0] == 1e-4
    assert not any(parameter.requires_grad for parameter in fitted.model.parameters())


def test_mixing_weights_start_even() -> None:
    model = build_model(METHODS["vmtl"], get_preset("paper").with_options(latent_dim=5), ROWS, 0)
    torch.testing.assert_close(model.alpha(), 0.5 * (1 - torch.eye(3)))
    assert torch.equal(model.alpha(), model.beta())
    assert model.sharing().tolist() == [1.0] * 3


def test_callbacks_are_told_of_every_step_and_a_seed_repeats_a_fit() -> None:
    steps: list[int] = []
    callbacks = Callbacks(after_step=[lambda trainer, progress: steps.append(progress.step)])
    settings = replace(SMALL, max_steps=3)
    one, two, other = (fit(METHODS["vmtl"], settings, ROWS, seed, callbacks=callbacks) for seed in (0, 0, 1))
    assert steps == 3 * [1, 2, 3]
    assert torch.equal(one.model.q_w().mean, two.model.q_w().mean)
    assert not torch.equal(one.model.q_w().mean, other.model.q_w().mean)


def test_rows_held_out_decide_when_to_stop() -> None:
    train, held_out = hold_out(toy([30, 30], classes=2).rows(), seed=0)
    held_out = replace(held_out, y=1 - held_out.y)  # every step makes it worse
    fitted = fit(METHODS["bmtl"], replace(SMALL, max_steps=200), train, 0, held_out=held_out)
    assert fitted.history.step[-1] < 200


def test_a_model_with_a_broken_weight_is_no_result() -> None:
    def poison(trainer: Trainer, progress: Progress) -> None:
        with torch.no_grad():
            trainer.model.head.mean[1, 0, 0] = torch.nan

    with pytest.raises(DivergenceError, match=r"step 1: the weight head\.mean of task 1"):
        fit(METHODS["vmtl"], replace(SMALL, max_steps=1), ROWS, 0, callbacks=Callbacks(after_step=[poison]))
