"""A model: whole when it is built, without any rows, and it reports what it has."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from helpers.paper_models import SMALL, build
from helpers.priors import cpu_noise
from helpers.toys import toy
from vmtl import METHODS
from vmtl.paper.distributions import Delta, Gaussian
from vmtl.paper.model import Layout, Model, effective_method

ROWS = toy([6, 8, 7], classes=3, missing=[(1, 0)]).rows()


@pytest.mark.parametrize("method", METHODS)
def test_a_layout_of_shapes_is_enough(method: str) -> None:
    """A model made from the shapes of a file takes its weights and says the same."""
    model = build(method, ROWS)
    layout = replace(Layout.of(ROWS), statistics=torch.zeros_like(Layout.of(ROWS).statistics))
    again = Model(METHODS[method], SMALL, layout).double()
    again.load_state_dict(model.state_dict())
    assert torch.equal(again.q_w().mean, model.q_w().mean)
    assert not any("prior_z" in name for name in model.state_dict())


def test_settings_make_posteriors_deterministic() -> None:
    vmtl = METHODS["vmtl"]
    assert effective_method(vmtl, SMALL) is vmtl
    without = effective_method(vmtl, replace(SMALL, bayesian_z=False, bayesian_w=False))
    assert (without.q_z, without.prior_z, without.q_w, without.prior_w) == ("delta", None, "delta", None)
    model = build("vmtl", ROWS, replace(SMALL, bayesian_w=False))
    assert isinstance(model.q_w(), Delta)
    assert isinstance(model.encoder(ROWS.x[None]), Gaussian)


def test_mixing_weights_are_drawn_once_if_tied() -> None:
    tied, apart = (build("vmtl", ROWS, replace(SMALL, tie_mixing=tie)) for tie in (True, False))
    alpha, beta = tied.draw_mixing(0.5, cpu_noise())
    assert alpha is beta
    alpha, beta = apart.draw_mixing(0.5, cpu_noise())
    assert not torch.equal(alpha, beta)
    for weights in (alpha, beta, apart.alpha(), apart.beta()):
        torch.testing.assert_close(weights.sum(-1), torch.ones(3, dtype=torch.float64))
    assert (build("bmtl", ROWS).alpha() == 0).all()
    assert (build("bmtl", ROWS).sharing() == 0).all()
    assert (apart.sharing() == 0.95).all()
