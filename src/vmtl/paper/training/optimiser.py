"""One Adam for all parameters, with a learning rate for each group that their modules declare."""

from __future__ import annotations

import torch
from torch import nn

from vmtl.paper.settings import Settings
from vmtl.paper.objective import Objective
from vmtl.paper.parameter_groups import PARAMETER_GROUPS, ParameterGroup, grouped_parameters


def make_optimiser(objective: Objective) -> torch.optim.Adam:
    """One Adam for everything that is trained.

    The learning rate of a group is the schedule's times its ``rate``, which the loop reads at every step. Weight
    decay, where a preset has it, leaves scales and mixing logits alone unless ``decay_everything`` is set.
    """
    settings = objective.settings
    members: dict[ParameterGroup, list[nn.Parameter]] = {group: [] for group in PARAMETER_GROUPS}
    for group, parameter in grouped_parameters(objective):
        if parameter.requires_grad:
            members[group].append(parameter)
    rates = group_rates(settings)
    decayed = PARAMETER_GROUPS if settings.decay_everything else ("main", "network")
    return torch.optim.Adam(
        [
            {
                "params": parameters,
                "rate": rates[group],
                "weight_decay": settings.weight_decay if group in decayed else 0.0,
            }
            for group, parameters in members.items()
            if parameters
        ],
        lr=1.0,
        betas=settings.adam_betas,
        fused=True,
    )


def group_rates(settings: Settings) -> dict[ParameterGroup, float]:
    """The learning rate of each group, as a multiple of the schedule."""
    return {
        "main": 1.0,
        "network": settings.network_rate,
        "scale": settings.scale_rate,
        "mixing": settings.mixing_rate,
        "weighting": settings.weighting_rate,
    }
