"""One Adam, in which mixing weights and task weights have learning rates of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.paper_models import SMALL, build
from helpers.toys import toy
from vmtl.paper.methods import METHODS
from vmtl.paper.objective import Objective
from vmtl.paper.training.optimiser import make_optimiser

ROWS = toy([6, 11, 9], classes=4, features=8, missing=[(1, 0)]).rows()


@pytest.mark.parametrize("method", METHODS)
def test_rates_and_weight_decay(method: str) -> None:
    settings = replace(SMALL, encoder="mlp", weight_decay=0.1, mixing_rate=0.7, weighting_rate=3.0)
    objective = Objective(build(method, ROWS, settings), ROWS)
    names = {id(parameter): name for name, parameter in objective.named_parameters()}
    groups = make_optimiser(objective).param_groups
    rates = {names[id(parameter)]: group["rate"] for group in groups for parameter in group["params"]}
    assert rates.keys() == set(names.values())
    for name, rate in rates.items():
        assert rate == (0.7 if "mixing" in name else 3.0 if "weighting" in name else 1.0), name
    assert {group["weight_decay"] for group in groups} == {0.1}
