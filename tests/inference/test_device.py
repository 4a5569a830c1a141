"""What runs on another device stays there: on ``meta``, which has shapes and no numbers, other tensors are errors.

No GPU runs these tests. What a fit computes on its device is below; the rest of it is on the processor, by ``cpu()``.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest

from helpers.toys import SMALL, build, toy
from vmtl.data.rows import Rows
from vmtl.inference.features.candidate_kernels import CANDIDATES, evaluate_kernels
from vmtl.inference.features.maps import _moments
from vmtl.inference.features.views import Views
from vmtl.model.logits import logit_moments


def elsewhere(rows: Rows) -> Rows:
    moved = {name: getattr(rows, name).to("meta") for name in ("x", "y", "task", "weight")}
    return replace(rows, **moved)


def test_kernels_are_evaluated_where_the_rows_are() -> None:
    rows = toy([12, 9], classes=2).rows()
    views = Views.learn(rows.x, rows.weight / rows.weight.sum(), standardise=True).to("meta")
    x = rows.x.to("meta")[None]  # (1, n, D)
    kernels = evaluate_kernels(lambda number: (views(number, x), views(number, x)[0]), range(len(CANDIDATES)))
    assert {kernel.device.type for kernel in kernels} == {"meta"}
    assert {tuple(kernel.shape) for kernel in kernels} == {(1, 21, 21)}


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_outputs_and_their_sums_are_made_where_the_rows_are(classes: int) -> None:
    rows = toy([12, 9], classes=classes).rows()
    model = build("vmtl", rows, replace(SMALL, encoder="linear"))
    far, moved = elsewhere(rows), deepcopy(model).to("meta")
    moments = logit_moments(moved.encoder(far.x[:, None], far.task), moved.q_w().at(far.task))
    assert moments.mean.device.type == moments.variance.device.type == "meta"
    assert moments.mean.shape == (21, 1, rows.n_classes)
    assert {value.device.type for value in _moments(far)} == {"meta"}
