"""Names of types that every room uses; pandas and SciPy are not imported for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd
    from scipy import sparse
    from torch import Tensor

Array = npt.NDArray[Any]
#: Rows and columns as users have them: X.
MatrixLike: TypeAlias = "npt.ArrayLike | pd.DataFrame | sparse.spmatrix | sparse.sparray"
#: One value per row as users have them: targets, tasks, weights.
VectorLike: TypeAlias = "npt.ArrayLike | pd.Series"
#: What a user passed, before it is known to be anything.
Unchecked: TypeAlias = Any


class AutogradContext(Protocol):
    """What an autograd function keeps from its forward pass for the backward one."""

    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[bool, ...]

    def save_for_backward(self, *tensors: Tensor) -> None: ...
