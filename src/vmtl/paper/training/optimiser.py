"""One Adam for all parameters; mixing weights and learned task weights have learning rates of their own."""

from __future__ import annotations

import torch
from torch import nn

from vmtl.paper.mixing import Mixing
from vmtl.paper.objective import Objective
from vmtl.paper.task_weighting import UncertaintyWeighting


def make_optimiser(objective: Objective) -> torch.optim.Adam:
    """One Adam for everything that is trained.

    The learning rate of a group is the schedule's times its ``rate``, which the training loop reads at every step.
    """
    settings = objective.settings
    rates: dict[type[nn.Module], float] = {
        Mixing: settings.mixing_rate,
        UncertaintyWeighting: settings.weighting_rate,
    }
    members: dict[float, list[nn.Parameter]] = {}
    for module in objective.modules():
        trained = [parameter for parameter in module.parameters(recurse=False) if parameter.requires_grad]
        if trained:
            members.setdefault(rates.get(type(module), 1.0), []).extend(trained)
    return torch.optim.Adam(
        [{"params": parameters, "rate": rate} for rate, parameters in members.items()],
        lr=1.0,
        weight_decay=settings.weight_decay,
        fused=True,
    )
