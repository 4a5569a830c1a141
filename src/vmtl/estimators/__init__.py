"""The estimators: multi-task Gaussian processes and the paper's system, behind the scikit-learn contract."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from vmtl.estimators.model_file import load
    from vmtl.estimators.multi_task import MultiTaskClassifier, MultiTaskRegressor
    from vmtl.estimators.variational import VMTLClassifier, VMTLRegressor

    #: Any of the four, for annotations.
    MultiTaskEstimator: TypeAlias = MultiTaskClassifier | MultiTaskRegressor | VMTLClassifier | VMTLRegressor

__all__ = ["MultiTaskClassifier", "MultiTaskRegressor", "VMTLClassifier", "VMTLRegressor", "load"]

_MODULES = {
    "MultiTaskClassifier": "multi_task",
    "MultiTaskRegressor": "multi_task",
    "VMTLClassifier": "variational",
    "VMTLRegressor": "variational",
    "load": "model_file",
}


def __getattr__(name: str) -> object:
    """Each estimator is loaded with its system when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module 'vmtl.estimators' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"vmtl.estimators.{_MODULES[name]}"), name)
    return value
