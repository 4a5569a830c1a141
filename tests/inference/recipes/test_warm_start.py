"""A warm start: the exact means are where training begins, not where it ends."""

from __future__ import annotations

import pytest
import torch

from helpers.toys import toy
from vmtl.config.presets import PRESETS
from vmtl.inference.recipes import variational
from vmtl.inference.strategy import fit
from vmtl.inference.variational.run import Callbacks
from vmtl.inference.variational.training import Trainer
from vmtl.methods import METHODS


@pytest.mark.parametrize("classes", [0, 3])
def test_means_begin_at_the_exact_ones_and_are_trained(classes: int) -> None:
    rows = toy([15, 20, 12], classes=classes).rows()
    starts: dict[str, torch.Tensor] = {}

    def keep(name: str) -> Callbacks:
        def before(trainer: Trainer) -> None:
            starts[name] = trainer.model.head.mean.detach().clone()

        return Callbacks(before_first_step=before)

    settings = PRESETS["default"].with_options(max_steps=10)
    warm = fit(METHODS["bakker"], settings, rows, 0, callbacks=keep("bakker"))
    fit(METHODS["vbmtl"], settings, rows, 0, callbacks=keep("vbmtl"))
    if not classes:  # the same features, scale and independent tasks; a classifier's scale is capped
        torch.testing.assert_close(starts["bakker"], starts["vbmtl"])
    assert starts["bakker"].abs().max() > 0.01
    assert not torch.equal(warm.model.head.mean, starts["bakker"])
    assert warm.hyperparameters.strategy == "warm start"


@pytest.mark.parametrize("limit", [2.0, 6.0, 1e3])
def test_scale_and_learning_rate_are_such_that_steps_arrive(limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variational, "MAX_TRAINED_SCALE", limit)
    starts: list[float] = []
    callbacks = Callbacks(before_first_step=lambda trainer: starts.append(float(trainer.model.logit_scale)))
    rows = toy([15, 20, 12], classes=3, spread=0.1).rows()
    fitted = fit(METHODS["bakker"], PRESETS["default"].with_options(max_steps=3), rows, 0, callbacks=callbacks)
    inferred = fitted.hyperparameters
    assert inferred.scale is not None
    assert inferred.unit is not None
    trained = min(limit, inferred.scale)
    assert starts == [pytest.approx(trained / inferred.unit, rel=1e-5)]
    assert inferred.learning_rate_factor == pytest.approx(min(1, 5 / trained))
    assert fitted.history.lr[0] == pytest.approx(0.1 * inferred.learning_rate_factor)
    assert inferred.width_factor == 1  # widths are trained with the means
    assert inferred.structure is None
