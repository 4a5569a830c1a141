"""Which way a fit takes, and that it is complete when it comes back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from torch import Tensor

from helpers.toys import toy
from vmtl.config.presets import PRESETS
from vmtl.inference.features.kernel_selection import assume_kernel, select_kernel
from vmtl.inference.recipes.exact import Exact
from vmtl.inference.recipes.point import Point
from vmtl.inference.recipes.variational import Variational
from vmtl.inference.strategy import Strategy, choose_strategy, fit
from vmtl.inference.variational.run import Callbacks
from vmtl.methods import METHODS
from vmtl.model.distributions import Posterior
from vmtl.model.model import effective_method
from vmtl.model.priors import W_PRIORS, Context
from vmtl.model.priors.standard_normal import StandardNormalW

CLASSES = toy([6, 5, 7], classes=3).rows()
TRAINED, ASSUMED = Variational(select_kernel), Variational(assume_kernel)


def chosen(method: str, preset: str = "default", **options: Any) -> Strategy:
    settings = PRESETS[preset].with_options(**options)
    return choose_strategy(effective_method(METHODS[method], settings), settings)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("vmtl", Exact()),
        ("vbmtl", Exact()),
        ("bakker", Exact()),
        ("vmtl_ac", TRAINED),  # amortised: no means of its own
        ("vstl", Exact()),
        ("bmtl", Point()),
        ("qian", Point()),
        ("long", Point()),
        ("stl", Point()),
    ],
)
def test_the_prior_of_a_method_decides_in_the_default_preset(method: str, expected: Strategy) -> None:
    assert chosen(method) == expected


def test_a_prior_that_the_exact_model_does_not_know_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prior of one's own costs what its penalty says, in the default preset too."""

    class Narrow(StandardNormalW):
        exact = None

        def penalty(self, q_w: Posterior, context: Context) -> Tensor:
            return 100 * super().penalty(q_w, context)

    monkeypatch.setitem(W_PRIORS, "narrow", Narrow)
    method = replace(METHODS["bmtl"], prior_w="narrow")
    settings = PRESETS["default"].with_options(max_steps=30)
    assert choose_strategy(method, settings) == TRAINED
    plain = replace(METHODS["bmtl"], prior_w="standard_normal")
    size, usual = (fit(one, settings, CLASSES, 0).model.head.mean.square().mean() for one in (method, plain))
    assert float(size) < 0.5 * float(usual)


@pytest.mark.parametrize("preset", ["paper", "released"])
@pytest.mark.parametrize("method", METHODS)
def test_the_papers_presets_only_take_gradient_steps(method: str, preset: str) -> None:
    assert chosen(method, preset) == ASSUMED


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"encoder": "linear"}, ASSUMED),
        ({"sharing": 0.9}, TRAINED),
        ({"logit_scale": 3.0}, TRAINED),
        ({"bayesian_w": False}, Point()),
        ({"bayesian_w": False, "ridge": False}, TRAINED),
        ({"bayesian_z": False}, Exact()),
        ({"select": False}, ASSUMED),
    ],
)
def test_what_is_given_by_hand_is_not_solved(options: dict[str, Any], expected: Strategy) -> None:
    assert chosen("vmtl", **options) == expected


@pytest.mark.parametrize("method", ["vmtl", "bakker", "kendall"])
def test_a_fit_is_complete_and_leaves_the_settings_alone(method: str) -> None:
    settings = PRESETS["default"].with_options(max_steps=2)
    fitted = fit(METHODS[method], settings, CLASSES, 0)
    assert fitted.model.settings == settings
    assert not any(parameter.requires_grad for parameter in fitted.model.parameters())
    assert fitted.history.step == [1, 2]
    assert fitted.hyperparameters.strategy == chosen(method).name


@pytest.mark.parametrize("method", ["vmtl", "bakker", "bmtl", "vmtl_ac"])
@pytest.mark.usefixtures("quick_inference")
def test_whoever_waits_is_told_what_comes_next(method: str) -> None:
    phases: list[str] = []
    settings = PRESETS["default"].with_options(max_steps=1)
    fit(METHODS[method], settings, CLASSES, 0, callbacks=Callbacks(before_phase=phases.append))
    assert phases[0] == "choosing a kernel"
    assert len(phases) == len(set(phases)) >= 2
