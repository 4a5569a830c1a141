"""The paper's mixture priors of w and z, term by term against loops."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from helpers.toys import SMALL, build, toy
from vmtl._utils.noise import Noise
from vmtl.config.choices import FORMS
from vmtl.data.rows import Rows
from vmtl.model.distributions import Gaussian, standard_normal_kl
from vmtl.model.model import Model
from vmtl.model.objective import Objective
from vmtl.model.priors import Context, gumbel_mixture_z
from vmtl.model.priors.gumbel_mixture_z import GumbelMixtureZ

KINDS = {
    "complete": toy([5, 9, 7], classes=3),
    "missing": toy([5, 9, 7], classes=3, missing=[(1, 0)]),
    "alone": toy([5, 9, 7], classes=3, missing=[(1, 0), (2, 0)]),
    "regression": toy([5, 9, 7]),
}


def context(model: Model, rows: Rows, seed: int = 0) -> Context:
    generator = torch.Generator().manual_seed(seed)
    eye = torch.eye(rows.n_tasks, dtype=torch.bool)

    def mixing() -> Tensor:
        logits = torch.randn(rows.n_tasks, rows.n_tasks, generator=generator, dtype=torch.float64)
        return logits.masked_fill(eye, -torch.inf).softmax(-1)

    noise = Noise(seed, torch.device("cpu"), torch.float64)
    return Context(rows.batch(*rows.by_task), model.encoder, mixing(), mixing(), noise)


def random_q_w(rows: Rows, size: int = 7) -> Gaussian:
    generator = torch.Generator().manual_seed(1)
    shape = (rows.n_tasks, rows.n_classes, size)
    mean = torch.randn(shape, generator=generator, dtype=torch.float64)
    return Gaussian(mean, 0.2 + torch.rand(shape, generator=generator, dtype=torch.float64))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sharing", [0.0, 0.9, 1.0])
def test_w_prior_by_loops_over_tasks_and_classes(kind: str, sharing: float) -> None:
    rows = KINDS[kind].rows()
    model = build("vmtl", rows, replace(SMALL, sharing=sharing))
    assert model.prior_w is not None
    q_w, ctx = random_q_w(rows), context(model, rows)
    found = model.prior_w.penalty(q_w, ctx)
    for t in range(3):
        expected = torch.zeros((), dtype=torch.float64)
        for c in range(rows.n_classes):
            own = Gaussian(q_w.mean[t, c], q_w.scale[t, c])
            others = [i for i in range(3) if i != t and rows.class_mask[i, c]]
            if not others:
                expected += standard_normal_kl(own)
                continue
            total = sum(ctx.alpha[t, i] for i in others)
            for i in others:
                variance = sharing**2 * q_w.scale[i, c] ** 2 + 1 - sharing**2
                expected += ctx.alpha[t, i] / total * own.kl(Gaussian(sharing * q_w.mean[i, c], variance.sqrt()))
        torch.testing.assert_close(found[t], expected)


def test_no_sharing_is_the_standard_normal() -> None:
    rows = KINDS["complete"].rows()
    q_w = random_q_w(rows)
    for form in FORMS:
        if form == "weighted-sum":
            continue  # not a mixture: its variance shrinks with every further task
        model = build("vmtl", rows, replace(SMALL, sharing=0.0, kl_form=form, n_z=200, n_w=200))
        assert model.prior_w is not None
        exact = standard_normal_kl(q_w).sum(-1)
        found = model.prior_w.penalty(q_w, context(model, rows))
        torch.testing.assert_close(found, exact, rtol=0.02 if form == "monte-carlo" else 1e-8, atol=0)


@pytest.mark.parametrize(("gradient", "flows"), [("detached", False), ("both", True)])
def test_gradient_of_the_w_prior(gradient: str, flows: bool) -> None:
    """With T = 2 task 1's penalty depends on task 0 only through the prior."""
    rows = toy([5, 6], classes=2).rows()
    model = build("vmtl", rows, replace(SMALL, prior_gradient_w=gradient))
    assert model.prior_w is not None
    model.prior_w.penalty(model.q_w(), context(model, rows))[1].backward()
    grad = model.head.mean.grad
    assert (grad[1] != 0).any()
    assert bool((grad[0] != 0).any()) == flows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("encoder", ["kernel", "linear", "noisy-linear", "mlp"])
