"""The paper's prior of w, term by term against loops: per class, only from tasks that saw it, else N(0, I)."""

from __future__ import annotations

import pytest
import torch
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal

from helpers.priors import (
    PROBLEMS,
    assert_same,
    context_with_logits,
    make_context,
    mixture_penalty_by_loops,
    random_gaussian,
)
from vmtl.data.rows import Rows
from vmtl.paper.choices import KL_FORMS
from vmtl.paper.distributions import Gaussian, standard_normal_kl
from vmtl.paper.priors.gumbel_mixture_w import GumbelMixtureW
from vmtl.paper.settings import Settings

SIZE = 4


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("sharing", [0.0, 0.9, 1.0])
def test_by_loops_over_tasks_and_classes(kind: str, sharing: float) -> None:
    rows = PROBLEMS[kind].rows()
    prior = GumbelMixtureW(Settings(sharing=sharing), rows.class_mask, SIZE).double()
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
    settings = Settings(sharing=0.0, kl_form=form, n_z=200, n_w=200)  # type: ignore[arg-type]
    prior = GumbelMixtureW(settings, rows.class_mask, SIZE).double()
    q_w = random_gaussian(3, 3, SIZE)
    exact = standard_normal_kl(q_w).sum(-1)
    tolerance = 0.02 if form == "monte-carlo" else 1e-8
    torch.testing.assert_close(prior.penalty(q_w, make_context(rows)), exact, rtol=tolerance, atol=0)


@pytest.mark.parametrize("gradient", ["detached", "both"])
@pytest.mark.parametrize("sharing", [1.0, 0.9])
def test_the_bound_of_all_classes_at_once_is_that_of_each(sharing: float, gradient: str) -> None:
    rows = PROBLEMS["complete"].rows()
    settings = Settings(sharing=sharing, prior_gradient_w=gradient)  # type: ignore[arg-type]
    prior = GumbelMixtureW(settings, rows.class_mask, SIZE).double()
    q_w, (context, logits) = random_gaussian(3, 3, SIZE), context_with_logits(rows)
    fast = prior.penalty(q_w, context)
    prior._same_for_all_classes = False
    assert_same(fast, prior.penalty(q_w, context), [q_w.mean, q_w.scale, logits])


def make_prior(rows: Rows, **options: object) -> GumbelMixtureW:
    settings = Settings(**{"sharing": 0.9, **options})  # type: ignore[arg-type]
    return GumbelMixtureW(settings, rows.class_mask, SIZE).double()


@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_marginal_is_that_of_a_mixture_of_torch(kind: str) -> None:
    rows = PROBLEMS[kind].rows()
    prior, q_w = make_prior(rows), random_gaussian(3, rows.n_classes, SIZE)
    alpha = make_context(rows).alpha
    mean, variance = prior.marginal(q_w, alpha)
    components = prior.components(q_w)
    for t in range(3):
        for c in range(rows.n_classes):
            others = [i for i in range(3) if i != t and rows.class_mask[i, c]]
            if not others:
                assert (mean[t, c] == 0).all()
                assert (variance[t, c] == 1).all()
                continue
            each = Normal(components.mean[c, others], components.scale[c, others])
            mixture = MixtureSameFamily(Categorical(alpha[t, others]), Independent(each, 1))
            torch.testing.assert_close(mean[t, c], mixture.mean)
            torch.testing.assert_close(variance[t, c], mixture.variance)


@pytest.mark.parametrize("form", KL_FORMS)
def test_a_class_that_no_other_task_saw_costs_a_kl_to_the_standard_normal(form: str) -> None:
    """Class 0 of task 0 in "alone": its weights are measured against N(0, I) and against nobody else's."""
    rows = PROBLEMS["alone"].rows()
    prior, context = make_prior(rows, kl_form=form, n_z=2, n_w=2), make_context(rows)
    q_w = random_gaussian(3, 3, SIZE)
    (gradient,) = torch.autograd.grad(prior.penalty(q_w, context)[0], q_w.mean)
    alone = Gaussian(q_w.mean[0, 0], q_w.scale[0, 0])
    (expected,) = torch.autograd.grad(standard_normal_kl(alone), q_w.mean)
    torch.testing.assert_close(gradient[0, 0], expected[0, 0])


@pytest.mark.parametrize("form", KL_FORMS)
@pytest.mark.parametrize(("gradient", "flows"), [("detached", False), ("both", True)])
def test_the_prior_moves_the_others_only_if_it_may(gradient: str, flows: bool, form: str) -> None:
    """Task 1's penalty depends on task 0 only through the prior."""
    rows = PROBLEMS["complete"].rows()
    prior = make_prior(rows, prior_gradient_w=gradient, kl_form=form, n_z=2, n_w=2)
    q_w = random_gaussian(3, 3, SIZE)
    (by_mean,) = torch.autograd.grad(prior.penalty(q_w, make_context(rows))[1], q_w.mean)
    assert (by_mean[1] != 0).any()
    assert bool((by_mean[0] != 0).any()) == flows
