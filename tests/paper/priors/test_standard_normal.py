"""The priors N(0, I) of w and z against torch.distributions."""

import torch
from torch.distributions import Normal, kl_divergence

from helpers.paper_models import build
from helpers.priors import PROBLEMS, make_context, random_gaussian
from vmtl.paper.priors.standard_normal import StandardNormalW, StandardNormalZ
from vmtl.paper.settings import Settings

ROWS = PROBLEMS["complete"].rows()
STANDARD = Normal(torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64))


def test_of_w() -> None:
    prior, q_w = StandardNormalW(Settings(), ROWS.class_mask, 4), random_gaussian(3, 3, 4)
    expected = kl_divergence(Normal(q_w.mean, q_w.scale), STANDARD).sum((1, 2))
    torch.testing.assert_close(prior.penalty(q_w, make_context(ROWS)), expected)
    mean, variance = prior.marginal(q_w, make_context(ROWS).alpha)
    assert (mean == 0).all()
    assert (variance == 1).all()


def test_of_z_is_the_mean_over_the_rows_of_each_task() -> None:
    context = make_context(ROWS)
    prior, q_z = StandardNormalZ(Settings(), ROWS, 4), random_gaussian(3, 9, 4)
    each = kl_divergence(Normal(q_z.mean, q_z.scale), STANDARD).sum(-1)
    expected = torch.stack([each[t, : int((ROWS.task == t).sum())].mean() for t in range(3)])
    torch.testing.assert_close(prior.kl(q_z, build("vbmtl", ROWS).encoder, context), expected)
