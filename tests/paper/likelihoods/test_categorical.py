"""Cross-entropy over the classes that each task saw, against torch."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from helpers.priors import cpu_noise, random_gaussian
from vmtl.paper.likelihoods.categorical import Categorical, log_softmax_

MASK = torch.tensor([[True, True, True], [False, True, True]])
Y = torch.tensor([[0, 1, 2, 0], [1, 2, 2, 1]])


@pytest.mark.parametrize("mask", [MASK, torch.ones_like(MASK)])
def test_nll_is_the_cross_entropy_of_the_classes_that_a_task_saw(mask: torch.Tensor) -> None:
    logits = random_gaussian(5, 2, 4, 3).mean.detach()  # S, T, N, C
    nll = Categorical(mask).nll(logits, Y)
    for t in range(2):
        seen = mask[t]
        target = (seen.cumsum(0) - 1)[Y[t]]
        each = [F.cross_entropy(draw[t][:, seen], target, reduction="none") for draw in logits]
        torch.testing.assert_close(nll[t], torch.stack(each).mean(0))


def test_without_variance_both_ways_agree() -> None:
    q_z, q_w = random_gaussian(2, 4, 5, seed=0).detach(), random_gaussian(2, 3, 6, seed=1).detach()
    likelihood = Categorical(MASK)
    tiny = [type(q)(q.mean, q.scale * 1e-9) for q in (q_z, q_w)]
    logits = torch.einsum("tnk,tck->tnc", q_z.mean, q_w.mean[..., :-1]) + q_w.mean[:, None, :, -1]
    plain = likelihood.nll(logits[None], Y)
    torch.testing.assert_close(likelihood.nll_sampled(*tiny, Y, cpu_noise(), 2, 2), plain, rtol=1e-6, atol=1e-6)


def test_value_and_gradient_by_autograd() -> None:
    logits = random_gaussian(5, 2, 4, 3).mean
    expected = F.cross_entropy(logits.flatten(0, 2), Y.expand(5, 2, 4).flatten(), reduction="none").view(5, 2, 4)
    (gradient,) = torch.autograd.grad(expected.sum(), logits)
    value, by_hand = Categorical(MASK).value_and_gradient(logits.detach().clone(), Y)
    torch.testing.assert_close(value, expected.sum(0))
    torch.testing.assert_close(by_hand, gradient)


@pytest.mark.parametrize("classes", [1, 2, 15, 16, 17, 65, 345])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_log_softmax_in_place(classes: int, dtype: torch.dtype) -> None:
    logits = 50 * torch.randn(30, classes, generator=torch.Generator().manual_seed(0), dtype=dtype)
    expected = logits.log_softmax(-1)
    torch.testing.assert_close(log_softmax_(logits), expected)
