"""The objective, Eq. 5 and 11: its terms, its gradients, and that it bounds the evidence."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from helpers.toys import SMALL, Quiet, Toy, build, full_batch_loss, numeric_gradient, toy
from vmtl import METHODS
from vmtl._utils.noise import Noise
from vmtl.config.settings import Settings
from vmtl.data.rows import Rows
from vmtl.inference.variational.training import Trainer
from vmtl.model.distributions import Gaussian
from vmtl.model.model import Model
from vmtl.model.objective import Objective, Scales

BOTH = replace(SMALL, prior_gradient_w="both", prior_gradient_z="both")
#: T = 3, C = 4, K = 5, hidden = 7, D = 8: every axis has its own length.
CLASSES = toy([6, 11, 9], classes=4, features=8, missing=[(1, 0)])
VALUES = toy([6, 11, 9], features=8)
ENCODERS = ["kernel", "linear", "noisy-linear", "mlp"]


def cpu_noise(seed: int = 1) -> Noise:
    return Noise(seed, torch.device("cpu"), torch.float64)


def test_terms_add_up() -> None:
    """Mean over rows of [NLL + scale KL_z] + (scale KL_w + entropy term) / N_t, tasks alike or by rows."""
    rows = CLASSES.rows()
    for task_weight, share in (("tasks", torch.full((3,), 1 / 3)), ("rows", torch.tensor([6.0, 11, 9]) / 26)):
        model = build("vmtl", rows, replace(SMALL, task_weight=task_weight))
        with torch.no_grad():
            model.mixing_w.log_pi.copy_(torch.randn(3, 3, generator=torch.Generator().manual_seed(0)))
        objective = Objective(model, rows)
        terms = objective.terms(rows.batch(*rows.by_task), 0.7, Quiet())
        losses = objective.task_losses(terms, Scales(0.3, 0.7, 0.2))
        expected = terms.nll + 0.3 * terms.kl_z + (0.7 * terms.kl_w + 0.2 * terms.entropy) / torch.tensor([6, 11, 9])
        torch.testing.assert_close(losses, expected)
        torch.testing.assert_close(objective.task_share, share.double())
        alpha = model.alpha()
        plogp = torch.where(alpha > 0, alpha * alpha.clamp_min(1e-30).log(), 0.0).sum(-1)
        size = 4 * 9  # C (K + 1), the features are the raw columns
        torch.testing.assert_close(terms.entropy, size * (plogp + math.log(2)))


def test_cross_entropy_runs_over_the_classes_a_task_saw() -> None:
    rows = CLASSES.rows()
    seen, every = (build("bmtl", rows, replace(SMALL, all_classes=flag)) for flag in (False, True))
    batch = rows.batch(*rows.by_task)
    one, two = (Objective(m, rows).terms(batch, 1.0, Quiet()).nll for m in (seen, every))
    assert (two[1] > one[1]).item()
    torch.testing.assert_close(one[[0, 2]], two[[0, 2]])


@pytest.mark.parametrize("problem", [CLASSES, VALUES], ids=lambda p: p.name)
@pytest.mark.parametrize("estimator", ["sampled", "moment"])
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("kl_form", ["bound", "monte-carlo", "moment-matched", "weighted-sum"])
def test_gradients_against_finite_differences(problem: Toy, estimator: str, encoder: str, kl_form: str) -> None:
    check_gradients("vmtl", problem, replace(BOTH, encoder=encoder, estimator=estimator, kl_form=kl_form, dropout=0.3))


@pytest.mark.parametrize("problem", [CLASSES, VALUES], ids=lambda p: p.name)
@pytest.mark.parametrize("method", METHODS)
def test_gradients_of_every_method(problem: Toy, method: str) -> None:
    check_gradients(method, problem, replace(BOTH, encoder="mlp", tie_mixing=True))


@pytest.mark.parametrize("draws", [(1, 1), (3, 1), (2, 3), (5, 4)])
def test_gradients_with_odd_numbers_of_draws(draws: tuple[int, int]) -> None:
    settings = replace(BOTH, encoder="linear", estimator="sampled", n_z=draws[0], n_w=draws[1])
    for problem in (CLASSES, VALUES):
        check_gradients("vmtl", problem, settings)


def test_gradient_with_inferred_sharing() -> None:
    model = check_gradients("vmtl", CLASSES, replace(BOTH, sharing=None, encoder="linear"))
    assert model.prior_w is not None


def check_gradients(method: str, problem: Toy, settings: Settings) -> Model:
    """Four entries of every parameter, in float64 with the same noise."""
    rows = problem.rows()
    objective = Objective(build(method, rows, settings), rows)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in objective.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
    full_batch_loss(objective, rows, cpu_noise()).backward()

    @torch.no_grad()
    def loss() -> torch.Tensor:
        return full_batch_loss(objective, rows, cpu_noise())

    for name, parameter in objective.named_parameters():
        if not parameter.requires_grad:
            continue
        assert parameter.grad is not None, name
        for index in torch.randint(parameter.numel(), (4,), generator=generator).tolist():
            numeric = numeric_gradient(loss, parameter, index)
            assert float(parameter.grad.view(-1)[index]) == pytest.approx(numeric, rel=1e-4, abs=1e-7), name
    return objective.model


@pytest.mark.parametrize("estimator", ["sampled", "moment"])
@pytest.mark.parametrize("n_tasks", [1, 2, 3])
def test_elbo_is_below_the_exact_evidence_on_a_linear_gaussian_toy(n_tasks: int, estimator: str) -> None:
    """Delta z, both scales 1, no entropy term: minus N_t times the loss is an ELBO.

    With alpha and the other posteriors held fixed, the prior of task t is a mixture of Gaussians, y is linear in
    w, and the evidence is a mixture of Gaussian densities in closed form.
    """
    problem = toy([8] * n_tasks, features=3)
    rows = problem.rows()
    draws = {"n_z": 1, "n_w": 2000} if estimator == "sampled" else {}
    settings = replace(SMALL, bayesian_z=False, mixing="mean", max_steps=300, estimator=estimator, **draws)
    model = build("vmtl", rows, replace(settings, learning_rate=("cosine", 0.05, 0.02)))
    gaps = [elbo_gap(model, rows)]
    if estimator == "moment":
        Trainer(model, rows, seed=0).run()
        gaps.append(elbo_gap(model, rows))
        assert gaps[1].max() < 0.3 * gaps[0].max()  # training closes most of the gap
        assert gaps[1].min() > 1e-6
    slack = 0.0 if estimator == "moment" else 0.5  # the sampled ELBO is noisy
    assert min(gap.min() for gap in gaps) > -slack


@torch.no_grad()
def elbo_gap(model: Model, rows: Rows) -> np.ndarray:
    terms = Objective(model, rows).terms(rows.batch(*rows.by_task), 1.0, cpu_noise())
    elbo = -(terms.nll * model.task_rows + terms.kl_w)
    q_w, sigma, s0 = model.q_w(), model.likelihood.scale(), float(model.logit_scale)
    assert isinstance(q_w, Gaussian)
    r = model.settings.sharing
    assert r is not None
    gaps = []
    for t in range(rows.n_tasks):
        own = rows.task == t
        H = s0 * np.concatenate([rows.x[own].numpy(), np.ones((int(own.sum()), 1))], 1)
        noise = float(sigma[t]) ** 2 * np.eye(len(H))
        components = (
            [(np.zeros(H.shape[1]), np.ones(H.shape[1]))]
            if rows.n_tasks == 1
            else [
                (r * q_w.mean[i, 0].numpy(), r**2 * q_w.variance[i, 0].numpy() + 1 - r**2)
                for i in range(rows.n_tasks)
                if i != t
            ]
        )
        logs = [multivariate_normal.logpdf(rows.y[own], H @ m, H * v @ H.T + noise) for m, v in components]
        gaps.append(logsumexp(logs) - math.log(len(logs)) - float(elbo[t]))
    return np.array(gaps)


def test_the_prior_of_z_is_part_of_every_objective_that_has_one() -> None:
    """A model alone has no loss; an objective cannot be made without the rows that its prior of z looks at."""
    rows = CLASSES.rows()
    batch = rows.batch(*rows.by_task)
    for name, method in METHODS.items():
        objective = Objective(build(name, rows), rows)
        assert (objective.prior_z is not None) == (method.prior_z is not None)
        kl_z = objective.terms(batch, 1.0, Quiet()).kl_z
        assert bool((kl_z > 0).all()) == (method.prior_z is not None), name


def test_a_model_for_prediction_only_is_refused() -> None:
    rows = CLASSES.rows()
    model = build("vmtl", rows).requires_grad_(False)
    with pytest.raises(ValueError, match="for prediction only: its weights are frozen; fit a new one"):
        Objective(model, rows)
