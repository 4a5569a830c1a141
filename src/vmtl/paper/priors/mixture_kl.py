"""KL(q || sum_i weight_i N_i), the KL terms of Eq. 11: it has no closed form, so there are four ways to compute it.

where
    q = ``q`` (..., A, K), a Gaussian for each of A tasks or rows
    N_i = ``components`` (..., I, K)
    weight_i = ``weights`` (..., A, I), alpha or beta

and the result is (..., A). ``bound`` is the paper's; the other three are there to compare, see docs/model.md. No form
builds an (A, I, K) tensor: the square is expanded into matrix products, with the mean of the components as the origin,
so that little cancels where tasks agree.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from vmtl.paper.choices import KL_FORMS, KLForm
from vmtl.paper.distributions import Gaussian

#: Added to variances by the authors' code.
MARGIN = 1e-6


def around(origin: Tensor, q: Gaussian) -> Gaussian:
    """The same Gaussian with ``origin`` moved to 0; a KL does not change when both sides move alike."""
    return Gaussian(q.mean - origin, q.scale)


def bound(q: Gaussian, components: Gaussian, weights: Tensor) -> Tensor:
    """The convex bound sum_i weight_i KL(q || component_i), by combining natural parameters first.

    With precision p_i = 1 / v_i the bound is
    1/2 sum_k [ (s^2 + m^2) <p> - 2 m <p mu> + <p mu^2 + log v> - <1> (1 + log s^2) ]
    where <.> is the weighted sum over components.
    """
    precision = components.variance.reciprocal()  # (..., I, K)
    shift = precision * components.mean  # (..., I, K)
    rest = (shift * components.mean - precision.log()).sum(-1, keepdim=True)  # (..., I, 1)
    second_moment = q.variance + q.mean.square()  # (..., A, K)
    quadratic = (second_moment * (weights @ precision) - 2 * q.mean * (weights @ shift)).sum(-1)
    entropy = q.mean.shape[-1] + 2 * q.scale.log().sum(-1)
    return 0.5 * (quadratic + (weights @ rest).squeeze(-1) - weights.sum(-1) * entropy)


def component_log_prob(value: Tensor, components: Gaussian) -> Tensor:
    """log N(value_a; component_i) for every pair: (..., A, K) and (..., I, K) to (..., A, I)."""
    precision = components.variance.reciprocal()
    cross = value.square() @ precision.mT - 2 * value @ (precision * components.mean).mT
    rest = (precision * components.mean.square() - precision.log() + math.log(2 * math.pi)).sum(-1)
    return -0.5 * (cross + rest.unsqueeze(-2))


def monte_carlo(q: Gaussian, components: Gaussian, weights: Tensor, noise: Tensor) -> Tensor:
    """KL to the true mixture, estimated on draws of q: mean of log q(w) - log sum_i weight_i N_i(w)."""
    value = q.rsample(noise)  # (S, ..., A, K)
    tiny = torch.finfo(weights.dtype).tiny
    log_weights = torch.where(weights > 0, weights.clamp_min(tiny).log(), -torch.inf)
    mixture = torch.logsumexp(log_weights + component_log_prob(value, components), -1)
    return (q.log_prob(value) - mixture).mean(0)


def moment_matched(q: Gaussian, components: Gaussian, weights: Tensor) -> Tensor:
    """KL to the one Gaussian that has the mixture's mean and variance."""
    mean = weights @ components.mean
    second = weights @ (components.variance + components.mean.square())
    variance = (second - mean.square()).clamp_min(torch.finfo(mean.dtype).eps)
    return q.kl(Gaussian(mean, variance.sqrt()))


def weighted_sum(q: Gaussian, components: Gaussian, weights: Tensor) -> Tensor:
    """KL to N(sum weight mu, sum weight^2 v), the law of a weighted sum: what the released code computes.

    It is not a mixture: with identical tasks and more than one weight it does not vanish. As in that code, all
    variances are a little larger.
    """
    variance = weights.square() @ components.variance + MARGIN
    return Gaussian(q.mean, (q.variance + MARGIN).sqrt()).kl(Gaussian(weights @ components.mean, variance.sqrt()))


def mixture_kl(form: KLForm, q: Gaussian, components: Gaussian, weights: Tensor, noise: Tensor | None = None) -> Tensor:
    """KL(q || sum_i weight_i component_i) in the named form; ``noise`` (S, *q.mean.shape) for monte-carlo.

    Rows whose weights are all 0 (no other task can help) have no mixture and return 0 here.
    """
    origin = components.mean.detach().mean(-2, keepdim=True)
    q, components = around(origin, q), around(origin, components)
    if form == "bound":
        return bound(q, components, weights)
    alone = weights.sum(-1) == 0
    weights = torch.where(alone.unsqueeze(-1), 1 / weights.shape[-1], weights)
    if form == "monte-carlo":
        if noise is None:
            raise ValueError("The monte-carlo form needs noise to draw from q.")
        divergence = monte_carlo(q, components, weights, noise)
    elif form == "moment-matched":
        divergence = moment_matched(q, components, weights)
    elif form == "weighted-sum":
        divergence = weighted_sum(q, components, weights)
    else:
        raise ValueError(f"Unknown KL form {form!r}; choose one of {', '.join(KL_FORMS)}.")
    return torch.where(alone, 0.0, divergence)
