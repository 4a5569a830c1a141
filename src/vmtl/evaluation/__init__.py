"""What predictions are worth: scores, intervals, and the same rows learned in other ways."""

from vmtl.estimators.metrics.class_metrics import (
    accuracy,
    auc,
    balanced_accuracy,
    brier,
    class_scores,
    ece,
    entropy_ratio,
    f1,
    nll,
    per_task,
    unseen_class_scores,
)
from vmtl.estimators.metrics.real_metrics import coverage, gaussian_nll, mae, nmse, r2, real_scores, rmse
from vmtl.evaluation.comparison import Gain, Labelled, compare, count_repeated, gains, lead, names_to_compare
from vmtl.evaluation.decisions import Costs, Decision, curves, decide
from vmtl.evaluation.importance import Importance, column_importance
from vmtl.evaluation.intervals import Interval
from vmtl.evaluation.references import REFERENCES, fit_reference
from vmtl.evaluation.scored_predictions import Evidence, gather, perfect_ece

__all__ = [
    "REFERENCES",
    "Costs",
    "Decision",
    "Evidence",
    "Gain",
    "Importance",
    "Interval",
    "Labelled",
    "accuracy",
    "auc",
    "balanced_accuracy",
    "brier",
    "class_scores",
    "column_importance",
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
    "names_to_compare",
    "nll",
    "nmse",
    "per_task",
    "perfect_ece",
    "r2",
    "real_scores",
    "rmse",
    "unseen_class_scores",
]
