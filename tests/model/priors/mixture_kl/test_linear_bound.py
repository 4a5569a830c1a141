"""The bound of a linear encoder from a table of averages is that of encoding every average of every row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.priors import PROBLEMS, assert_same, context_with_logits
from helpers.toys import SMALL, build
from vmtl.model.attention import Attention
from vmtl.model.priors.mixture_kl import linear_bound
from vmtl.model.priors.mixture_kl.encoded_mixture import EncodedMixture
from vmtl.model.priors.mixture_kl.linear_bound import LinearBound


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("gradient", ["detached", "both"])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_equals_the_general_path(kind: str, gradient: str, repeats: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In small pieces, and with a q(z) that is not the encoder's own."""
    monkeypatch.setattr(linear_bound, "AVERAGES_AT_ONCE", 20)
    rows = PROBLEMS[kind].rows()
    model = build("vmtl", rows, replace(SMALL, encoder="linear", latent_dim=9, prior_gradient_z=gradient))
    attention, (context, logits) = Attention(rows), context_with_logits(rows, repeats)
    q_z = model.encoder(context.batch.x + 0.1)
    table = LinearBound(rows, model.encoder, attention, gradient == "detached").kl(q_z, context)
    general = EncodedMixture(model.prior_settings(), rows, model.encoder, attention).kl(q_z, context)
    assert_same(table, general, [*model.encoder.parameters(), logits])


def test_it_pays_only_within_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = PROBLEMS["complete"].rows()
    wide, narrow = (build("vmtl", rows, replace(SMALL, encoder="linear", latent_dim=size)) for size in (6, 5))
    assert LinearBound.pays(rows, wide.encoder)
    assert not LinearBound.pays(rows, narrow.encoder)
    monkeypatch.setattr(linear_bound, "STORED", 21 * 2 * 6 - 1)
    assert not LinearBound.pays(rows, wide.encoder)
