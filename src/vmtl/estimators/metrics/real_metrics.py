"""What predicted numbers are worth: error and honesty, for the rows that are given.

Symbols: y (n,) real targets; mean, std (n,) the prediction and its deviation.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score, root_mean_squared_error

from vmtl._utils.types import Array

#: The central interval whose coverage is scored.
COVERAGE = 0.9


def rmse(y: Array, mean: Array) -> float:
    """sqrt(mean (y - mean)^2), in the unit of y.

    Parameters
    ----------
    y, mean : arrays of shape (n,)
        Real targets and predicted means.
    """
    return float(root_mean_squared_error(y, mean))


def nmse(y: Array, mean: Array) -> float:
    """MSE / variance of y: 1 is as good as the mean of the test targets; nan where y does not vary.

    Parameters
    ----------
    y, mean : arrays of shape (n,)
        Real targets and predicted means.
    """
    variance = float(np.var(y))
    return float(mean_squared_error(y, mean)) / variance if variance > 0 else float("nan")


def r2(y: Array, mean: Array) -> float:
    """1 - squared error / that of the mean of y: the share of the variance explained; nan where y does not vary.

    Parameters
    ----------
    y, mean : arrays of shape (n,)
        Real targets and predicted means.
    """
    return float(r2_score(y, mean)) if len(y) > 1 and np.ptp(y) > 0 else float("nan")


def mae(y: Array, mean: Array) -> float:
    """mean |y - mean|, in the unit of y.

    Parameters
    ----------
    y, mean : arrays of shape (n,)
        Real targets and predicted means.
    """
    return float(mean_absolute_error(y, mean))


def coverage(y: Array, mean: Array, std: Array, level: float = COVERAGE) -> float:
    """Share of targets inside the central interval of N(mean, std^2) that should hold ``level`` of them.

    Parameters
    ----------
    y, mean, std : arrays of shape (n,)
        Real targets, predicted means, and predicted standard deviations.
    level : float, default=0.9
        The probability of the interval.
    """
    return float(np.mean(np.abs(y - mean) <= norm.ppf((1 + level) / 2) * std))


def gaussian_nll(y: Array, mean: Array, std: Array) -> float:
    """-mean log N(y; mean, std^2), in the unit of y.

    Parameters
    ----------
    y, mean, std : arrays of shape (n,)
        Real targets, predicted means, and predicted standard deviations.
    """
    return float(-norm.logpdf(y, mean, std).mean())


def real_scores(y: Array, mean: Array, std: Array) -> dict[str, float]:
    """Every score of one task of a regression problem.

    Parameters
    ----------
    y, mean, std : arrays of shape (n,)
        Real targets, predicted means, and predicted standard deviations.
    """
    return {"rmse": rmse(y, mean), "nmse": nmse(y, mean), "nll": gaussian_nll(y, mean, std)}
