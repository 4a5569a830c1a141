"""What every method must hold on every problem, as assertions that take a method and a problem."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import clone

from helpers.toys import SMALL, Quiet, Toy, build, full_batch_loss, permuted_state
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl.config.settings import Settings
from vmtl.data.rows import Rows
from vmtl.inference.variational.training import Trainer
from vmtl.model.model import Model
from vmtl.model.objective import Objective

#: The default preset's fixed features, and a small network with dropout and sampled logits as in the paper.
KERNEL = replace(SMALL, latent_dim=9)
NETWORK = replace(
    SMALL,
    encoder="mlp",
    latent_dim=9,
    hidden_dim=8,
    dropout=0.2,
    estimator="sampled",
    network_rate=0.2,
    kl_scale_z=("constant", 1e-2),
)


def estimator(problem: Toy, method: str, **options: Any) -> Any:
    kind = MultiTaskClassifier if problem.classes else MultiTaskRegressor
    return kind(method=method, **{"max_steps": 20, "latent_dim": 7, "random_state": 0, **options})


def fit(model: Any, problem: Toy) -> Any:
    return model.fit(problem.X, problem.y, tasks=problem.task)


@cache
def fitted(method: str, problem: Toy) -> Any:
    """A fitted estimator; ask for no changes to it."""
    return fit(estimator(problem, method), problem)


def predict(model: Any, problem: Toy) -> np.ndarray:
    predicted = model.predict_proba if problem.classes else model.predict
    return np.asarray(predicted(problem.X, tasks=problem.task))


def finite_loss(method: str, problem: Toy, settings: Settings) -> None:
    """Loss and gradients are finite in single precision."""
    rows = problem.rows(torch.float32)
    objective = Objective(build(method, rows, settings), rows)
    loss = full_batch_loss(objective, rows)
    loss.backward()
    assert loss.isfinite()
    for name, parameter in objective.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name


def gradient_where_the_objective_depends(method: str, problem: Toy, settings: Settings) -> None:
    """No parameter is idle: nudging it changes the loss, and its gradient says so."""
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


def loss_falls(method: str, problem: Toy, settings: Settings) -> None:
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


def same_seed_same_weights(method: str, problem: Toy) -> None:
    first, second = fitted(method, problem), fit(estimator(problem, method), problem)
    one, two = (model._fitted.model.state_dict() for model in (first, second))
    assert all(torch.equal(one[name], two[name]) for name in one)


def other_seed_other_weights(method: str, problem: Toy) -> None:
    """With weights that start at random; a kernel regression in closed form has nothing random at all."""
    models = [
        fit(estimator(problem, method, encoder="linear", random_state=seed, max_steps=2), problem) for seed in (0, 1)
    ]
    one, two = (model._fitted.model.state_dict() for model in models)
    assert any(not torch.equal(one[name], two[name]) for name in one)


def task_order_does_not_matter(method: str, problem: Toy, settings: Settings) -> None:
    """With initial weights permuted and no noise, training permuted tasks gives permuted weights."""
    n_tasks = problem.n_tasks
    order = np.roll(np.arange(n_tasks), 1)
    place = np.argsort(order)
    moved = Toy(problem.name, problem.X, problem.y, place[problem.task], problem.classes)
    first = build(method, problem.rows(), settings.with_options(max_steps=6))
    second = build(method, moved.rows(), settings.with_options(max_steps=6))
    second.load_state_dict(permuted_state(first, *_task_axis(first, order)))
    for model, rows in ((first, problem.rows()), (second, moved.rows())):
        _quiet_run(model, rows)
    expected = permuted_state(first, *_task_axis(first, order))
    for name, value in second.state_dict().items():
        torch.testing.assert_close(
            value, expected[name], atol=1e-9, rtol=1e-8, msg=lambda text, name=name: f"{name}: {text}"
        )


def round_trip(method: str, problem: Toy, folder: Path) -> None:
    """clone gives an equal unfitted model; save and load the same predictions to the bit."""
    model = fitted(method, problem)
    again = clone(model)
    assert not hasattr(again, "tasks_")
    assert again.get_params() == model.get_params()
    model.save(folder / "m.vmtl")
    loaded = type(model).load(folder / "m.vmtl")
    np.testing.assert_array_equal(predict(loaded, problem), predict(model, problem))
    assert loaded.get_params() == model.get_params()
    assert loaded.alpha_.equals(model.alpha_)
    assert loaded.history_.equals(model.history_)


def good_predictions(method: str, problem: Toy) -> None:
    """After training, rows of the training set are predicted better than by a constant."""
    model = fitted(method, problem)
    score = model.score(problem.X, problem.y, tasks=problem.task)
    assert score > (0.5 if problem.classes else 0.2)
    if problem.classes:
        np.testing.assert_allclose(predict(model, problem).sum(1), 1, atol=1e-5)


def _quiet_run(model: Model, rows: Rows) -> None:
    trainer = Trainer(model, rows, seed=0)
    trainer.noise = Quiet()
    if model.prior_w is not None and model.prior_w.update_every:
        model.prior_w.update_every = 2
    trainer.run()


def _task_axis(model: Model, order: np.ndarray) -> tuple[int, list[int]]:
    return model.n_tasks, order.tolist()
