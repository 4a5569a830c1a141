"""Who learns from whom, as tables with the names of the tasks."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import torch
from torch import Tensor

from vmtl._utils.types import Array
from vmtl.results.relatedness import MAX_TASKS, TaskStructure

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class RelatednessTables:
    """The structure of a fitted model's tasks; one that has none shares nothing.

    Every table is computed, and pandas loaded, when it is asked for.
    """

    structure: TaskStructure | None
    tasks: Array  # (T,) labels

    def mixing_weights(self, name: str) -> pd.DataFrame:
        """``alpha`` or ``beta``, a table of all pairs."""
        self._check_table(f"{name}_")
        if self.structure is None:
            return self._pairs(torch.zeros(len(self.tasks), len(self.tasks)))
        return self._pairs(self._tensor(name))

    def interval(self, name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The lower and the upper end of ``alpha`` or ``beta``."""
        self._check_table(f"{name}_interval_")
        low, high = self._tensor(f"{name}_interval")
        return self._pairs(low), self._pairs(high)

    def sharing(self) -> pd.Series:
        """r_t."""
        import pandas as pd

        values = np.zeros(len(self.tasks)) if self.structure is None else self.structure.sharing.cpu().numpy()
        return pd.Series(values, index=self.names(), name="sharing")

    def sharing_interval(self) -> pd.DataFrame:
        """The lower and the upper end of r_t."""
        import pandas as pd

        self._check_table("sharing_interval_")
        low, high = self._tensor("sharing_interval").cpu().numpy()
        return pd.DataFrame({"low": low, "high": high}, index=self.names())

    def positions(self) -> pd.DataFrame:
        """Where the tasks lie."""
        import pandas as pd

        points = self._tensor("positions").cpu().numpy()
        return pd.DataFrame(points, index=self.names(), columns=range(points.shape[1]))

    def teachers(self, task: Hashable, n: int) -> pd.Series:
        """The largest mixing weights of one task, falling."""
        import pandas as pd

        place = np.flatnonzero(self.tasks == task)
        if len(place) != 1:
            raise ValueError(f"No task {task!r} was fitted; tasks_ lists those that were.")
        weights = pd.Series(self._row(int(place[0])), index=self.names(), name="alpha")
        return weights.drop(task).sort_values(ascending=False, kind="stable").head(n)

    def _row(self, task: int) -> Array:
        """(T,) the mixing weights of one task; of thousands of tasks computed from the factor of their covariance."""
        if self.structure is None:
            return np.zeros(len(self.tasks))
        if self.structure.alpha is not None:
            row = self.structure.alpha[task]
        elif self.structure.factor is None:
            even = np.full(len(self.tasks), 1 / (len(self.tasks) - 1))
            even[task] = 0.0
            return even
        else:
            from vmtl.gp.relatedness import conditional_of
            from vmtl.gp.task_covariance import LowRankCovariance

            row = conditional_of(LowRankCovariance(self.structure.factor), torch.tensor([task]))[0][0]
        weights: Array = row.detach().cpu().numpy()
        return weights

    def names(self) -> pd.Index:
        """The labels of the tasks."""
        import pandas as pd

        return pd.Index(self.tasks, tupleize_cols=False)

    def _pairs(self, weights: Tensor) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(weights.detach().cpu().numpy(), index=self.names(), columns=self.names())

    def _tensor(self, name: str) -> Tensor:
        value: Tensor | None = getattr(self.structure, name, None)
        if value is None:
            self._refuse(name.replace("_", " "))
        return value

    def _check_table(self, name: str) -> None:
        if len(self.tasks) > MAX_TASKS:
            raise AttributeError(
                f"{len(self.tasks):,} tasks have no {name}, a table of all pairs; teachers(task) says from whom one "
                "of them learns."
            )

    def _refuse(self, name: str) -> NoReturn:
        raise AttributeError(
            f"This fit has no {name} of its tasks; MultiTaskClassifier and MultiTaskRegressor infer it from three "
            "tasks or more with relatedness='learned'."
        )
