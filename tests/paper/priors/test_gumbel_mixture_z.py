"""The paper's prior of z, Eq. 9 and 10, with every aggregated row built and encoded one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from helpers.priors import PROBLEMS, cpu_noise, make_context
from helpers.toys import SMALL, build, toy
from vmtl.config.choices import KL_FORMS
from vmtl.data.rows import Rows
from vmtl.model.attention import Attention
from vmtl.model.distributions import standard_normal_kl
from vmtl.model.model import Model
from vmtl.model.priors.gumbel_mixture_z import GumbelMixtureZ, cheapest_divergence
from vmtl.model.priors.mixture_kl.encoded_mixture import EncodedMixture
from vmtl.model.priors.mixture_kl.kernel_bound import KernelBound
from vmtl.model.priors.mixture_kl.linear_bound import LinearBound


def make_prior(model: Model, rows: Rows) -> GumbelMixtureZ:
    return GumbelMixtureZ(model.prior_settings(), rows, model.encoder)


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("encoder", ["kernel", "linear", "noisy-linear", "mlp"])
def test_by_loops_over_rows_and_tasks(kind: str, encoder: str) -> None:
    rows = PROBLEMS[kind].rows()
    model = build("vmtl", rows, replace(SMALL, encoder=encoder))
    context = make_context(rows)
    kl = make_prior(model, rows).kl(model.encoder(context.batch.x), context)
    mixed = Attention(rows).mix(rows.x, torch.arange(len(rows.y)))  # tested against loops elsewhere
    for t in range(3):
        expected = []
        for n in torch.nonzero(rows.task == t).flatten().tolist():
            own = model.encoder(rows.x[n][None, None])
            others = [i for i in range(3) if i != t and rows.class_mask[i, rows.label[n]]]
            total = sum(context.beta[t, i] for i in others)
            parts = [context.beta[t, i] / total * own.kl(model.encoder(mixed[n, i][None, None])) for i in others]
            expected.append(sum(parts) if parts else standard_normal_kl(own))
        torch.testing.assert_close(kl[t], torch.stack(expected).mean())


@pytest.mark.parametrize("gradient", ["detached", "both"])
def test_gradients_pass_through_the_prior_only_if_they_may(gradient: str) -> None:
    """Moving every mean by a constant changes nothing if both sides move, and something if the prior stays."""
    rows = PROBLEMS["complete"].rows()
    model = build("vmtl", rows, replace(SMALL, encoder="linear", prior_gradient_z=gradient))
    context = make_context(rows)
    make_prior(model, rows).kl(model.encoder(context.batch.x), context).sum().backward()
    assert bool(model.encoder.mean.bias.grad.abs().max() < 1e-9) == (gradient == "both")


def test_dropout_is_off_on_the_prior_path() -> None:
    """Two sources of noise give q(z) different masks; measured from the same q(z), KL_z must not change."""
    rows = PROBLEMS["complete"].rows()
    model = build("vmtl", rows, replace(SMALL, encoder="mlp", dropout=0.5))
    prior, context = make_prior(model, rows), make_context(rows)
    q_z = model.encoder(context.batch.x)
    first, second = (prior.kl(q_z, replace(context, noise=cpu_noise(seed))) for seed in (0, 1))
    assert torch.equal(first, second)


@pytest.mark.parametrize("form", KL_FORMS)
@pytest.mark.parametrize("encoder", ["kernel", "mlp"])
def test_every_form_has_finite_gradients_where_some_rows_are_alone(form: str, encoder: str) -> None:
    rows = PROBLEMS["alone"].rows()
    model = build("vmtl", rows, replace(SMALL, kl_form=form, encoder=encoder))
    context = make_context(rows)
    kl = make_prior(model, rows).kl(model.encoder(context.batch.x), context)
    kl.sum().backward()
    assert kl.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"encoder": "kernel"}, KernelBound),
        ({"encoder": "linear", "latent_dim": 6}, LinearBound),
        ({"encoder": "linear", "latent_dim": 5}, EncodedMixture),  # fewer latent dimensions than features
        ({"encoder": "mlp"}, EncodedMixture),
        ({"encoder": "kernel", "kl_form": "monte-carlo"}, EncodedMixture),
    ],
)
def test_tables_are_used_where_they_pay(options: dict[str, object], expected: type) -> None:
    rows = toy([5, 6, 7], classes=2, features=6).rows()
    model = build("vmtl", rows, replace(SMALL, **options))  # type: ignore[arg-type]
    assert type(cheapest_divergence(model.prior_settings(), rows, model.encoder)) is expected


def test_the_encoder_is_not_part_of_the_prior() -> None:
    """It belongs to the model; in the prior's state it would be stored twice."""
    rows = PROBLEMS["complete"].rows()
    prior = make_prior(build("vmtl", rows, replace(SMALL, encoder="mlp")), rows)
    assert list(prior.parameters()) == []
    assert not prior.state_dict()
