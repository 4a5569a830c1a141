"""What predictions are worth: scores, intervals, and the same rows learned in other ways."""

from vmtl.evaluation.comparison import Gain, Labelled, compare, count_repeated, gains, lead, names_to_compare
from vmtl.evaluation.evidence import Evidence, gather, perfect_ece
from vmtl.evaluation.intervals import Interval
from vmtl.evaluation.metrics import (
    accuracy,
    brier,
    class_scores,
    ece,
    entropy_ratio,
    gaussian_nll,
    nll,
    nmse,
    per_task,
    real_scores,
    rmse,
    unseen_class_scores,
)
from vmtl.evaluation.references import REFERENCES, fit_reference
from vmtl.evaluation.structure import structure_worth_of

__all__ = [
    "REFERENCES",
    "Evidence",
    "Gain",
    "Interval",
    "Labelled",
    "accuracy",
    "brier",
    "class_scores",
    "compare",
    "count_repeated",
    "ece",
    "entropy_ratio",
    "fit_reference",
    "gains",
    "gather",
    "gaussian_nll",
    "lead",
    "names_to_compare",
    "nll",
    "nmse",
    "per_task",
    "perfect_ece",
    "real_scores",
    "rmse",
    "structure_worth_of",
    "unseen_class_scores",
]
