"""Temperature, KL scale and learning rate as functions of the step."""

import math

import pytest

from vmtl.paper.presets import PRESETS
from vmtl.paper.schedules import compressed, value

RELEASED, PAPER = PRESETS["released"], PRESETS["paper"]


@pytest.mark.parametrize(
    ("step", "tau"), [(0, 1.0), (999, 1.0), (1000, 0.8869), (1999, 0.8869), (2000, 0.6977), (3000, 0.5), (14_999, 0.5)]
)
def test_released_temperature_with_four_tasks(step: int, tau: float) -> None:
    assert value(RELEASED.tau, step, 15_000, 4) == pytest.approx(tau, abs=5e-5)


def test_released_kl_scale_with_four_tasks() -> None:
    scale = RELEASED.kl_scale_w
    assert value(scale, 9, 15_000, 4) == 0
    assert value(scale, 10, 15_000, 4) == pytest.approx(4e-6)
    assert value(scale, 14_999, 15_000, 4) == pytest.approx(0.006, rel=1e-3)
    assert value(RELEASED.kl_scale_z, 7, 15_000, 4) == 1e-7


def test_released_schedules_by_the_loop_of_the_authors() -> None:
    """Their counters: of updates, and of iterations, which begins at 1 and changes before the last task of each.

    So the numbers of the ninth of ten iterations change on the way; ours change at the next one.
    """
    tau, scale, updates, iteration = 1.0, 0.0, 1, 1
    for step in range(3002):
        if step % 10 < 9:
            assert value(RELEASED.tau, step, 15_000, 4) == pytest.approx(tau)
            assert value(RELEASED.kl_scale_w, step, 15_000, 4) == pytest.approx(scale)
        for _task in range(4):
            updates += 1
            if updates % 4 == 0:
                iteration += 1
            if iteration % 10 == 0:
                scale += 1e-6
            if iteration % 1000 == 0:
                tau = max(0.5, tau * math.exp(-3e-5 * iteration))


def test_fewer_steps_pass_through_the_same_values() -> None:
    """A tenth of the steps sees every tenth value; more steps than a schedule is written for go on with it."""
    for schedule in (PAPER.tau, PAPER.learning_rate, PAPER.kl_scale_w, RELEASED.tau, RELEASED.kl_scale_w):
        for step in range(0, 1500, 37):
            assert value(schedule, *compressed(step, 1500, 15_000), 4) == value(schedule, 10 * step, 15_000, 4)
    assert compressed(7, 20_000, 15_000) == (7, 20_000)
    assert compressed(7, 100, None) == (7, 100)


def test_the_paper() -> None:
    assert value(PAPER.tau, 999, 15_000) == 1
    assert value(PAPER.tau, 5_500, 15_000) == pytest.approx(math.exp(-3e-5 * 5_000))
    assert value(PAPER.tau, 29_000, 30_000) == 0.5
    assert value(PAPER.learning_rate, 2_999, 15_000) == 1e-4
    assert value(PAPER.learning_rate, 3_000, 15_000) == 0.5e-4
    assert value(PAPER.learning_rate, 14_999, 15_000) == pytest.approx(1e-4 / 16)
    assert value(PAPER.kl_scale_w, 0, 15_000) == 0
    assert value(PAPER.kl_scale_w, 7_500, 15_000) == pytest.approx(0.003)
    assert value(PAPER.kl_scale_w, 15_000, 15_000) == pytest.approx(0.006)
    assert value(PAPER.kl_scale_z, 15_000, 15_000) == pytest.approx(1e-7)


def test_unknown_schedule() -> None:
    with pytest.raises(ValueError, match="Unknown schedule 'steps'; choose one of constant"):
        value(("steps", 1.0), 0, 10)
