"""Variational multi-task learning.

Several related small data sets, one estimator: every task has a prior that is a learned mixture of the other
tasks' posteriors, so that each borrows from exactly those that help.

>>> from vmtl import MultiTaskClassifier
>>> from vmtl.datasets import load_digits_domains
>>> problem = load_digits_domains()
>>> model = MultiTaskClassifier(max_steps=50, random_state=0)
>>> model = model.fit(problem.X[::9], problem.labels[::9], tasks=problem.tasks[::9])
>>> model.alpha_.shape
(4, 4)
"""

from vmtl.estimators import MultiTaskClassifier, MultiTaskRegressor
from vmtl.method import Method
from vmtl.methods import METHODS
from vmtl.presets import PRESETS
from vmtl.problem import Problem

__version__ = "0.1.0"

__all__ = ["METHODS", "PRESETS", "Method", "MultiTaskClassifier", "MultiTaskRegressor", "Problem"]
