"""The prior of w with inferred strengths: components N(r_t mu_i, v_t), by loops and by the joint Gaussian."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from helpers.priors import (
    PROBLEMS,
    assert_same,
    context_with_logits,
    make_context,
    mixture_penalty_by_loops,
    random_gaussian,
)
from vmtl.model.distributions import Gaussian, standard_normal_kl
from vmtl.model.priors import PriorSettings
from vmtl.model.priors.conditional_mixture_w import ConditionalMixtureW
from vmtl.model.priors.mixture_w import MixtureW
from vmtl.results.relatedness import TaskStructure

SIZE = 4
SHARING, VARIANCE = (torch.tensor(value, dtype=torch.float64) for value in ([0.9, 0.5, 0.2], [0.3, 0.8, 0.9]))


def make_prior(class_mask: Tensor, gradient: str = "detached") -> ConditionalMixtureW:
    settings = PriorSettings(sharing=None, gradient_w=gradient)  # type: ignore[arg-type]
    prior = ConditionalMixtureW(settings, class_mask, SIZE).double()
    prior.start_from(TaskStructure(torch.zeros(3, 3), SHARING, VARIANCE, torch.zeros(3, 3)))
    return prior


@pytest.mark.parametrize("kind", PROBLEMS)
def test_by_loops_over_tasks_and_classes(kind: str) -> None:
    rows = PROBLEMS[kind].rows()
    prior, context = make_prior(rows.class_mask), make_context(rows)
    q_w = random_gaussian(3, rows.n_classes, SIZE)

    def component(t: int, i: int, c: int) -> Gaussian:
        return Gaussian(SHARING[t] * q_w.mean[i, c], VARIANCE[t].sqrt().expand(SIZE))

    expected = mixture_penalty_by_loops(q_w, rows.class_mask, context.alpha, component)
    torch.testing.assert_close(prior.penalty(q_w, context), expected)


@pytest.mark.parametrize("gradient", ["detached", "both"])
def test_the_bound_from_two_products_is_the_general_one(gradient: str) -> None:
    rows = PROBLEMS["missing"].rows()
    prior, (context, logits) = make_prior(rows.class_mask, gradient), context_with_logits(rows)
    q_w = random_gaussian(3, 3, SIZE)
    q = Gaussian(q_w.mean.transpose(0, 1), q_w.scale.transpose(0, 1))
    weights = context.alpha.expand(3, -1, -1)
    fast = prior._divergence(q, q_w, weights, context.noise)
    plain = MixtureW._divergence(prior, q, q_w, weights, context.noise)
    assert_same(fast, plain, [q_w.mean, q_w.scale, logits])


def test_two_tasks_give_the_conditional_law_of_a_joint_gaussian() -> None:
    """cov = [[1, rho], [rho, 1]]: w_t given the other is N(rho mu, 1 - rho^2)."""
    rho = 0.7
    prior = ConditionalMixtureW(PriorSettings(sharing=None), torch.ones(2, 1, dtype=torch.bool), SIZE).double()
    both = torch.full((2,), rho), torch.full((2,), 1 - rho**2)
    prior.start_from(TaskStructure(torch.eye(2).flip(0), *both, torch.zeros(2, 2)))
    q_w = random_gaussian(2, 1, SIZE)
    mean, variance = prior.marginal(q_w, torch.eye(2, dtype=torch.float64).flip(0))
    torch.testing.assert_close(mean[0], rho * q_w.mean[1], rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(variance, torch.full_like(variance, 1 - rho**2), rtol=1e-5, atol=1e-6)


def test_before_anything_is_inferred_the_prior_is_the_standard_normal() -> None:
    rows = PROBLEMS["complete"].rows()
    prior = ConditionalMixtureW(PriorSettings(sharing=None), rows.class_mask, SIZE).double()
    q_w = random_gaussian(3, 3, SIZE)
    torch.testing.assert_close(prior.penalty(q_w, make_context(rows)), standard_normal_kl(q_w).sum(-1))
