"""Who learns from whom: the mixing weights of Eq. 7 with what they follow from."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields

from torch import Tensor

#: Most tasks whose mixing weights are a table; those of more are even.
MAX_TASKS = 1000


@dataclass(frozen=True)
class TaskStructure:
    """Who learns from whom, and how much: component i of the prior of task t is N(sharing_t mu_i, variance_t).

    What was not inferred is None. Intervals are (2, ...): the lower and the upper end.
    """

    alpha: Tensor | None  # (T, T) mixing weights, zero diagonal, rows sum to 1; None of thousands
    sharing: Tensor  # (T,) r_t
    variance: Tensor  # (T,) v_t
    covariance: Tensor | None  # (T, T) B, of one weight across tasks in the exact model; None of hundreds
    factor: Tensor | None = None  # (T, R) of hundreds: B is its product with itself and 1 on the diagonal
    beta: Tensor | None = None  # (T, T) whose representations are alike
    positions: Tensor | None = None  # (T, Q) where the tasks lie
    alpha_interval: Tensor | None = None  # (2, T, T)
    beta_interval: Tensor | None = None  # (2, T, T)
    sharing_interval: Tensor | None = None  # (2, T)

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor], n_tasks: int) -> TaskStructure:
        """The structure of ``n_tasks`` tasks with these tensors, or a ValueError that says what is wrong with them."""
        known: dict[str, Tensor | None] = {
            field.name: tensors[field.name] for field in fields(cls) if field.name in tensors
        }
        for field in fields(cls):
            if field.default is MISSING and field.name not in known:
                if not _is_spared(field.name, n_tasks, "factor" in tensors):
                    raise ValueError(f"the structure has no {field.name}")
                known[field.name] = None
        for name, value in known.items():
            if value is not None and not _has_one_number_per_task(name, value.shape, n_tasks):
                raise ValueError(f"{name} of the structure does not have one number per task")
        return cls(**known)  # type: ignore[arg-type]


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
