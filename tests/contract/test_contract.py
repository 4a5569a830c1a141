"""Every method x every toy problem x every property; a new method or problem is picked up by itself."""

from pathlib import Path

import pytest

from contract import properties
from contract.problems import MORE_PROBLEMS, PROBLEMS
from helpers.toys import Toy
from vmtl import METHODS
from vmtl.config.settings import Settings

pytestmark = [
    pytest.mark.usefixtures("quick_inference"),
    pytest.mark.parametrize("method", METHODS, scope="module"),
    pytest.mark.parametrize(
        "problem",
        [
            *(pytest.param(problem, id=problem.name) for problem in PROBLEMS),
            *(pytest.param(problem, id=problem.name, marks=pytest.mark.slow) for problem in MORE_PROBLEMS),
        ],
        scope="module",  # tests of one method and problem follow each other, and share its fit
    ),
]
settings = pytest.mark.parametrize("settings", [properties.KERNEL, properties.NETWORK], ids=["kernel", "network"])


@settings
def test_finite_loss(method: str, problem: Toy, settings: Settings) -> None:
    properties.finite_loss(method, problem, settings)


@settings
def test_gradient_where_the_objective_depends(method: str, problem: Toy, settings: Settings) -> None:
    properties.gradient_where_the_objective_depends(method, problem, settings)


@settings
def test_loss_falls_in_twenty_steps(method: str, problem: Toy, settings: Settings) -> None:
    properties.loss_falls(method, problem, settings)


@settings
def test_task_order_does_not_matter(method: str, problem: Toy, settings: Settings) -> None:
    properties.task_order_does_not_matter(method, problem, settings)


def test_same_seed_same_weights(method: str, problem: Toy) -> None:
    properties.same_seed_same_weights(method, problem)


def test_other_seed_other_weights(method: str, problem: Toy) -> None:
    properties.other_seed_other_weights(method, problem)


def test_clone_save_and_load(method: str, problem: Toy, tmp_path: Path) -> None:
    properties.round_trip(method, problem, tmp_path)


def test_good_predictions(method: str, problem: Toy) -> None:
    properties.good_predictions(method, problem)
