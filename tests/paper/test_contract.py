"""What every method must hold on every problem; a new method or problem is picked up by itself."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.contract_problems import MORE_PROBLEMS, PROBLEMS
from helpers.paper_models import SMALL, Quiet, build, full_batch_loss, permuted_state
from helpers.toys import Toy
from vmtl.data.rows import Rows
from vmtl.paper.fit import fit
from vmtl.paper.fitted import FittedVMTL
from vmtl.paper.methods import METHODS
from vmtl.paper.model import Model
from vmtl.paper.objective import Objective
from vmtl.paper.settings import Settings
from vmtl.paper.training.training import Trainer

#: An affine encoder, and a small network with dropout on both of its paths as in the paper.
LINEAR = replace(SMALL, latent_dim=9)
NETWORK = replace(LINEAR, encoder="mlp", hidden_dim=8, dropout=0.2, prior_dropout=True, kl_scale_z=("constant", 1e-2))

pytestmark = [
    pytest.mark.parametrize("method", METHODS),
    pytest.mark.parametrize(
        "problem",
        [
            *(pytest.param(problem, id=problem.name) for problem in PROBLEMS),
            *(pytest.param(problem, id=problem.name, marks=pytest.mark.slow) for problem in MORE_PROBLEMS),
        ],
    ),
]
settings = pytest.mark.parametrize("settings", [LINEAR, NETWORK], ids=["linear", "network"])


@settings
def test_finite_loss(method: str, problem: Toy, settings: Settings) -> None:
    """Loss and gradients are finite in single precision."""
    rows = problem.rows(torch.float32)
    objective = Objective(build(method, rows, settings), rows)
    loss = full_batch_loss(objective, rows)
    loss.backward()
    assert loss.isfinite()
    for name, parameter in objective.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name


@settings
def test_gradient_where_the_objective_depends(method: str, problem: Toy, settings: Settings) -> None:
    """A change of any parameter changes the loss, and its gradient is not 0."""
    rows = problem.rows()
    objective = Objective(build(method, rows, settings), rows)
    start = full_batch_loss(objective, rows)
    start.backward()
    generator = torch.Generator().manual_seed(7)
    for name, parameter in objective.named_parameters():
        if not parameter.requires_grad:
            continue
        before = parameter.detach().clone()
        nudge = torch.randn(before.shape, generator=generator, dtype=before.dtype)
        parameter.data = before + 0.1 * nudge
        changed = bool((full_batch_loss(objective, rows) - start).abs() > 1e-12)
        parameter.data = before
        assert changed, f"the loss does not depend on {name}"
        assert parameter.grad is not None, f"{name} has no gradient"
        assert (parameter.grad != 0).any(), f"{name} has a gradient of 0"


@settings
def test_loss_falls_in_twenty_steps(method: str, problem: Toy, settings: Settings) -> None:
    """Twenty steps lower the objective, measured on the same noise."""
    rows = problem.rows(torch.float32)
    model = build(method, rows, settings.with_options(max_steps=20))
    trainer = Trainer(model, rows, seed=0)
    with torch.no_grad():
        before = full_batch_loss(trainer.objective, rows)
    trainer.run()
    with torch.no_grad():
        after = full_batch_loss(trainer.objective, rows)
    assert after < before


@settings
def test_task_order_does_not_matter(method: str, problem: Toy, settings: Settings) -> None:
    """With initial weights permuted and no noise, training permuted tasks gives permuted weights."""
    n_tasks = problem.n_tasks
    order = np.roll(np.arange(n_tasks), 1)
    place = np.argsort(order)
    moved = Toy(problem.name, problem.X, problem.y, place[problem.task], problem.classes)
    settings = replace(settings, prior_dropout=False)  # its masks are drawn task by task
    first = build(method, problem.rows(), replace(settings, max_steps=6))
    second = build(method, moved.rows(), replace(settings, max_steps=6))
    second.load_state_dict(permuted_state(first, n_tasks, order.tolist()))
    for model, rows in ((first, problem.rows()), (second, moved.rows())):
        _quiet_run(model, rows)
    expected = permuted_state(first, n_tasks, order.tolist())
    for name, value in second.state_dict().items():
        torch.testing.assert_close(
            value, expected[name], atol=1e-9, rtol=1e-8, msg=lambda text, name=name: f"{name}: {text}"
        )


def test_a_seed_repeats_a_fit_and_a_file_keeps_it(method: str, problem: Toy) -> None:
    one, two, other = (fitted(method, problem, seed, max_steps=2) for seed in (0, 0, 1))
    for name, tensor in one.to_tensors().items():
        assert torch.equal(two.to_tensors()[name], tensor), name
    assert not all(torch.equal(other.to_tensors()[name], tensor) for name, tensor in one.to_tensors().items())
    loaded = FittedVMTL.from_file(
        json.loads(json.dumps(one.to_json())),
        one.to_tensors(),
        is_classification=bool(problem.classes),
        method=METHODS[method],
        settings=one.model.settings,
    )
    np.testing.assert_array_equal(predict(loaded, problem), predict(one, problem))


def test_good_predictions(method: str, problem: Toy) -> None:
    """After training, rows of the training set are predicted better than by a constant."""
    model = fitted(method, problem, 0, max_steps=60)
    predicted = predict(model, problem)
    if problem.classes:
        np.testing.assert_allclose(predicted.sum(1), 1, atol=1e-5)
        assert (predicted.argmax(1) == problem.y).mean() > 0.5
    else:
        assert 1 - np.mean((predicted - problem.y) ** 2) / np.var(problem.y) > 0.2


def fitted(method: str, problem: Toy, seed: int, max_steps: int) -> FittedVMTL:
    return fit(METHODS[method], replace(LINEAR, max_steps=max_steps), problem.rows(torch.float32), seed)


def predict(model: FittedVMTL, problem: Toy) -> np.ndarray:
    if problem.classes:
        return model.probabilities(problem.X, problem.task).probabilities
    return model.values(problem.X, problem.task).mean


def _quiet_run(model: Model, rows: Rows) -> None:
    trainer = Trainer(model, rows, seed=0)
    trainer.noise = Quiet()
    if model.prior_w is not None and model.prior_w.update_every:
        model.prior_w.update_every = 2
    trainer.run()
