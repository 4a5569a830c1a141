"""The general path of KL_z: in pieces and with repeated rows it is what it is at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from helpers.priors import PROBLEMS, context_with_logits, make_context
from helpers.toys import SMALL, build, toy
from vmtl.config.choices import KL_FORMS
from vmtl.model.attention import Attention
from vmtl.model.priors.mixture_kl import encoded_mixture
from vmtl.model.priors.mixture_kl.encoded_mixture import EncodedMixture


@pytest.mark.parametrize("form", KL_FORMS)
@pytest.mark.parametrize("gradient", ["detached", "both"])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_pieces_of_one_task(kind: str, gradient: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each made again on the way back: the same values and gradients as all at once."""
    rows = PROBLEMS[kind].rows()
    model = build("vmtl", rows, replace(SMALL, encoder="mlp", kl_form=form, prior_gradient_z=gradient))
    mixture = EncodedMixture(model.prior_settings(), rows, model.encoder, Attention(rows))
    results = []
    for size in (1, 10**9):
        monkeypatch.setattr(encoded_mixture, "ENCODED_AT_ONCE", size)
        context, logits = context_with_logits(rows, repeats=True)
        kl = mixture.kl(model.encoder(context.batch.x + 0.1), context)
        weight = torch.tensor([0.5, 1.0, 2.0], dtype=kl.dtype)
        leaves = [*model.encoder.parameters(), logits]
        results.append([kl, *torch.autograd.grad((weight * kl).sum(), leaves)])
    for one, two in zip(*results, strict=True):
        torch.testing.assert_close(one, two, atol=1e-10, rtol=1e-9)


def test_pieces_keep_nothing_for_the_way_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that the graph holds on to: with pieces, none of the size of the components."""
    rows = toy([6] * 12, classes=3).rows()
    model = build("vmtl", rows, replace(SMALL, encoder="mlp", prior_gradient_z="both"))
    mixture = EncodedMixture(model.prior_settings(), rows, model.encoder, Attention(rows))
    context = make_context(rows)
    kept = []
    for size in (1, 10**9):
        monkeypatch.setattr(encoded_mixture, "ENCODED_AT_ONCE", size)
        q_z, held = model.encoder(context.batch.x), []

        def hold(tensor: torch.Tensor, held: list[int] = held) -> torch.Tensor:
            held.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(hold, lambda tensor: tensor):
            mixture.kl(q_z, context)
        kept.append(sum(held))
    components = 72 * 11 * SMALL.latent_dim
    assert kept[0] < components < kept[1]
