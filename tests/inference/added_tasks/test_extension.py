"""What the rows of a task that comes later tell, and how far it may stand apart."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.three_tasks import REAL, TASK, UNIT
from vmtl import MultiTaskRegressor
from vmtl.inference.added_tasks import extension

pytestmark = pytest.mark.usefixtures("quick_inference")
NOISY = UNIT + 30 * np.random.default_rng(0).normal(size=len(UNIT))
WEST = TASK == "west"


@pytest.fixture(scope="module")
def model(quick_inference: None) -> MultiTaskRegressor:
    return MultiTaskRegressor(random_state=0).fit(REAL.X, NOISY, tasks=TASK)


def test_rows_tell_a_new_task_what_they_tell_one_that_was_there(model: MultiTaskRegressor) -> None:
    """The targets of a regression tell by their noise alone, so the same rows tell the same."""
    longer = copy.deepcopy(model).add_task(REAL.X[WEST], NOISY[WEST], task="twin")
    evidence, place = longer._fitted.known.exact, list(longer.tasks_).index("west")
    assert evidence.told[-1].max() > 1
    torch.testing.assert_close(evidence.told[-1], evidence.told[place], rtol=1e-4, atol=1e-4)


def test_a_task_stands_apart_if_its_targets_say_so(model: MultiTaskRegressor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Targets in reverse order speak for a task of its own kind, whether or not others are known to stand apart."""
    found: list[float] = []
    true_apart = extension._Extension.apart
    monkeypatch.setattr(extension._Extension, "apart", lambda *a: found.append(true_apart(*a)) or found[-1])
    nobody = torch.zeros(1, 3).double()
    for chance, targets in ((0.0, NOISY[WEST]), (0.0, NOISY[WEST][::-1]), (0.3, NOISY[WEST][::-1])):
        longer = copy.deepcopy(model)
        belief = replace(
            longer._fitted.known.belief,
            share=torch.tensor([1 - chance, chance]).double(),
            apart=torch.cat([nobody, nobody + 0.01]),
            member=torch.ones(2, 3, 1).double(),
            gap=torch.zeros(2).double(),
        )
        longer._fitted = replace(longer._fitted, known=replace(longer._fitted.known, belief=belief))
        longer.add_task(REAL.X[WEST], targets, task="twin")
    alike, reverse, likely = found
    assert alike < 0.1
    assert min(reverse, likely) > 0.5