def test_z_prior_by_loops_over_rows_and_tasks(kind: str, encoder: str) -> None:
    """The whole of Eq. 9 and 10 with the aggregated x built and encoded one by one."""
    rows = KINDS[kind].rows()
    model = build("vmtl", rows, replace(SMALL, encoder=encoder))
    prior, ctx = Objective(model, rows).prior_z, context(model, rows)
    assert isinstance(prior, GumbelMixtureZ)
    q_z = model.encoder(ctx.batch.x)
    found = prior.kl(q_z, ctx)
    mixed = prior.attention.mix(rows.x, torch.arange(len(rows.y)))  # tested against loops elsewhere
    for t in range(3):
        expected = []
        for n in torch.nonzero(rows.task == t).flatten().tolist():
            own = model.encoder(rows.x[n][None, None])
            others = [i for i in range(3) if i != t and rows.class_mask[i, rows.label[n]]]
            total = sum(ctx.beta[t, i] for i in others)
            parts = [ctx.beta[t, i] / total * own.kl(model.encoder(mixed[n, i][None, None])) for i in others]
            expected.append(sum(parts) if parts else standard_normal_kl(own))
        torch.testing.assert_close(found[t], torch.stack(expected).mean())


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_of_distances_equals_the_general_path(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the kernel encoder KL_z is a table made once, in pieces, with the value and gradient of the general path."""
    rows = KINDS[kind].rows(weight=[2.0, *[1.0] * 20])
    monkeypatch.setattr(gumbel_mixture_z, "CHUNK", 40)
    for gradient in ("both", "detached"):
        model = build("vmtl", rows, replace(SMALL, prior_gradient_z=gradient))
        prior, ctx = Objective(model, rows).prior_z, context(model, rows)
        assert isinstance(prior, GumbelMixtureZ)
        fast = prior.kl(model.encoder(ctx.batch.x), ctx)
        width = model.encoder.log_width
        (fast_gradient,) = torch.autograd.grad(fast.sum(), width)
        monkeypatch.setattr(gumbel_mixture_z, "KernelEncoder", type(None))
        slow = prior.kl(model.encoder(ctx.batch.x), ctx)
        (slow_gradient,) = torch.autograd.grad(slow.sum(), width)
        monkeypatch.undo()
        torch.testing.assert_close(fast, slow)
        torch.testing.assert_close(fast_gradient, slow_gradient, atol=1e-8, rtol=1e-8)


@pytest.mark.parametrize("gradient", ["detached", "both"])
def test_gradient_of_the_z_prior(gradient: str) -> None:
    """Moving every mean by a constant changes nothing if both sides move, and something if the prior stays."""
    rows = KINDS["complete"].rows()
    model = build("vmtl", rows, replace(SMALL, encoder="linear", prior_gradient_z=gradient))
    prior_z = Objective(model, rows).prior_z
    assert prior_z is not None
    prior_z.kl(model.encoder(rows.batch(*rows.by_task).x), context(model, rows)).sum().backward()
    grad = model.encoder.mean.bias.grad
    assert bool(grad.abs().max() < 1e-9) == (gradient == "both")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("encoder", ["kernel", "mlp"])
def test_every_form_works_for_both_priors(form: str, encoder: str) -> None:
    rows = KINDS["alone"].rows()
    model = build("vmtl", rows, replace(SMALL, kl_form=form, encoder=encoder))
    ctx = context(model, rows)
    assert model.prior_w is not None
    prior_z = Objective(model, rows).prior_z
    assert prior_z is not None
    kl_w, kl_z = model.prior_w.penalty(model.q_w(), ctx), prior_z.kl(model.encoder(ctx.batch.x), ctx)
    (kl_w.sum() + kl_z.sum()).backward()
    assert kl_w.isfinite().all()
    assert kl_z.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_dropout_is_off_on_the_prior_path() -> None:
    """Two sources of noise give q(z) different masks; measured from the same q(z), KL_z must not change."""
    rows = KINDS["complete"].rows()
    model = build("vmtl", rows, replace(SMALL, encoder="mlp", dropout=0.5))
    prior_z = Objective(model, rows).prior_z
    assert prior_z is not None
    q_z, mixed = model.encoder(rows.batch(*rows.by_task).x), context(model, rows)
    noises = [Noise(seed, torch.device("cpu"), torch.float64) for seed in (0, 1)]
    first, second = (prior_z.kl(q_z, replace(mixed, noise=noise)) for noise in noises)
    assert torch.equal(first, second)
