"""One Adam for all parameters, with a rate for each kind of them."""

from __future__ import annotations

import torch

from vmtl.model.encoders import GroupedLinear
from vmtl.model.objective import Objective


def make_optimiser(objective: Objective) -> torch.optim.Adam:
    """One Adam for everything; networks, scales and mixing logits have their own rates.

    Weight decay, where a preset has it, leaves scales and mixing logits alone unless the preset says so.
    """
    settings = objective.settings
    networks = {p for m in objective.modules() if isinstance(m, GroupedLinear) for p in m.parameters()}
    groups: dict[str, list[torch.nn.Parameter]] = {"main": [], "network": [], "scale": [], "mixing": []}
    for name, parameter in objective.named_parameters():
        if parameter.requires_grad:
            kind = "mixing" if "log_pi" in name else "scale" if "log_" in name else "main"
            groups["network" if parameter in networks else kind].append(parameter)
    rates = {
        "main": 1.0,
        "network": settings.network_rate,
        "scale": settings.scale_rate,
        "mixing": settings.mixing_rate,
    }
    decayed = tuple(groups) if settings.decay_everything else ("main", "network")
    return torch.optim.Adam(
        [
            {
                "params": parameters,
                "rate": rates[kind],
                "weight_decay": settings.weight_decay if kind in decayed else 0.0,
            }
            for kind, parameters in groups.items()
            if parameters
        ],
        lr=1.0,
        betas=settings.adam_betas,
        fused=True,
    )
