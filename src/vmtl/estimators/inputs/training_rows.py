"""Training rows as tensors."""

from __future__ import annotations

import numpy as np
import torch

from vmtl._utils.types import Array
from vmtl.data.rows import Rows
from vmtl.estimators.inputs.target_encoding import TargetEncoder

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def make_rows(
    x: Array,
    y: Array,
    task: Array,
    weight: Array,
    n_tasks: int,
    encoder: TargetEncoder,
    *,
    dtype: str = "float64",
    device: str = "cpu",
) -> Rows:
    """Rows of encoded targets y (n,) and tasks (n,)."""

    def tensor(value: Array, kind: torch.dtype) -> torch.Tensor:
        return torch.as_tensor(np.require(value, requirements=["C", "W"]), dtype=kind, device=torch.device(device))

    real = DTYPES[dtype]
    return Rows(
        x=tensor(x, real),
        y=tensor(y, torch.int64 if encoder.is_classification else real),
        task=tensor(task, torch.int64),
        weight=tensor(weight, real),
        n_tasks=n_tasks,
        n_classes=encoder.n_classes,
        is_classification=encoder.is_classification,
    )
