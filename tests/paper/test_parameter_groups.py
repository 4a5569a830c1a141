"""Every module declares how its parameters are trained."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch
from torch import nn

from helpers.toys import SMALL, build, toy
from vmtl import METHODS
from vmtl.model.objective import Objective
from vmtl.model.parameter_groups import PARAMETER_GROUPS, ParameterGroups, grouped_parameters


class Scaled(nn.Module):
    parameter_groups: ClassVar[ParameterGroups] = {"log_width": "scale"}

    def __init__(self) -> None:
        super().__init__()
        self.log_width = nn.Parameter(torch.zeros(2))


def test_the_owner_decides_wherever_the_module_stands() -> None:
    whole = nn.ModuleDict({"log_pi": Scaled()})  # the name of a place says nothing
    assert [group for group, _ in grouped_parameters(whole)] == ["scale"]


@pytest.mark.parametrize("declared", [{}, {"log_width": "fast"}])
def test_a_parameter_without_a_group_is_refused(declared: dict[str, str]) -> None:
    module = Scaled()
    module.parameter_groups = declared  # type: ignore[assignment, misc]
    with pytest.raises(TypeError, match=r"Scaled \(\) must declare parameter_groups\['log_width'\]"):
        list(grouped_parameters(module))


@pytest.mark.parametrize("encoder", ["kernel", "linear", "noisy-linear", "mlp"])
@pytest.mark.parametrize("classes", [0, 2])
def test_every_parameter_of_every_method_has_one_group(encoder: str, classes: int) -> None:
    rows = toy([5, 6, 7], classes=classes).rows()
    for method in METHODS:
        objective = Objective(build(method, rows, SMALL.with_options(encoder=encoder)), rows)
        groups = dict(zip(PARAMETER_GROUPS, [[] for _ in PARAMETER_GROUPS], strict=True))
        for group, parameter in grouped_parameters(objective):
            groups[group].append(parameter)
        counted = sum(len(members) for members in groups.values())
        assert counted == len(list(objective.parameters()))
        assert len(groups["mixing"]) == sum("log_pi" in name for name, _ in objective.named_parameters())
