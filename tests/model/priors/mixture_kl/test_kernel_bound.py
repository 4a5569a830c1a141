"""With the kernel encoder KL_z is a table made once, with the value and gradient of the general path."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from helpers.priors import PROBLEMS, make_context
from helpers.toys import SMALL, build
from vmtl.model.attention import Attention
from vmtl.model.priors.mixture_kl import kernel_bound
from vmtl.model.priors.mixture_kl.encoded_mixture import EncodedMixture
from vmtl.model.priors.mixture_kl.kernel_bound import KernelBound, measure_distances

WEIGHTS = [2.0, *[1.0] * 20]


@pytest.mark.parametrize("gradient", ["both", "detached"])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_equals_the_general_path(kind: str, gradient: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_bound, "DISTANCES_AT_ONCE", 40)
    rows = PROBLEMS[kind].rows(weight=WEIGHTS)
    model = build("vmtl", rows, replace(SMALL, prior_gradient_z=gradient))
    attention, context = Attention(rows), make_context(rows)
    q_z, width = model.encoder(context.batch.x), model.encoder.log_width
    table = KernelBound(rows, model.encoder, attention, gradient == "detached").kl(q_z, context)
    general = EncodedMixture(model.prior_settings(), rows, model.encoder, attention).kl(q_z, context)
    torch.testing.assert_close(table, general)
    gradients = [torch.autograd.grad(kl.sum(), width, retain_graph=True)[0] for kl in (table, general)]
    torch.testing.assert_close(*gradients, atol=1e-8, rtol=1e-8)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_distances_by_loops(kind: str) -> None:
    rows = PROBLEMS[kind].rows(weight=WEIGHTS)
    attention, spread = Attention(rows), torch.linspace(0.5, 2, 6, dtype=torch.float64)
    table = measure_distances(rows, attention, spread)
    mixed = attention.mix(rows.x, torch.arange(len(rows.y)))
    for t in range(3):
        for c in range(rows.n_classes):
            own = (rows.task == t) & (rows.label == c)
            weight = rows.weight[own]
            share = weight.sum() / rows.weight[rows.task == t].sum()
            torch.testing.assert_close(table.share[t, c], share)
            for i in range(3):
                heard = i != t and bool(rows.class_mask[i, c]) and bool(own.any())
                square = ((rows.x[own] - mixed[own, i]) / spread).square().sum(-1)
                expected = (weight * square).sum() / weight.sum() if heard else torch.zeros_like(share)
                torch.testing.assert_close(table.distance[t, c, i], expected)
