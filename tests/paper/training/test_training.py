"""The loop: symmetry, seeds and divergence."""

from __future__ import annotations

import json
import math
import pickle
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from helpers.paper_models import SMALL, Permuted, build, permute, permuted_state
from helpers.toys import Toy, toy
from vmtl import METHODS
from vmtl._utils.noise import Noise
from vmtl.paper.model import Model
from vmtl.paper.prediction import Predictor
from vmtl.paper.training.training import DivergenceError, Trainer

#: T = 3, C = 4, K = 5, hidden = 7, D = 8: every axis has its own length.
CLASSES = toy([6, 11, 9], classes=4, features=8, missing=[(1, 0)])
VALUES = toy([6, 11, 9], features=8)
OPTIONS = [{}, {"encoder": "mlp", "dropout": 0.3, "kl_form": "monte-carlo"}]


def cpu_noise(seed: int = 1) -> Noise:
    return Noise(seed, torch.device("cpu"), torch.float64)


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
    predictor = Predictor(model, mode, seed=5)
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
        for settings in (SMALL, replace(SMALL, encoder="mlp", sharing=1.0)):
            models = [build(method, problem.rows(), replace(settings, max_steps=5)) for method in ("vmtl", "vbmtl")]
            for model in models:
                Trainer(model, problem.rows(), seed=0).run()
            ours, theirs = (dict(m.named_parameters()) for m in models)
            assert ours.keys() == theirs.keys()
            assert all(torch.equal(ours[name], theirs[name]) for name in ours)


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


def test_history_thins_itself_and_keeps_the_last_step() -> None:
    rows = toy([4, 4], classes=2).rows()
    model = build("bmtl", rows, replace(SMALL, max_steps=1001))
    trainer = Trainer(model, rows, seed=0)
    trainer.run()
    assert len(trainer.history.step) <= 501
    assert trainer.history.step[0] == 1
    assert trainer.history.step[-1] == 1001
    assert trainer.history.lr[0] == pytest.approx(0.02)
    assert all(len(getattr(trainer.history, name)) == len(trainer.history.step) for name in vars(trainer.history))


@pytest.mark.parametrize("method", ["vmtl", "bakker", "long", "qian"])
def test_an_interrupted_run_goes_on_to_the_bit(method: str) -> None:
    """From any step: weights, moments of the optimiser, random numbers, schedules and history."""
    rows = CLASSES.rows(torch.float32)
    settings = replace(SMALL, encoder="mlp", dropout=0.5, prior_dropout=True, batch_rows=2, max_steps=25)
    states: list[Any] = []

    def keep(trainer: Trainer, progress: object) -> None:
        if trainer.step == 9:
            trainer.extras["best"] = torch.tensor(3.0)
            states.append(deepcopy(trainer.state()))

    whole, resumed = (Trainer(build(method, rows, settings, seed), rows, seed) for seed in (0, 1))
    whole.run([keep])
    payload, tensors = states[0]
    resumed.restore(json.loads(json.dumps(payload)), tensors)
    assert (resumed.step, float(resumed.extras["best"])) == (9, 3.0)
    resumed.run()
    for name, value in whole.objective.state_dict().items():
        assert torch.equal(resumed.objective.state_dict()[name], value), name
    assert resumed.history.step == whole.history.step
    assert torch.equal(torch.stack(resumed.history.nll), torch.stack(whole.history.nll))
