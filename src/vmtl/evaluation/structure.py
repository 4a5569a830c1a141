"""What the structure that a model found among its tasks is worth to its training rows."""

from __future__ import annotations

import math

import numpy as np
import torch

from vmtl.data.duplicates import merge_duplicates
from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_rows
from vmtl.estimators.base import BaseTaskEstimator
from vmtl.evaluation.comparison import Labelled

#: Most training rows that are left out, one by one: each of four structures costs their cube.
LEFT_OUT_ROWS = 320


def structure_worth_of(model: BaseTaskEstimator, train: Labelled) -> dict[str, float] | None:
    """Nats per left-out training row with the inferred structure, with even weights, alone and pooled.

    At most 320 rows are looked at. None for a fit that inferred no structure: fewer than three tasks, another method or
    another preset.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    train : Labelled
        The rows it was fitted to.
    """
    from vmtl.inference.exact.output_prior import OutputPrior
    from vmtl.inference.exact.structure_worth import structure_worth
    from vmtl.inference.structure.mixing_weights import covariance_of

    inferred = model.hyperparameters_
    structure, scale, unit, level = inferred.structure, inferred.scale, inferred.unit, inferred.task_level
    covariance = None if structure is None else covariance_of(structure)
    if covariance is None or scale is None or unit is None or level is None or len(model.tasks_) < 3:
        return None
    rows = merge_duplicates(_feature_rows(model, train))
    rows = rows.take(subsample_rows(rows, LEFT_OUT_ROWS, model.seed_))
    prior = OutputPrior(covariance, scale / unit, level)
    worth = structure_worth(rows, prior, inferred.noise or 1.0)
    unit = 0.0 if rows.is_classification else math.log(model.y_scale_)
    return {name: loss + unit for name, loss in worth.items()}


def _feature_rows(model: BaseTaskEstimator, train: Labelled) -> Rows:
    """The features, targets and tasks that the exact model saw."""
    is_classification = hasattr(model, "classes_")
    place = {name: code for code, name in enumerate(model.tasks_.tolist())}
    task = torch.tensor([place[name] for name in train.tasks.tolist()])
    features = torch.as_tensor(model.transform(train.X, tasks=train.tasks)).double()
    if is_classification:
        y = torch.as_tensor(np.searchsorted(model.classes_, train.y))
    else:
        y = torch.as_tensor((np.asarray(train.y, dtype=np.float64) - model.y_mean_) / model.y_scale_)
    n_classes = len(model.classes_) if is_classification else 1
    return Rows(features, y, task, torch.ones(len(y)).double(), len(place), n_classes, is_classification)
