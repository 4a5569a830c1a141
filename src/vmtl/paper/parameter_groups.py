"""Which parameters are trained alike: every module declares it for those that it owns.

A module with parameters of its own declares ``parameter_groups``, the group of each by its name:

    class DirectHead(nn.Module):
        parameter_groups: ClassVar[ParameterGroups] = {"mean": "main", "log_scale": "scale"}

The optimiser gives each group its learning rate and decides which of them decay; it knows no module and no parameter
by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from torch import nn

#: ``main``: means of q(w) and of priors; ``network``: layers of encoders and amortised heads; ``scale``: logs of
#: widths and noises; ``mixing``: the logits log pi of alpha and beta; ``weighting``: learned weights of tasks.
ParameterGroup = Literal["main", "network", "scale", "mixing", "weighting"]
PARAMETER_GROUPS: tuple[ParameterGroup, ...] = get_args(ParameterGroup)
ParameterGroups = dict[str, ParameterGroup]


def grouped_parameters(module: nn.Module) -> Iterator[tuple[ParameterGroup, nn.Parameter]]:
    """Every parameter of ``module`` and its parts, with the group that its owner declares."""
    for path, owner in module.named_modules():
        for name, parameter in owner.named_parameters(recurse=False):
            declared: ParameterGroups = getattr(owner, "parameter_groups", {})
            if declared.get(name) not in PARAMETER_GROUPS:
                raise TypeError(
                    f"{type(owner).__name__} ({path}) must declare parameter_groups[{name!r}], "
                    f"one of {', '.join(PARAMETER_GROUPS)}."
                )
            yield declared[name], parameter
