"""What both mixture priors of w do: per class, only from tasks that saw it, N(0, I) where nobody did."""

from __future__ import annotations

import pytest
import torch
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal

from helpers.priors import PROBLEMS, make_context, random_gaussian
from vmtl.config.choices import KL_FORMS
from vmtl.data.rows import Rows
from vmtl.model.distributions import Gaussian, standard_normal_kl
from vmtl.model.priors import PriorSettings, make_w_prior
from vmtl.model.priors.conditional_mixture_w import ConditionalMixtureW
from vmtl.model.priors.gumbel_mixture_w import GumbelMixtureW
from vmtl.model.priors.mixture_w import MixtureW
from vmtl.results.relatedness import TaskStructure

SIZE = 4


def make_prior(rows: Rows, sharing: float | None, **options: object) -> MixtureW:
    settings = PriorSettings(sharing=sharing, **options)  # type: ignore[arg-type]
    prior = make_w_prior("gumbel_mixture", settings, rows.class_mask, SIZE).double()
    assert isinstance(prior, MixtureW)
    r, v = (torch.tensor(value, dtype=torch.float64) for value in ([0.9, 0.5, 0.2], [0.3, 0.8, 0.9]))
    prior.start_from(TaskStructure(torch.zeros(3, 3), r, v, torch.zeros(3, 3)))
    return prior


def random_q_w(rows: Rows) -> Gaussian:
    return random_gaussian(rows.n_tasks, rows.n_classes, SIZE)


def test_the_settings_decide_which_of_the_two_it_is() -> None:
    rows = PROBLEMS["complete"].rows()
    assert type(make_prior(rows, 0.9)) is GumbelMixtureW
    assert type(make_prior(rows, None)) is ConditionalMixtureW
    for sharing in (0.9, None):
        prior = make_prior(rows, sharing)
        assert set(prior.state_dict()) == {"sharing", "variance"}  # the names that model files know


@pytest.mark.parametrize("sharing", [0.9, None])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_marginal_is_that_of_a_mixture_of_torch(kind: str, sharing: float | None) -> None:
    rows = PROBLEMS[kind].rows()
    prior, q_w, alpha = make_prior(rows, sharing), random_q_w(rows), make_context(rows).alpha
    mean, variance = prior.marginal(q_w, alpha)
    components = prior.components(q_w)
    for t in range(3):
        for c in range(rows.n_classes):
            others = [i for i in range(3) if i != t and rows.class_mask[i, c]]
            if not others:
                assert (mean[t, c] == 0).all()
                assert (variance[t, c] == 1).all()
                continue
            axis = min(t, components.mean.shape[1] - 1)
            each = Normal(components.mean[c, axis, others], components.scale[c, axis, others])
            mixture = MixtureSameFamily(Categorical(alpha[t, others]), Independent(each, 1))
            torch.testing.assert_close(mean[t, c], mixture.mean)
            torch.testing.assert_close(variance[t, c], mixture.variance)


@pytest.mark.parametrize("sharing", [0.9, None])
@pytest.mark.parametrize("form", KL_FORMS)
def test_a_class_that_no_other_task_saw_costs_a_kl_to_the_standard_normal(form: str, sharing: float | None) -> None:
    """Class 0 of task 0 in "alone": its weights are measured against N(0, I) and against nobody else's."""
    rows = PROBLEMS["alone"].rows()
    prior, q_w, context = make_prior(rows, sharing, kl_form=form), random_q_w(rows), make_context(rows)
    (gradient,) = torch.autograd.grad(prior.penalty(q_w, context)[0], q_w.mean)
    alone = Gaussian(q_w.mean[0, 0], q_w.scale[0, 0])
    (expected,) = torch.autograd.grad(standard_normal_kl(alone), q_w.mean)
    torch.testing.assert_close(gradient[0, 0], expected[0, 0])


@pytest.mark.parametrize("sharing", [0.9, None])
@pytest.mark.parametrize("form", KL_FORMS)
@pytest.mark.parametrize(("gradient", "flows"), [("detached", False), ("both", True)])
def test_the_prior_moves_the_others_only_if_it_may(
    gradient: str, flows: bool, form: str, sharing: float | None
) -> None:
    """Task 1's penalty depends on task 0 only through the prior."""
    rows = PROBLEMS["complete"].rows()
    prior = make_prior(rows, sharing, gradient_w=gradient, kl_form=form)
    q_w = random_q_w(rows)
    (by_mean,) = torch.autograd.grad(prior.penalty(q_w, make_context(rows))[1], q_w.mean)
    assert (by_mean[1] != 0).any()
    assert bool((by_mean[0] != 0).any()) == flows
