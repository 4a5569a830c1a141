"""A model whose prior of z looks at the training rows must have been given them."""

from __future__ import annotations

import pytest

from helpers.toys import SMALL, build, toy
from vmtl import METHODS
from vmtl.inference.variational.training import Trainer


@pytest.mark.parametrize("method", METHODS)
def test_training_without_the_rows_is_an_error(method: str) -> None:
    rows = toy([6, 6, 6], classes=3).rows()
    model = build(method, rows, SMALL.with_options(max_steps=1))
    model.detach_rows()
    if model.method.prior_z is None:
        Trainer(model, rows, seed=0).run()
    else:
        with pytest.raises(RuntimeError, match=r"no training rows.*call attach"):
            Trainer(model, rows, seed=0).run()
