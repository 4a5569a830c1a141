"""How the tasks' losses become one: alike, or by learned uncertainty (Kendall et al.)."""

import math

import numpy as np
import pytest
import torch

from helpers.paper_models import SMALL, Quiet, build, full_batch_loss
from helpers.toys import toy
from vmtl.paper.method import Method
from vmtl.paper.objective import Objective
from vmtl.paper.task_weighting import EqualWeighting, UncertaintyWeighting


def test_kendall_by_hand() -> None:
    losses, share = torch.tensor([0.5, 2.0]), torch.tensor([0.25, 0.75])
    weighting = UncertaintyWeighting(2)
    weighting.log_variance.data = torch.tensor([math.log(0.5), math.log(3.0)])
    sigma = np.sqrt([0.5, 3.0])
    by_hand = 0.25 * (0.5 / sigma[0] ** 2 + np.log(sigma[0])) + 0.75 * (2.0 / sigma[1] ** 2 + np.log(sigma[1]))
    assert float(weighting(losses, share).detach()) == pytest.approx(by_hand)
    assert float(EqualWeighting(2)(losses, share)) == pytest.approx(0.25 * 0.5 + 0.75 * 2)


def test_kendall_classification_on_a_toy_by_hand() -> None:
    rows = toy([4, 6], classes=2).rows()
    ridge_on_features = Method(
        "Kendall, plain", "s", "r", encoder="fixed", prior_w="standard_normal", weighting="uncertainty"
    )
    model = build(ridge_on_features, rows, SMALL)
    model.weighting.log_variance.data = torch.tensor([0.3, -0.7], dtype=torch.float64)
    w = model.head.mean
    each = [w[t, :, :-1] @ x + w[t, :, -1] for t, x in zip(rows.task, rows.x, strict=True)]
    nll = torch.nn.functional.cross_entropy(torch.stack(each), rows.y, reduction="none")
    ridge = 0.5 * w.square().sum((1, 2)) / torch.tensor([4, 6])
    means = torch.stack([nll[rows.task == t].mean() for t in range(2)]) + ridge
    s = model.weighting.log_variance
    by_hand = (torch.tensor([0.4, 0.6]).double() * ((-s).exp() * means + s / 2)).sum()
    torch.testing.assert_close(full_batch_loss(Objective(model, rows), rows, Quiet()), by_hand, rtol=1e-6, atol=1e-8)
