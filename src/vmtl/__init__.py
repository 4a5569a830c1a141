"""Variational multi-task learning.

Several related small data sets, one estimator: every task has a prior that is a learned mixture of the other
tasks' posteriors, so that each borrows from exactly those that help.

``MultiTaskClassifier`` and ``MultiTaskRegressor`` are multi-task Gaussian processes, for data of your own;
``VMTLClassifier`` and ``VMTLRegressor`` are the system of the paper.

>>> from vmtl import MultiTaskClassifier
>>> from vmtl.datasets import load_digits_domains
>>> problem = load_digits_domains()
>>> model = MultiTaskClassifier(random_state=0)
>>> model = model.fit(problem.X[::18], problem.labels[::18], tasks=problem.tasks[::18])
>>> model.alpha_.shape
(4, 4)
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING

# Threads of torch that wait for one another sleep instead of spinning: beside other work two threads that spin take
# many times as long as one. OpenMP reads it once, when torch is imported; who has set it has decided.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

if TYPE_CHECKING:
    from vmtl.data.problem import Problem
    from vmtl.estimators import MultiTaskClassifier, MultiTaskRegressor, VMTLClassifier, VMTLRegressor, load
    from vmtl.paper.method import Method
    from vmtl.paper.methods import METHODS, register_method
    from vmtl.paper.presets import PRESETS
    from vmtl.paper.settings import Settings

#: The only place that says it; pyproject.toml reads it from here.
__version__ = "0.2.0.dev0"

__all__ = [
    "METHODS",
    "PRESETS",
    "Method",
    "MultiTaskClassifier",
    "MultiTaskRegressor",
    "Problem",
    "Settings",
    "VMTLClassifier",
    "VMTLRegressor",
    "load",
    "register_method",
]

_MODULES = {
    "METHODS": "vmtl.paper.methods",
    "PRESETS": "vmtl.paper.presets",
    "Method": "vmtl.paper.method",
    "MultiTaskClassifier": "vmtl.estimators.multi_task",
    "MultiTaskRegressor": "vmtl.estimators.multi_task",
    "Problem": "vmtl.data.problem",
    "Settings": "vmtl.paper.settings",
    "VMTLClassifier": "vmtl.estimators.variational",
    "VMTLRegressor": "vmtl.estimators.variational",
    "load": "vmtl.estimators.model_file",
    "register_method": "vmtl.paper.methods",
}


def __getattr__(name: str) -> object:
    """Public names are loaded when they are first used: help and shell completion need no torch."""
    if name not in _MODULES:
        raise AttributeError(f"module 'vmtl' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
