"""What a fitted estimator has learned, as tables with the names of the tasks."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import torch

from vmtl._utils.types import Array
from vmtl.inference.fitted import Fitted
from vmtl.inference.hyperparameters import Hyperparameters
from vmtl.inference.structure.covariance import LowRankCovariance
from vmtl.inference.structure.mixing_weights import conditional_of
from vmtl.results.relatedness import MAX_TASKS

if TYPE_CHECKING:
    import pandas as pd


class FittedAttributesMixin:
    """Read-only views of a fitted estimator; pandas is loaded when one is asked for."""

    _fitted: Fitted
    tasks_: Array

    @property
    def alpha_(self) -> pd.DataFrame:
        """DataFrame (T, T): row t says how much task t takes from each other task's classifier.

        Thousands of tasks have no table of all pairs; ``teachers`` says from whom one of them learns.
        """
        self._check_table("alpha_")
        return self._relatedness(self._fitted.model.alpha())

    @property
    def beta_(self) -> pd.DataFrame:
        """DataFrame (T, T): the same for the representation."""
        self._check_table("beta_")
        return self._relatedness(self._fitted.model.beta())

    def teachers(self, task: Hashable, n: int = 10) -> pd.Series:
        """From whom one task learns most: its largest mixing weights of w, falling, for any number of tasks.

        Parameters
        ----------
        task : label of a task
            Who learns, one of ``tasks_``.
        n : int, default=10
            Teachers at most.

        Returns
        -------
        Series of shape (n,)
            Their part in what the task takes over, by their names; all T - 1 of them sum to 1.
        """
        import pandas as pd

        place = np.flatnonzero(self.tasks_ == task)
        if len(place) != 1:
            raise ValueError(f"No task {task!r} was fitted; tasks_ lists those that were.")
        weights = pd.Series(self._mixing_weights(int(place[0])), index=self._names(), name="alpha")
        return weights.drop(task).sort_values(ascending=False, kind="stable").head(n)

    def _mixing_weights(self, place: int) -> Array:
        """(T,) the mixing weights of one task, by its number; for thousands of tasks from the factor of B."""
        if len(self.tasks_) <= MAX_TASKS:
            row: Array = self._fitted.model.alpha()[place].detach().cpu().numpy()
            return row
        structure = self._fitted.hyperparameters.structure
        if structure is None or structure.factor is None:
            return np.full(len(self.tasks_), float(self._fitted.model.method.mixes_w) / (len(self.tasks_) - 1))
        covariance = LowRankCovariance(structure.factor.double().cpu())
        weights: Array = conditional_of(covariance, torch.tensor([place]))[0][0].numpy()
        return weights

    @property
    def sharing_(self) -> pd.Series:
        """Series (T,): r_t, how strongly each task follows its mixture; 0 is on its own, also if it has no mixture."""
        import pandas as pd

        return pd.Series(self._fitted.model.sharing().cpu().numpy(), index=self._names(), name="sharing")

    @property
    def alpha_interval_(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Two DataFrames (T, T): between them lie 90 % of what the training rows leave possible for ``alpha_``.

        Narrow about even weights, the map is flat; wide, the rows cannot tell.
        """
        low, high = self._interval("alpha_interval")
        return self._relatedness(low), self._relatedness(high)

    @property
    def beta_interval_(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The same for ``beta_``."""
        low, high = self._interval("beta_interval")
        return self._relatedness(low), self._relatedness(high)

    @property
    def sharing_interval_(self) -> pd.DataFrame:
        """DataFrame (T, 2) with the columns ``low`` and ``high``: the same for ``sharing_``."""
        import pandas as pd

        low, high = self._interval("sharing_interval")
        return pd.DataFrame({"low": low.cpu().numpy(), "high": high.cpu().numpy()}, index=self._names())

    @property
    def positions_(self) -> pd.DataFrame:
        """DataFrame (T, Q): where the tasks lie by their representations, the longest axis first.

        Squared distances are in units of the variance within classes; there is no column where no task stands out.
        """
        import pandas as pd

        points = self._inferred("positions").cpu().numpy()
        return pd.DataFrame(points, index=self._names(), columns=range(points.shape[1]))

    @property
    def groups_(self) -> pd.DataFrame:
        """DataFrame (T, 2) with the columns ``group`` and ``probability``: who follows the same rule, by their targets.

        Tasks may lie in one place, as ``positions_`` has it, and still follow different rules. All tasks are of group
        0 where no groups are more probable than any.
        """
        import pandas as pd

        known = self._fitted.known
        if self._fitted.hyperparameters.structure is None or known is None or known.belief is None:
            self._refuse("groups", "'vmtl'")
        group, probability = known.belief.groups()
        return pd.DataFrame({"group": group.numpy(), "probability": probability.numpy()}, index=self._names())

    @property
    def hyperparameters_(self) -> Hyperparameters:
        """What was inferred besides the weights: kernel, scales, strength, structure of the tasks, and by which way."""
        return self._fitted.hyperparameters

    @property
    def history_(self) -> pd.DataFrame:
        """DataFrame, one row per recorded step and task: raw terms, their scales, tau, learning rate and seconds."""
        import pandas as pd

        history, n_tasks = self._fitted.history, len(self.tasks_)
        numbers = {name: np.repeat(values, n_tasks) for name, values in history.numbers().items()}
        terms = {name: torch.stack(getattr(history, name)).cpu().numpy().ravel() for name in history.TERMS}
        tasks = np.tile(self.tasks_, len(history.step))
        return pd.DataFrame({"step": numbers.pop("step"), "task": tasks, **terms, **numbers})

    def _check_table(self, name: str) -> None:
        if len(self.tasks_) > MAX_TASKS:
            raise AttributeError(
                f"{len(self.tasks_):,} tasks have no {name}, a table of all pairs; teachers(task) says from whom one "
                "of them learns."
            )

    def _interval(self, name: str) -> tuple[torch.Tensor, torch.Tensor]:
        low, high = self._inferred(name)
        return low, high

    def _inferred(self, name: str) -> torch.Tensor:
        """A part of the structure that only a fit with three tasks or more infers, in the default preset."""
        if name.endswith("interval"):
            self._check_table(f"{name}_")
        structure = self._fitted.hyperparameters.structure
        value: torch.Tensor | None = None if structure is None else getattr(structure, name)
        if value is None:
            self._refuse(name.replace("_", " "))
        return value

    def _refuse(self, name: str, methods: str = "'vmtl' or 'vmtl_ac'") -> NoReturn:
        raise AttributeError(
            f"This fit has no {name} of its tasks; fit three tasks or more with method={methods} and "
            "preset='default', and change neither sharing nor bayesian_w nor bayesian_z, nor mixing to 'mean'."
        )

    def _relatedness(self, weights: torch.Tensor) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(weights.detach().cpu().numpy(), index=self._names(), columns=self._names())

    def _names(self) -> pd.Index:
        import pandas as pd

        return pd.Index(self.tasks_, tupleize_cols=False)
