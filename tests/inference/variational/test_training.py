"""The loop and the objective: gradients, evidence, symmetry, seeds and divergence."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from helpers.toys import SMALL, Permuted, Quiet, Toy, build, numeric_gradient, objective, permute, permuted_state, toy
from vmtl import METHODS
from vmtl._utils.noise import Noise
from vmtl.config.settings import Settings
from vmtl.data.rows import Rows
from vmtl.inference.features.feature_map import ScaledMap
from vmtl.inference.prediction import Predictor
from vmtl.inference.variational.optimiser import make_optimiser
from vmtl.inference.variational.training import DivergenceError, Trainer
from vmtl.model.distributions import Gaussian
from vmtl.model.model import Model
from vmtl.model.objective import Scales, task_losses, task_shares, terms

BOTH = replace(SMALL, prior_gradient_w="both", prior_gradient_z="both")
#: T = 3, C = 4, K = 5, hidden = 7, D = 8: every axis has its own length.
CLASSES = toy([6, 11, 9], classes=4, features=8, missing=[(1, 0)])
VALUES = toy([6, 11, 9], features=8)
OPTIONS = [{}, {"encoder": "mlp", "dropout": 0.3, "estimator": "sampled", "kl_form": "monte-carlo"}]
ENCODERS = ["kernel", "linear", "noisy-linear", "mlp"]


def cpu_noise(seed: int = 1) -> Noise:
    return Noise(seed, torch.device("cpu"), torch.float64)


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
    model = build(method, rows, settings)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
    objective(model, rows, cpu_noise()).backward()

    @torch.no_grad()
    def loss() -> torch.Tensor:
        return objective(model, rows, cpu_noise())

    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        assert parameter.grad is not None, name
        for index in torch.randint(parameter.numel(), (4,), generator=generator).tolist():
            numeric = numeric_gradient(loss, parameter, index)
            assert float(parameter.grad.view(-1)[index]) == pytest.approx(numeric, rel=1e-4, abs=1e-7), name
    return model


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
    batch = rows.batch(*rows.by_task)
    found = terms(model(batch, 1.0, cpu_noise()), batch)
    elbo = -(found.nll * model.task_rows + found.kl_w)
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


@pytest.mark.parametrize("problem", [CLASSES, VALUES], ids=lambda p: p.name)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", OPTIONS)
def test_permuting_tasks_permutes_everything(problem: Toy, method: str, options: dict[str, Any]) -> None:
    order = [2, 0, 1]
    place = np.argsort(order)
    moved = Toy("", problem.X, problem.y, place[problem.task], problem.classes)
    settings = replace(SMALL, max_steps=4, **options)
    first, second = (build(method, p.rows(), settings) for p in (problem, moved))
    second.load_state_dict(permuted_state(first, 3, order))
    one, two = trained(first, problem, cpu_noise()), trained(second, moved, Permuted(1, 3, order))
    expected = permuted_state(one, 3, order)
    for name, value in two.state_dict().items():
        torch.testing.assert_close(value, expected[name], atol=1e-10, rtol=1e-10)
    for mode in ("mean", "moment", "monte-carlo"):
        np.testing.assert_allclose(
            predictions(two, problem, mode, place[problem.task]), predictions(one, problem, mode), atol=1e-10
        )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", OPTIONS)
def test_permuting_classes_permutes_everything(method: str, options: dict[str, Any]) -> None:
    order = [3, 1, 0, 2]
    moved = Toy("", CLASSES.X, np.argsort(order)[CLASSES.y], CLASSES.task, 4)
    settings = replace(SMALL, max_steps=4, **options)
    first, second = (build(method, p.rows(), settings) for p in (CLASSES, moved))
    second.load_state_dict(permuted_state(first, 4, order))
    one, two = trained(first, CLASSES, cpu_noise()), trained(second, moved, Permuted(1, 4, order))
    expected = permuted_state(one, 4, order)
    for name, value in two.state_dict().items():
        torch.testing.assert_close(value, expected[name], atol=1e-10, rtol=1e-10)
    for mode in ("mean", "moment"):
        np.testing.assert_allclose(
            predictions(two, CLASSES, mode), predictions(one, CLASSES, mode)[:, order], atol=1e-10
        )


def trained(model: Model, problem: Toy, noise: Noise) -> Model:
    trainer = Trainer(model, problem.rows(), seed=0)
    trainer.noise = noise
    if model.prior_w is not None and model.prior_w.update_every:
        model.prior_w.update_every = 2
    trainer.run()
    return model


def predictions(model: Model, problem: Toy, mode: str, task: np.ndarray | None = None) -> np.ndarray:
    predictor = Predictor(ScaledMap.identity(problem.X.shape[1]).double(), model, mode, seed=5)
    task = problem.task if task is None else task
    if problem.classes:
        return predictor.classes(problem.X, task).probabilities
    return predictor.values(problem.X, task).mean


def test_permute_moves_only_the_axes_of_that_length() -> None:
    value = torch.arange(12.0).view(3, 4)
    assert torch.equal(permute(value, 3, [2, 0, 1]), value[[2, 0, 1]])
    assert torch.equal(permute(value, 3, [2, 0, 1], first=1), value)


def test_one_task_is_the_standard_normal_method() -> None:
    """T = 1: vmtl and vbmtl have the same terms and the same training, to the bit."""
    for problem in (toy([12], classes=3), toy([12])):
        for settings in (SMALL, replace(SMALL, encoder="mlp", estimator="sampled", sharing=1.0)):
            models = [build(method, problem.rows(), replace(settings, max_steps=5)) for method in ("vmtl", "vbmtl")]
            for model in models:
                Trainer(model, problem.rows(), seed=0).run()
            ours, theirs = (dict(m.named_parameters()) for m in models)
            assert ours.keys() == theirs.keys()
            assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_terms_add_up() -> None:
    """Mean over rows of [NLL + scale KL_z] + (scale KL_w + entropy term) / N_t, tasks alike or by rows."""
    rows = CLASSES.rows()
    for task_weight, share in (("tasks", torch.full((3,), 1 / 3)), ("rows", torch.tensor([6.0, 11, 9]) / 26)):
        model = build("vmtl", rows, replace(SMALL, task_weight=task_weight))
        with torch.no_grad():
            model.mixing_w.log_pi.copy_(torch.randn(3, 3, generator=torch.Generator().manual_seed(0)))
        batch = rows.batch(*rows.by_task)
        found = terms(model(batch, 0.7, Quiet()), batch)
        losses = task_losses(model, found, Scales(0.3, 0.7, 0.2))
        expected = found.nll + 0.3 * found.kl_z + (0.7 * found.kl_w + 0.2 * found.entropy) / torch.tensor([6, 11, 9])
        torch.testing.assert_close(losses, expected)
        torch.testing.assert_close(task_shares(model), share.double())
        alpha = model.alpha()
        plogp = torch.where(alpha > 0, alpha * alpha.clamp_min(1e-30).log(), 0.0).sum(-1)
        size = 4 * 9  # C (K + 1), the features are the raw columns
        torch.testing.assert_close(found.entropy, size * (plogp + math.log(2)))


def test_cross_entropy_runs_over_the_classes_a_task_saw() -> None:
    rows = CLASSES.rows()
    seen, every = (build("bmtl", rows, replace(SMALL, all_classes=flag)) for flag in (False, True))
    batch = rows.batch(*rows.by_task)
    one, two = (terms(m(batch, 1.0, Quiet()), batch).nll for m in (seen, every))
    assert (two[1] > one[1]).item()
    torch.testing.assert_close(one[[0, 2]], two[[0, 2]])


def test_same_seed_is_bit_identical_and_another_differs() -> None:
    def weights(seed: int) -> dict[str, torch.Tensor]:
        rows = CLASSES.rows(torch.float32)
        model = build("vmtl", rows, replace(SMALL, encoder="mlp", dropout=0.5, batch_rows=2, max_steps=5), seed)
        Trainer(model, rows, seed).run()
        return model.state_dict()

    one, two, other = weights(0), weights(0), weights(1)
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not torch.equal(one["head.mean"], other["head.mean"])


def test_the_noise_of_training_depends_on_the_seed_alone() -> None:
    """The same initial weights and another noise seed end elsewhere."""
    ends = []
    for seed in (0, 0, 1):
        model = build("vmtl", CLASSES.rows(), replace(SMALL, max_steps=3))
        Trainer(model, CLASSES.rows(), seed).run()
        ends.append(model.head.mean.detach().clone())
    assert torch.equal(ends[0], ends[1])
    assert not torch.equal(ends[0], ends[2])


def test_divergence_names_step_term_and_task() -> None:
    rows = CLASSES.rows()
    model = build("vmtl", rows, replace(SMALL, encoder="linear", max_steps=5))

    def poison(trainer: Trainer, progress: object) -> None:
        if trainer.step == 2:
            with torch.no_grad():
                trainer.model.head.mean[1, 2] = math.inf

    with pytest.raises(DivergenceError, match="step 2: nll of task 1 is not finite; lower learning_rate") as caught:
        Trainer(model, rows, seed=0).run([poison])
    assert (caught.value.step, caught.value.term, caught.value.task) == (2, "nll", 1)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.step, again.term, again.task, str(again)) == (2, "nll", 1, str(caught.value))


def test_a_broken_last_step_is_an_error_too() -> None:
    rows = CLASSES.rows()
    model = build("vmtl", rows, replace(SMALL, max_steps=3))

    def poison(trainer: Trainer, progress: object) -> None:
        if trainer.step == 3:
            with torch.no_grad():
                trainer.model.head.mean[1, 2] = math.nan

    with pytest.raises(DivergenceError, match=r"step 3: the weight head\.mean of task 1 is not finite"):
        Trainer(model, rows, seed=0).run([poison])


def optimiser_groups(model: Model) -> dict[str, tuple[float, float]]:
    """Rate and weight decay of every parameter that is trained."""
    names = {id(p): name for name, p in model.named_parameters()}
    groups = make_optimiser(model).param_groups
    return {names[id(p)]: (group["rate"], group["weight_decay"]) for group in groups for p in group["params"]}


def test_optimiser_groups() -> None:
    """Networks, scales and mixing logits have their own rates; decay leaves the last two alone."""
    model = build("vmtl_ac", CLASSES.rows(), replace(SMALL, encoder="mlp", weight_decay=0.1, mixing_rate=0.7))
    found = optimiser_groups(model)
    assert found.keys() == {name for name, _ in model.named_parameters()}
    assert found["encoder.layer1.weight"] == found["head.mean.weight"] == (model.settings.network_rate, 0.1)
    assert found["mixing_w.log_pi"] == (0.7, 0)
    direct = build("vmtl", CLASSES.rows(), replace(SMALL, weight_decay=0.1))
    assert optimiser_groups(direct)["head.log_scale"] == (SMALL.scale_rate, 0)
    direct = build("vmtl", CLASSES.rows(), replace(SMALL, weight_decay=0.1, decay_everything=True))
    assert all(group["weight_decay"] == 0.1 for group in make_optimiser(direct).param_groups)


def test_history_thins_itself_and_keeps_the_last_step() -> None:
    rows = toy([4, 4], classes=2).rows()
    model = build("bmtl", rows, replace(SMALL, max_steps=1001))
    trainer = Trainer(model, rows, seed=0)
    trainer.run()
    assert len(trainer.history.step) <= 501
    assert trainer.history.step[0] == 1
    assert trainer.history.step[-1] == 1001
    assert trainer.history.lr[0] == pytest.approx(0.1)
    assert all(len(getattr(trainer.history, name)) == len(trainer.history.step) for name in vars(trainer.history))
