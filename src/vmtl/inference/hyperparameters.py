"""What a fit inferred besides its weights, for people to read and for model files to keep."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from torch import Tensor

from vmtl.model.mixing import TaskStructure


@dataclass(frozen=True)
class Hyperparameters:
    """What was inferred from the training rows, or assumed where nothing was; None where a fit has no such number.

    strategy : "exact", "warm start" or "variational"; None in files that do not say.
    kernel_shares : share of every kernel that is part of the mixture, by name.
    standardise : whether columns were divided by their deviation first.
    correlation : rho, of the weights of two tasks that are alike.
    scale : s0, the prior deviation of the logits, or of the standardised target.
    bias : prior variance of the bias, in units of the kernel's.
    noise : deviation of the noise of a row of weight 1 in units of the standardised target, before it is calibrated
        for each task.
    logit_scale : what w . [z; 1] is multiplied by, after calibration.
    width_factor : what the widths of q(w) were multiplied by in calibration.
    learning_rate_factor : what the learning rate of the settings was multiplied by.
    structure : who learns from whom before training, and how much: alpha (T, T), sharing r (T,), variance v (T,) and
        the covariance B (T, T) of one weight across tasks.
    """

    strategy: str | None = None
    kernel_shares: dict[str, float] | None = None
    standardise: bool | None = None
    correlation: float | None = None
    scale: float | None = None
    bias: float | None = None
    noise: float | None = None
    logit_scale: float | None = None
    width_factor: float | None = None
    learning_rate_factor: float | None = None
    structure: TaskStructure | None = None

    def to_json(self) -> dict[str, Any]:
        """All but the structure, as JSON can hold it."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "structure"}

    def to_tensors(self) -> dict[str, Tensor]:
        """The structure's tensors by name; none without a structure."""
        return {} if self.structure is None else vars(self.structure).copy()

    @classmethod
    def from_file(cls, numbers: dict[str, Any], tensors: dict[str, Tensor], n_tasks: int) -> Hyperparameters:
        """What ``to_json`` and ``to_tensors`` gave; names that this version does not know are ignored."""
        known = {field.name for field in fields(cls)} - {"structure"}
        structure = TaskStructure(**tensors) if tensors else None
        if structure is not None:
            for name, dimensions in (("alpha", 2), ("sharing", 1), ("variance", 1), ("covariance", 2)):
                if tensors[name].shape != (n_tasks,) * dimensions:
                    raise ValueError(f"{name} of the structure does not have one number per task")
        return cls(**{name: value for name, value in numbers.items() if name in known}, structure=structure)
