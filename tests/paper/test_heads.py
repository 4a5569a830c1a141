"""q(w): parameters of their own, or inferred from the training rows of a class."""

from dataclasses import replace

import pytest
import torch

from helpers.paper_models import SMALL, build
from helpers.toys import toy
from vmtl.paper.distributions import Gaussian
from vmtl.paper.heads import class_statistics


def test_class_statistics_are_exact_weighted_class_means() -> None:
    rows = toy([7, 5], classes=3, missing=[(1, 0)]).rows(weight=[2, *[1] * 11])
    statistics = class_statistics(rows)
    assert statistics.shape == (2, 3, 6)
    assert (statistics[1, 0] == 0).all()
    own = (rows.task == 0) & (rows.y == 0)
    expected = (rows.weight[own] @ rows.x[own]) / rows.weight[own].sum()
    torch.testing.assert_close(statistics[0, 0], expected)


def test_regression_statistics_contain_the_target() -> None:
    rows = toy([7, 5]).rows()
    statistics = class_statistics(rows)
    assert statistics.shape == (2, 1, 7)
    own = rows.task == 1
    x, y = rows.x[own], rows.y[own]
    torch.testing.assert_close(statistics[1, 0, :-1], ((x - x.mean(0)) * (y - y.mean())[:, None]).mean(0))
    torch.testing.assert_close(statistics[1, 0, -1], y.mean())


def test_an_amortised_head_gives_the_prior_to_a_class_it_never_saw() -> None:
    rows = toy([6, 6, 6], classes=3, missing=[(1, 0)]).rows()
    model = build("vmtl_ac", rows, replace(SMALL, sharing=0.9, mixing="mean"))
    q_w, raw = model.q_w(), model.head(None)
    seen_mean = 0.9 * 0.5 * (raw.mean[0, 0] + raw.mean[2, 0])
    torch.testing.assert_close(q_w.mean[1, 0], seen_mean)
    assert isinstance(q_w, Gaussian)
    second = 0.5 * sum(0.81 * (raw.scale[i, 0] ** 2 + raw.mean[i, 0] ** 2) + 0.19 for i in (0, 2))
    torch.testing.assert_close(q_w.variance[1, 0], second - seen_mean**2)
    torch.testing.assert_close(q_w.mean[0], raw.mean[0])


def test_weights_and_scales_start_where_the_settings_say() -> None:
    model = build("vmtl", toy([5, 5], classes=2).rows(), replace(SMALL, initial_w_scale=0.3))
    q_w = model.q_w().detach()
    assert isinstance(q_w, Gaussian)
    torch.testing.assert_close(q_w.scale, torch.full_like(q_w.scale, 0.3), rtol=1e-6, atol=0)
    assert 0.005 < float(q_w.mean.std()) < 0.02


@pytest.mark.parametrize("encoder", ["mlp", "noisy-mlp"])
def test_a_deterministic_amortised_head_gives_0_to_a_class_it_never_saw(encoder: str) -> None:
    rows = toy([6, 6, 6], classes=3, missing=[(1, 0)]).rows()
    q_w = build("vmtl_ac", rows, replace(SMALL, encoder=encoder, bayesian_w=False)).weights()
    assert not q_w.stochastic
    assert (q_w.mean[1, 0] == 0).all()
    assert (q_w.mean[0] != 0).all()
