"""What a fit inferred besides its weights, for people to read and for model files to keep."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any

from torch import Tensor

from vmtl._utils.json_values import Document
from vmtl.results.relatedness import MAX_TASKS, TaskStructure


@dataclass(frozen=True)
class Hyperparameters:
    """What was inferred from the training rows, or assumed where nothing was; None where a fit has no such number.

    strategy : "exact", "point" or "variational"; None in files that do not say.
    kernel_shares : share of every kernel that is part of the mixture, by name.
    standardise : whether columns were divided by their deviation first.
    relevance : how much each column of a table counts in every kernel, in the order of the features; 1 is as believed.
    correlation : rho, of the weights of two tasks that are alike.
    scale : s0, the prior deviation of the logits, or of the standardised target.
    unit : the deviation of w . z, which the features have, so that outputs of deviation s0 are s0 / unit w . z.
    decay : gamma, how fast likeness falls with the squared distance of two tasks' positions.
    task_level : tau, the prior deviation of what a task adds to the level of all.
    noise : deviation of the noise of a row of weight 1 in units of the standardised target, before it is calibrated
        for each task.
    logit_scale : what w . [z; 1] is multiplied by, after calibration.
    width_factor : what the widths of q(w) were multiplied by in calibration.
    forest_share : v, how much of a prediction is that of a random forest, where there is one.
    learning_rate_factor : what the learning rate of the settings was multiplied by.
    structure : who learns from whom before training, and how much: alpha (T, T), sharing r (T,), variance v (T,) and
        the covariance B (T, T) of one weight across tasks, or of many tasks a factor of it; where they were inferred
        also beta (T, T), the positions of the tasks, and intervals.
    """

    strategy: str | None = None
    kernel_shares: dict[str, float] | None = None
    standardise: bool | None = None
    relevance: tuple[float, ...] | None = None
    correlation: float | None = None
    scale: float | None = None
    unit: float | None = None
    decay: float | None = None
    task_level: float | None = None
    noise: float | None = None
    logit_scale: float | None = None
    width_factor: float | None = None
    forest_share: float | None = None
    learning_rate_factor: float | None = None
    structure: TaskStructure | None = None

    def to_json(self) -> dict[str, object]:
        """All but the structure, as JSON can hold it."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "structure"}

    def to_tensors(self) -> dict[str, Tensor]:
        """The structure's tensors by name; none without a structure."""
        if self.structure is None:
            return {}
        return {name: value for name, value in vars(self.structure).items() if value is not None}

    @classmethod
    def from_file(cls, numbers: Document, tensors: dict[str, Tensor], n_tasks: int) -> Hyperparameters:
        """What ``to_json`` and ``to_tensors`` gave; names that this version does not know are ignored."""
        known = {field.name for field in fields(cls)} - {"structure"}
        structure = _structure_from(tensors, n_tasks) if tensors else None
        values: dict[str, Any] = {name: value for name, value in numbers.items() if name in known}
        if values.get("relevance") is not None:
            values["relevance"] = tuple(values["relevance"])
        return cls(**values, structure=structure)


def _structure_from(tensors: dict[str, Tensor], n_tasks: int) -> TaskStructure:
    """The structure of ``n_tasks`` tasks that has these tensors, or a ValueError that says what is wrong with them."""
    known: dict[str, Tensor | None] = {
        field.name: tensors[field.name] for field in fields(TaskStructure) if field.name in tensors
    }
    for field in fields(TaskStructure):
        if field.default is MISSING and field.name not in known:
            if not _is_spared(field.name, n_tasks, "factor" in tensors):
                raise ValueError(f"the structure has no {field.name}")
            known[field.name] = None
    for name, value in known.items():
        if value is not None and not _has_one_number_per_task(name, value.shape, n_tasks):
            raise ValueError(f"{name} of the structure does not have one number per task")
    return TaskStructure(**known)  # type: ignore[arg-type]


def _is_spared(name: str, n_tasks: int, has_factor: bool) -> bool:
    """Whether many tasks have no such table: B where there is a factor of it, both tables of thousands."""
    return (name == "covariance" and has_factor) or (name in ("alpha", "covariance") and n_tasks > MAX_TASKS)


def _has_one_number_per_task(name: str, shape: tuple[int, ...], n_tasks: int) -> bool:
    """Whether the shape is (T, Q) of positions and factor; (T, T) of pairs, (T,) of tasks; (2, ...) of an interval."""
    if name in ("positions", "factor"):
        return len(shape) == 2 and shape[0] == n_tasks
    of_pairs = name.removesuffix("_interval") in ("alpha", "beta", "covariance")
    ends = (2,) if name.endswith("_interval") else ()
    return shape == (*ends, *(n_tasks,) * (2 if of_pairs else 1))
