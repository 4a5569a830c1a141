"""The paper's prior of w at a given sharing strength, term by term against loops."""

from __future__ import annotations

import pytest
import torch

from helpers.priors import (
    PROBLEMS,
    assert_same,
    context_with_logits,
    make_context,
    mixture_penalty_by_loops,
    random_gaussian,
)
from vmtl.config.choices import KL_FORMS
from vmtl.model.distributions import Gaussian, standard_normal_kl
from vmtl.model.priors import PriorSettings
from vmtl.model.priors.gumbel_mixture_w import GumbelMixtureW
from vmtl.results.relatedness import TaskStructure

SIZE = 4


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("sharing", [0.0, 0.9, 1.0])
def test_by_loops_over_tasks_and_classes(kind: str, sharing: float) -> None:
    rows = PROBLEMS[kind].rows()
    prior = GumbelMixtureW(PriorSettings(sharing=sharing), rows.class_mask, SIZE).double()
    q_w, context = random_gaussian(3, rows.n_classes, SIZE), make_context(rows)

    def component(t: int, i: int, c: int) -> Gaussian:
        variance = sharing**2 * q_w.scale[i, c] ** 2 + 1 - sharing**2
        return Gaussian(sharing * q_w.mean[i, c], variance.sqrt())

    expected = mixture_penalty_by_loops(q_w, rows.class_mask, context.alpha, component)
    torch.testing.assert_close(prior.penalty(q_w, context), expected)


@pytest.mark.parametrize("form", [form for form in KL_FORMS if form != "weighted-sum"])
def test_no_sharing_is_the_standard_normal(form: str) -> None:
    """Not so for weighted-sum, which is no mixture: its variance shrinks with every further task."""
    rows = PROBLEMS["complete"].rows()
    settings = PriorSettings(sharing=0.0, kl_form=form, draws=40_000)  # type: ignore[arg-type]
    prior = GumbelMixtureW(settings, rows.class_mask, SIZE).double()
    q_w = random_gaussian(3, 3, SIZE)
    exact = standard_normal_kl(q_w).sum(-1)
    tolerance = 0.02 if form == "monte-carlo" else 1e-8
    torch.testing.assert_close(prior.penalty(q_w, make_context(rows)), exact, rtol=tolerance, atol=0)


@pytest.mark.parametrize("gradient", ["detached", "both"])
@pytest.mark.parametrize("sharing", [1.0, 0.9])
def test_the_bound_of_all_classes_at_once_is_that_of_each(sharing: float, gradient: str) -> None:
    rows = PROBLEMS["complete"].rows()
    settings = PriorSettings(sharing=sharing, gradient_w=gradient)  # type: ignore[arg-type]
    prior = GumbelMixtureW(settings, rows.class_mask, SIZE).double()
    q_w, (context, logits) = random_gaussian(3, 3, SIZE), context_with_logits(rows)
    fast = prior.penalty(q_w, context)
    prior._every_class_shared = False
    assert_same(fast, prior.penalty(q_w, context), [q_w.mean, q_w.scale, logits])


def test_a_given_strength_stays() -> None:
    prior = GumbelMixtureW(PriorSettings(sharing=0.6), torch.ones(3, 1, dtype=torch.bool), SIZE)
    prior.start_from(TaskStructure(torch.zeros(3, 3), torch.zeros(3), torch.ones(3), torch.zeros(3, 3)))
    torch.testing.assert_close(prior.sharing, torch.full((3,), 0.6))
    torch.testing.assert_close(prior.variance, torch.full((3,), 0.64))
    with pytest.raises(ValueError, match="needs a sharing strength; give one between 0 and 1"):
        GumbelMixtureW(PriorSettings(sharing=None), torch.ones(3, 1, dtype=torch.bool), SIZE)
