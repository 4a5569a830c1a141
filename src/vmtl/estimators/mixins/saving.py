"""A fitted estimator to a file and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from sklearn.utils.validation import check_is_fitted

from vmtl._utils import tensor_files
from vmtl.estimators import model_file

if TYPE_CHECKING:
    from vmtl.estimators.base import BaseMultiTask


class SavingMixin:
    """``save`` and ``load`` of an estimator."""

    def save(self, path: str | Path, *, metadata: Mapping[str, object] | None = None) -> None:
        """Write the fitted model to one file: safetensors with a JSON header, never pickle.

        Parameters
        ----------
        path : path
            The file to write; it appears only when it is complete.
        metadata : dict, default=None
            Anything JSON can hold that should travel with the model; ``load`` gives it as ``metadata_``.
        """
        check_is_fitted(self)
        payload, tensors = model_file.describe(cast("BaseMultiTask", self))
        payload["metadata"] = getattr(self, "metadata_", {}) if metadata is None else metadata
        tensor_files.save(path, "model", payload, tensors)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The model that ``save`` wrote; predictions are the same to the bit.

        Parameters
        ----------
        path : path
            A model file; nothing in it is ever executed.

        Returns
        -------
        estimator
            A fitted estimator of this class.
        """
        payload, tensors = tensor_files.load(path, "model")
        if payload.get("estimator") != cls.__name__:
            raise tensor_files.ModelFileError(f"{path} holds a {payload.get('estimator')}; load it with that class.")
        estimator = model_file.rebuild(cast("type[BaseMultiTask]", cls), payload, tensors, str(path))
        return cast("Self", estimator)
