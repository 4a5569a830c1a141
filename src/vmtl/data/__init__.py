"""Rows of several tasks: the ``Problem`` that every loader returns, and how it is split."""

from vmtl.data.problem import Problem
from vmtl.data.splits import Split, document_split, holdout, kfold, random_split

__all__ = ["Problem", "Split", "document_split", "holdout", "kfold", "random_split"]
