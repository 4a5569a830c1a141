"""What a fitted estimator has learned, as tables with the names of the tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from vmtl._utils.types import Array
from vmtl.inference.fitted import Fitted
from vmtl.inference.hyperparameters import Hyperparameters

if TYPE_CHECKING:
    import pandas as pd


class FittedAttributesMixin:
    """Read-only views of a fitted estimator; pandas is loaded when one is asked for."""

    _fitted: Fitted
    tasks_: Array

    @property
    def alpha_(self) -> pd.DataFrame:
        """DataFrame (T, T): row t says how much task t takes from each other task's classifier."""
        return self._relatedness(self._fitted.model.alpha())

    @property
    def beta_(self) -> pd.DataFrame:
        """DataFrame (T, T): the same for the representation."""
        return self._relatedness(self._fitted.model.beta())

    @property
    def sharing_(self) -> pd.Series:
        """Series (T,): r_t, how strongly each task follows its mixture; 0 is on its own, also if it has no mixture."""
        import pandas as pd

        return pd.Series(self._fitted.model.sharing().cpu().numpy(), index=self._names(), name="sharing")

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

    def _relatedness(self, weights: torch.Tensor) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(weights.detach().cpu().numpy(), index=self._names(), columns=self._names())

    def _names(self) -> pd.Index:
        import pandas as pd

        return pd.Index(self.tasks_, tupleize_cols=False)
