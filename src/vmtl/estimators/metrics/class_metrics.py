"""What predicted classes are worth: accuracy, ranks and calibration, for all rows or task by task.

Symbols: y (n,) class numbers 0 to C - 1; p (n, C) probabilities; task (n,) task numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import entropy, hmean
from sklearn.metrics import (
    accuracy_score,
    f1_score,
    log_loss,
    recall_score,
    roc_auc_score,
)

from vmtl._utils.types import Array

#: Bins of equal width in which confidence and accuracy are compared.
ECE_BINS = 15


def accuracy(y: Array, p: Array) -> float:
    """Share of rows whose most probable class is the true one.

    Parameters
    ----------
    y, p : arrays of shape (n,) and (n, C)
        Class numbers from 0 to C - 1, and the probabilities of the classes.
    """
    return float(accuracy_score(y, p.argmax(axis=1)))


def balanced_accuracy(y: Array, p: Array) -> float:
    """The share of right rows of every class that has rows, averaged over classes; nan with one class only.

    Parameters
    ----------
    y, p : arrays of shape (n,) and (n, C)
        Class numbers from 0 to C - 1, and the probabilities of the classes.
    """
    there = np.unique(y)
    if len(there) < 2:
        return float("nan")
    return float(recall_score(y, p.argmax(axis=1), labels=there, average="macro", zero_division=0.0))


def auc(y: Array, p: Array) -> float:
    """Area under the ROC curve: how often a row of a class has a higher probability of it than another row.

    With more than two classes it is the mean over the classes that have rows, each against all others; nan with one
    class only.

    Parameters
    ----------
    y, p : arrays of shape (n,) and (n, C)
        Class numbers from 0 to C - 1, and the probabilities of the classes.
    """
    there = np.unique(y)
    if len(there) < 2:
        return float("nan")
    return float(np.mean([roc_auc_score(y == c, p[:, c]) for c in (there if p.shape[1] > 2 else there[1:])]))


def f1(y: Array, p: Array, positive: int = 1) -> float:
    """Harmonic mean of precision and recall, for the positive one of two classes, or averaged over all that have rows.

    nan where the positive class has no rows, or only one of several classes has.

    Parameters
    ----------
    y, p : arrays of shape (n,) and (n, C)
        Class numbers from 0 to C - 1, and the probabilities of the classes.
    positive : int, default=1
        Which of two classes is the event.
    """
    there, top = np.unique(y), p.argmax(axis=1)
    if p.shape[1] == 2:
        return float(f1_score(y == positive, top == positive, zero_division=0.0)) if positive in there else float("nan")
    return float(f1_score(y, top, labels=there, average="macro", zero_division=0.0)) if len(there) > 1 else float("nan")


def nll(y: Array, p: Array) -> float:
    """-mean log p[n, y_n] in nats; a probability of 0 counts as the smallest one of its number type.

    Parameters
    ----------
    y, p : arrays of shape (n,) and (n, C)
        Class numbers from 0 to C - 1, and the probabilities of the classes.
    """
    return float(log_loss(y, _normalised(p), labels=np.arange(p.shape[1])))


def brier(y: Array, p: Array) -> float:
    """mean over rows of sum_c (p_nc - [y_n = c])^2, from 0 to 2.

    Parameters
    ----------
    y, p : arrays of shape (n,) and (n, C)
        Class numbers from 0 to C - 1, and the probabilities of the classes.
    """
    truth = np.eye(p.shape[1])[y]
    return float(np.square(p - truth).sum(axis=1).mean())


def ece(y: Array, p: Array, n_bins: int = ECE_BINS) -> float:
    """Expected calibration error: sum_b n_b / n |accuracy_b - confidence_b| over bins of the top probability.

    Parameters
    ----------
    y, p : arrays of shape (n,) and (n, C)
        Class numbers from 0 to C - 1, and the probabilities of the classes.
    n_bins : int, default=15
        Bins of equal width.
    """
    confidence, right = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    gap = np.bincount(bins, weights=right - confidence, minlength=n_bins)
    return float(np.abs(gap).sum() / len(y))


def entropy_ratio(y: Array, p: Array) -> float:
    """Mean entropy of wrong predictions over that of right ones; nan where one of the two has no rows.

    Parameters
    ----------
    y, p : arrays of shape (n,) and (n, C)
        Class numbers from 0 to C - 1, and the probabilities of the classes.
    """
    h, right = entropy(p, axis=1), p.argmax(axis=1) == y
    if right.all() or not right.any():
        return float("nan")
    certain = h[right].mean()
    return float(h[~right].mean() / certain) if certain > 0 else float("nan")


def unseen_class_scores(y: Array, p: Array, seen: Array) -> dict[str, float]:
    """Accuracy on classes with training rows in this task, on those without, and their harmonic mean.

    Parameters
    ----------
    y, p : arrays of shape (n,) and (n, C)
        Class numbers from 0 to C - 1, and the probabilities of the classes.
    seen : array of shape (C,)
        True for the classes that the task's training rows have.
    """
    known = np.asarray(seen, dtype=bool)[y]
    if known.all() or not known.any():
        return {}
    scores = accuracy(y[known], p[known]), accuracy(y[~known], p[~known])
    both = float(hmean(scores)) if min(scores) > 0 else 0.0
    return {"accuracy_seen": scores[0], "accuracy_unseen": scores[1], "accuracy_harmonic": both}


def class_scores(y: Array, p: Array, seen: Array | None = None) -> dict[str, float]:
    """Every score of one task of a classification problem.

    Parameters
    ----------
    y, p : arrays of shape (n,) and (n, C)
        Class numbers from 0 to C - 1, and the probabilities of the classes.
    seen : array of shape (C,), default=None
        True for the classes that the task's training rows have; None skips their scores.
    """
    functions: tuple[Callable[[Array, Array], float], ...] = (accuracy, nll, brier, ece, entropy_ratio)
    scores = {function.__name__: function(y, p) for function in functions}
    return scores if seen is None else {**scores, **unseen_class_scores(y, p, seen)}


def per_task(task: Array, n_tasks: int, score: Callable[[Array], dict[str, float]]) -> list[dict[str, float]]:
    """``score(rows)`` of every task, where rows are its row numbers; an empty dict where it has none.

    Parameters
    ----------
    task : array of shape (n,)
        The task number of each row.
    n_tasks : int
        T, the number of tasks.
    score : callable
        Row numbers to scores.
    """
    rows = [np.flatnonzero(task == t) for t in range(n_tasks)]
    return [score(task_rows) if len(task_rows) else {} for task_rows in rows]


def _normalised(p: Array) -> Array:
    wide = np.asarray(p, dtype=np.float64)
    unit: Array = wide / wide.sum(axis=1, keepdims=True)
    return unit
