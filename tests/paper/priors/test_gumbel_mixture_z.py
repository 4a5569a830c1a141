"""The paper's prior of z, Eq. 9 and 10, with every aggregated row built and encoded one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from helpers.paper_models import SMALL, build
from helpers.priors import PROBLEMS, context_with_logits, cpu_noise, make_context
from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.paper.attention import Attention
from vmtl.paper.choices import KL_FORMS
from vmtl.paper.distributions import standard_normal_kl
from vmtl.paper.model import Model
from vmtl.paper.priors import gumbel_mixture_z
from vmtl.paper.priors.gumbel_mixture_z import GumbelMixtureZ


def make_prior(model: Model, rows: Rows) -> GumbelMixtureZ:
    return GumbelMixtureZ(model.settings, rows, model.encoder.latent_dim)


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("encoder", ["linear", "noisy-linear", "mlp"])
def test_by_loops_over_rows_and_tasks(kind: str, encoder: str) -> None:
    rows = PROBLEMS[kind].rows()
    model = build("vmtl", rows, replace(SMALL, encoder=encoder))
    context = make_context(rows)
    kl = make_prior(model, rows).kl(model.encoder(context.batch.x), model.encoder, context)
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
    make_prior(model, rows).kl(model.encoder(context.batch.x), model.encoder, context).sum().backward()
    assert bool(model.encoder.mean.bias.grad.abs().max() < 1e-9) == (gradient == "both")


def test_dropout_of_the_encoder_alone_is_off_on_the_prior_path() -> None:
    """Two sources of noise give q(z) different masks; measured from the same q(z), KL_z must not change."""
    rows = PROBLEMS["complete"].rows()
    model = build("vmtl", rows, replace(SMALL, encoder="mlp", dropout=0.5))
    prior, context = make_prior(model, rows), make_context(rows)
    q_z = model.encoder(context.batch.x)
    first, second = (prior.kl(q_z, model.encoder, replace(context, noise=cpu_noise(seed))) for seed in (0, 1))
    assert torch.equal(first, second)


@pytest.mark.parametrize("form", KL_FORMS)
@pytest.mark.parametrize("encoder", ["linear", "mlp"])
def test_every_form_has_finite_gradients_where_some_rows_are_alone(form: str, encoder: str) -> None:
    rows = PROBLEMS["alone"].rows()
    model = build("vmtl", rows, replace(SMALL, kl_form=form, encoder=encoder))
    context = make_context(rows)
    kl = make_prior(model, rows).kl(model.encoder(context.batch.x), model.encoder, context)
    kl.sum().backward()
    assert kl.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_the_encoder_is_not_part_of_the_prior() -> None:
    """It belongs to the model; in the prior's state it would be stored twice."""
    rows = PROBLEMS["complete"].rows()
    prior = make_prior(build("vmtl", rows, replace(SMALL, encoder="mlp")), rows)
    assert list(prior.parameters()) == []
    assert not prior.state_dict()


@pytest.mark.parametrize("gradient", ["detached", "both"])
@pytest.mark.parametrize("encoder", ["linear", "noisy-linear", "mlp"])
def test_dropout_after_the_attention_by_loops(encoder: str, gradient: str) -> None:
    """Every row and other task has a mask of its own, between the average and the first layer."""
    rows = PROBLEMS["complete"].rows()
    options = {"encoder": encoder, "dropout": 0.5, "prior_dropout": True, "prior_gradient_z": gradient}
    model = build("vmtl", rows, replace(SMALL, **options))
    context = make_context(rows)
    q_z = model.encoder(context.batch.x)
    kl = make_prior(model, rows).kl(q_z, model.encoder, context)
    mixed = Attention(rows).mix(rows.x, torch.arange(len(rows.y)))
    noise, index = cpu_noise(), context.batch.index
    masks = [noise.with_seed(seed).keep((index.shape[1], 2, rows.x.shape[1]), 0.5) for seed in noise.seeds(3)]
    for t in range(3):
        others = [i for i in range(3) if i != t]
        expected = torch.zeros((), dtype=torch.float64)
        for n in range(index.shape[1]):
            own = q_z.at((t, n))
            for place, i in enumerate(others):
                average = (mixed[index[t, n], i] * masks[t][n, place])[None, None]
                nats = own.kl(model.encoder(average).at((0, 0)))
                expected = expected + context.batch.weight[t, n] * context.beta[t, i] * nats
        torch.testing.assert_close(kl[t], expected)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("form", KL_FORMS)
@pytest.mark.parametrize("gradient", ["detached", "both"])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_pieces_of_one_task(
    kind: str, gradient: str, form: str, dropout: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each made again on the way back, with the same masks: the same values and gradients as all at once."""
    rows = PROBLEMS[kind].rows()
    options = {"encoder": "mlp", "kl_form": form, "prior_gradient_z": gradient}
    model = build("vmtl", rows, replace(SMALL, **options, dropout=dropout, prior_dropout=True))
    prior = make_prior(model, rows)
    results = []
    for size in (1, 10**9):
        monkeypatch.setattr(gumbel_mixture_z, "ENCODED_AT_ONCE", size)
        context, logits = context_with_logits(rows, repeats=True)
        kl = prior.kl(model.encoder(context.batch.x + 0.1), model.encoder, context)
        weight = torch.tensor([0.5, 1.0, 2.0], dtype=kl.dtype)
        leaves = [*model.encoder.parameters(), logits]
        results.append([kl, *torch.autograd.grad((weight * kl).sum(), leaves)])
    for one, two in zip(*results, strict=True):
        torch.testing.assert_close(one, two, atol=1e-10, rtol=1e-9)


def test_pieces_keep_nothing_for_the_way_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that the graph holds on to: with pieces, none of the size of the components."""
    rows = toy([6] * 12, classes=3).rows()
    model = build("vmtl", rows, replace(SMALL, encoder="mlp", prior_gradient_z="both"))
    prior, context = make_prior(model, rows), make_context(rows)
    kept = []
    for size in (1, 10**9):
        monkeypatch.setattr(gumbel_mixture_z, "ENCODED_AT_ONCE", size)
        q_z, held = model.encoder(context.batch.x), []

        def hold(tensor: torch.Tensor, held: list[int] = held) -> torch.Tensor:
            held.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(hold, lambda tensor: tensor):
            prior.kl(q_z, model.encoder, context)
        kept.append(sum(held))
    components = 72 * 11 * SMALL.latent_dim
    assert kept[0] < components < kept[1]
