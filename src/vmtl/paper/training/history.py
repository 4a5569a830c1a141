"""Terms and rates of every recorded step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor

#: Most steps kept in the history.
HISTORY_LENGTH = 500


@dataclass
class History:
    """Recorded steps; every list has one entry per recorded step, the terms one column per task."""

    TERMS: ClassVar = ("nll", "kl_z", "kl_w")

    step: list[int] = field(default_factory=list)
    nll: list[Tensor] = field(default_factory=list)
    kl_z: list[Tensor] = field(default_factory=list)
    kl_w: list[Tensor] = field(default_factory=list)
    kl_scale_z: list[float] = field(default_factory=list)
    kl_scale_w: list[float] = field(default_factory=list)
    tau: list[float] = field(default_factory=list)
    lr: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def numbers(self) -> dict[str, list[float]]:
        """All but the terms, as JSON can hold it."""
        return {name: values for name, values in vars(self).items() if name not in self.TERMS}
