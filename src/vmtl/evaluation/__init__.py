"""What predictions are worth: scores, intervals, and the same rows learned in other ways."""

from vmtl.estimators import metrics
from vmtl.estimators.metrics import (
    accuracy,
    auc,
    balanced_accuracy,
    brier,
    class_scores,
    coverage,
    ece,
    entropy_ratio,
    f1,
    gaussian_nll,
    mae,
    nll,
    nmse,
    per_task,
    r2,
    real_scores,
    rmse,
    unseen_class_scores,
)
from vmtl.evaluation.comparison import Gain, Labelled, compare, count_repeated, gains, lead, names_to_compare
from vmtl.evaluation.decisions import Costs, Decision, curves, decide
from vmtl.evaluation.evidence import Evidence, gather, perfect_ece
from vmtl.evaluation.intervals import Interval
from vmtl.evaluation.references import REFERENCES, fit_reference
from vmtl.evaluation.structure import structure_worth_of

__all__ = [
    "REFERENCES",
    "Costs",
    "Decision",
    "Evidence",
    "Gain",
    "Interval",
    "Labelled",
    "accuracy",
    "auc",
    "balanced_accuracy",
    "brier",
    "class_scores",
    "compare",
    "count_repeated",
    "coverage",
    "curves",
    "decide",
    "ece",
    "entropy_ratio",
    "f1",
    "fit_reference",
    "gains",
    "gather",
    "gaussian_nll",
    "lead",
    "mae",
    "metrics",
    "names_to_compare",
    "nll",
    "nmse",
    "per_task",
    "perfect_ece",
    "r2",
    "real_scores",
    "rmse",
    "structure_worth_of",
    "unseen_class_scores",
]
