"""The objective, Eq. 5 and 11: its terms, its gradients, and that it bounds the evidence."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from helpers.paper_models import SMALL, Quiet, build, full_batch_loss, numeric_gradient
from helpers.toys import Toy, toy
from vmtl import METHODS
from vmtl._utils.noise import Noise
from vmtl.data.rows import Rows
from vmtl.paper.distributions import Gaussian
from vmtl.paper.method import Method
from vmtl.paper.model import Model
from vmtl.paper.objective import Objective, Scales
from vmtl.paper.settings import Settings
from vmtl.paper.training.training import Trainer

BOTH = replace(SMALL, prior_gradient_w="both", prior_gradient_z="both")
#: T = 3, C = 4, K = 5, hidden = 7, D = 8: every axis has its own length.
CLASSES = toy([6, 11, 9], classes=4, features=8, missing=[(1, 0)])
VALUES = toy([6, 11, 9], features=8)
#: z = x, so that y is linear in w.
FEATURES_AS_THEY_ARE = Method("Linear", "s", "r", encoder="fixed", q_w="gaussian", prior_w="gumbel_mixture")
ENCODERS = ["linear", "noisy-linear", "mlp"]


def cpu_noise(seed: int = 1) -> Noise:
    return Noise(seed, torch.device("cpu"), torch.float64)


def test_terms_add_up() -> None:
    """Mean over rows of [NLL + scale KL_z] + scale KL_w / N_t, or all of KL_w; tasks alike, by rows, or summed."""
    rows = CLASSES.rows()
    shares = {"tasks": torch.full((3,), 1 / 3), "rows": torch.tensor([6.0, 11, 9]) / 26, "sum": torch.ones(3)}
    for task_weight, share in shares.items():
        model = build("vmtl", rows, replace(SMALL, task_weight=task_weight, divide_kl_w=task_weight == "rows"))
        objective = Objective(model, rows)
        terms = objective.terms(rows.batch(*rows.by_task), 0.7, Quiet())
        losses = objective.task_losses(terms, Scales(0.3, 0.7))
        divisor = torch.tensor([6, 11, 9]) if task_weight == "rows" else 1
        expected = terms.nll + 0.3 * terms.kl_z + 0.7 * terms.kl_w / divisor
        torch.testing.assert_close(losses, expected)
        torch.testing.assert_close(objective.task_share, share.double())


def test_cross_entropy_runs_over_the_classes_a_task_saw() -> None:
    rows = CLASSES.rows()
    model = build("bmtl", rows)
    batch = rows.batch(*rows.by_task)
    nll = Objective(model, rows).terms(batch, 1.0, Quiet()).nll
    logits = torch.einsum("nk,ck->nc", model.encoder(batch.x).mean[1], model.q_w().mean[1, :, :-1])
    logits = (logits + model.q_w().mean[1, :, -1])[:, 1:]  # task 1 never saw class 0
    each = torch.nn.functional.cross_entropy(logits, batch.y[1] - 1, reduction="none")
    torch.testing.assert_close(nll[1], (batch.weight[1] * each).sum())


@pytest.mark.parametrize("problem", [CLASSES, VALUES], ids=lambda p: p.name)
@pytest.mark.parametrize("prior_dropout", [False, True])
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("kl_form", ["bound", "monte-carlo", "moment-matched", "weighted-sum"])
def test_gradients_against_finite_differences(problem: Toy, encoder: str, kl_form: str, prior_dropout: bool) -> None:
    options = {"encoder": encoder, "kl_form": kl_form, "dropout": 0.3, "prior_dropout": prior_dropout}
    check_gradients("vmtl", problem, replace(BOTH, **options))


@pytest.mark.parametrize("problem", [CLASSES, VALUES], ids=lambda p: p.name)
@pytest.mark.parametrize("method", METHODS)
def test_gradients_of_every_method(problem: Toy, method: str) -> None:
    check_gradients(method, problem, replace(BOTH, encoder="mlp", tie_mixing=True))


@pytest.mark.parametrize("draws", [(1, 1), (3, 1), (2, 3), (5, 4)])
def test_gradients_with_odd_numbers_of_draws(draws: tuple[int, int]) -> None:
    settings = replace(BOTH, encoder="linear", n_z=draws[0], n_w=draws[1])
    for problem in (CLASSES, VALUES):
        check_gradients("vmtl", problem, settings)


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


@pytest.mark.parametrize("n_tasks", [1, 2, 3])
def test_elbo_is_below_the_exact_evidence_on_a_linear_gaussian_toy(n_tasks: int) -> None:
    """Delta z, both scales 1: minus N_t times the loss is an ELBO, and training closes most of its gap.

    With alpha and the other posteriors held fixed, the prior of task t is a mixture of Gaussians, y is linear in
    w, and the evidence is a mixture of Gaussian densities in closed form.
    """
    rows = toy([8] * n_tasks, features=3).rows()
    settings = replace(SMALL, bayesian_z=False, mixing="mean", max_steps=300, n_z=1, n_w=20)
    model = build(FEATURES_AS_THEY_ARE, rows, replace(settings, learning_rate=("linear", 0.05, 0.001, 1.0)))
    before = elbo_gap(model, rows)
    Trainer(model, rows, seed=0).run()
    after = elbo_gap(model, rows)
    assert after.max() < 0.3 * before.max()
    assert min(before.min(), after.min()) > -0.1  # the ELBO is sampled


@torch.no_grad()
def elbo_gap(model: Model, rows: Rows) -> np.ndarray:
    many = Objective(model, rows)
    many.settings = replace(many.settings, n_w=2000)
    terms = many.terms(rows.batch(*rows.by_task), 1.0, cpu_noise())
    elbo = -(terms.nll * model.task_rows + terms.kl_w)
    q_w, sigma = model.q_w(), model.likelihood.scale()
    assert isinstance(q_w, Gaussian)
    r = model.settings.sharing
    gaps = []
    for t in range(rows.n_tasks):
        own = rows.task == t
        H = np.concatenate([rows.x[own].numpy(), np.ones((int(own.sum()), 1))], 1)
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
