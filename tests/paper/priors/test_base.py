"""Priors by name: what their classes say of themselves is what methods rely on."""

from __future__ import annotations

import pytest
import torch

from helpers.paper_models import build
from helpers.priors import PROBLEMS, make_context, random_gaussian
from helpers.toys import toy
from vmtl.paper.distributions import Delta
from vmtl.paper.priors import W_PRIORS, Z_PRIORS, make_w_prior, make_z_prior
from vmtl.paper.priors.standard_normal import StandardNormalZ
from vmtl.paper.settings import Settings


@pytest.mark.parametrize("name", W_PRIORS)
def test_priors_of_w(name: str) -> None:
    """A penalty and a marginal of the promised shapes, for the posterior that the class names."""
    rows = PROBLEMS["missing"].rows()
    prior = make_w_prior(name, Settings(sharing=0.9), rows.class_mask, 4).double()
    q_w = random_gaussian(3, 3, 4)
    posterior = q_w if "gaussian" in prior.posteriors else Delta(q_w.mean)
    context = make_context(rows)
    penalty = prior.penalty(posterior, context)
    assert penalty.shape == (3,)
    (gradient,) = torch.autograd.grad(penalty.sum(), q_w.mean)
    assert (gradient != 0).all()
    assert [value.shape for value in prior.marginal(posterior, context.alpha)] == [(3, 3, 4)] * 2
    moved = prior.mixes and bool((prior.penalty(posterior, make_context(rows, seed=1)) != penalty).any())
    assert moved == prior.mixes  # alpha matters to those that mix


@pytest.mark.parametrize("name", Z_PRIORS)
def test_priors_of_z(name: str) -> None:
    rows = PROBLEMS["missing"].rows()
    model = build("vmtl", rows)
    prior, context = make_z_prior(name, Settings(), rows, model.encoder.latent_dim), make_context(rows)
    q_z = model.encoder(context.batch.x)
    kl = prior.kl(q_z, model.encoder, context)
    assert kl.shape == (3,)
    assert (kl > 0).all()
    moved = bool((prior.kl(q_z, model.encoder, make_context(rows, seed=1)) != kl).any())
    assert moved == prior.mixes


def test_one_task_alone_has_nobody_to_mix() -> None:
    rows = toy([8], classes=2).rows()
    assert type(make_z_prior("gumbel_mixture", Settings(), rows, 5)) is StandardNormalZ
