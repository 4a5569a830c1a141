"""What is kept of the known tasks, so that another one can be compared with them."""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl._utils.tensor_module import TensorModule
from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_evenly
from vmtl.gp.positions.class_means import ClassCells, ClassMeans

#: Most rows whose features the class means are made from.
MAX_ROWS = 20_000


class KnownTasks(TensorModule):
    """Class means of the features, where the tasks lie, and the left-out errors of a regression."""

    means: Tensor  # (T, C, K)
    counts: Tensor  # (T, C)
    variance: Tensor  # (T,) within classes
    target_scale: Tensor  # () deviation of a regression's targets within tasks
    points: Tensor  # (T, Q)
    edge: Tensor  # () how large an eigenvalue of the Gram matrix of positions is by noise alone
    isolated: Tensor  # (T,) bool
    errors: Tensor  # (T, 2) sum of squared left-out errors, and how many rows count
    is_classification: Tensor  # () bool

    @classmethod
    def of(cls, z: Rows, points: Tensor, edge: float, isolated: Tensor, errors: Tensor) -> KnownTasks:
        """Of feature rows."""
        some = z.take(subsample_evenly(z.task, MAX_ROWS, 0)).cpu()
        cells = ClassCells.of(some)
        classes = cells.class_means(some.x.double())
        return cls(
            **vars(classes),
            target_scale=torch.tensor(cells.target_scale, dtype=torch.float64),
            points=points,
            edge=torch.tensor(edge, dtype=torch.float64),
            isolated=isolated,
            errors=errors,
            is_classification=torch.tensor(z.is_classification),
        )

    @property
    def classes(self) -> ClassMeans:
        """The means with what their distances need."""
        return ClassMeans(self.means, self.counts, self.variance)

    def class_means(self, z: Rows) -> ClassMeans:
        """The same of the feature rows of one further task."""
        cells = ClassCells.of(z, float(self.target_scale))
        return cells.class_means(z.x.double(), self.variance.mean())

    def replaced(self, **tensors: Tensor) -> KnownTasks:
        """With other tensors in place of some."""
        return KnownTasks(**{**self.to_tensors(), **tensors})
