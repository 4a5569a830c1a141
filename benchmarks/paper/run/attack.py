"""The fast gradient sign method on input features, through the encoder and the classifier."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

from vmtl._utils.types import Array
from vmtl.data.problem import Problem
from vmtl.estimators import VMTLClassifier
from vmtl.paper.logits import affine

#: Rows whose gradient is computed at once.
BLOCK = 512


def input_gradient(estimator: VMTLClassifier, test: Problem) -> Array:
    """(n, D) gradient of each row's cross-entropy, at the posterior means, with respect to its input features."""
    model = estimator._fitted.model
    dtype = model.task_rows.dtype
    names = {name: t for t, name in enumerate(estimator.tasks_)}
    task = np.array([names[name] for name in test.tasks])
    label = np.searchsorted(estimator.classes_, test.labels)
    gradient = np.zeros((test.n_rows, test.X.shape[1]))
    mean_w = model.q_w().mean
    inputs = np.asarray(test.X, dtype=np.float64)
    for t in np.unique(task):
        task_rows = np.flatnonzero(task == t)
        for rows in np.array_split(task_rows, -(-len(task_rows) // BLOCK)):
            x = torch.as_tensor(inputs[rows], dtype=dtype)[None].requires_grad_()
            which = torch.tensor([int(t)])
            z = model.encoder(x, which).mean
            logits = affine(z, mean_w[which])
            loss = F.cross_entropy(logits[0], torch.as_tensor(label[rows]), reduction="sum")
            gradient[rows] = torch.autograd.grad(loss, x)[0][0].double().numpy()
    return gradient


def attacked(test: Problem, gradient: Array, level: float) -> Array:
    """x + level * s * sign(gradient), where s is the standard deviation of the test features over all entries.

    The unit s makes one list of levels serve features of any scale.
    """
    x = np.asarray(test.X, dtype=np.float64)
    moved: Array = (x + level * x.std() * np.sign(gradient)).astype(np.float32)
    return moved
