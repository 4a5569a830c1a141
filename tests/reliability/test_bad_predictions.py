"""Rows that cannot be predicted are an error, far away ones a number or an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers.bad_inputs import OPTIONS, with_value
from helpers.reliable import Toy, make_toy
from vmtl import MultiTaskClassifier


@pytest.fixture(scope="module")
def fitted() -> MultiTaskClassifier:
    toy = make_toy()
    return MultiTaskClassifier(**OPTIONS).fit(toy.X, toy.labels, tasks=toy.tasks)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda toy: (with_value(np.nan)(toy)["X"], toy.tasks), "NaN in column 2"),
        (lambda toy: (with_value(1e30)(toy)["X"], toy.tasks), "beyond"),
        (lambda toy: (toy.X[:, :4], toy.tasks), "4 features"),
        (lambda toy: (toy.X[:0], toy.tasks[:0]), "0 sample"),
        (lambda toy: (toy.X, None), "3 tasks; pass tasks"),
        (lambda toy: (toy.X, np.where(toy.tasks == "west", "east", "north")), "Unknown task 'east'"),
        (lambda toy: (toy.X, toy.tasks[:5]), "5 labels but X has 90"),
    ],
)
def test_predicting_what_cannot_be(fitted: MultiTaskClassifier, change: Any, error: str, toy: Toy) -> None:
    X, tasks = change(toy)
    for ask in (fitted.predict, fitted.predict_proba, fitted.uncertainty, fitted.transform):
        with pytest.raises(ValueError, match=error):
            ask(X, tasks=tasks)


def test_far_away_rows_are_a_number_or_an_error(fitted: MultiTaskClassifier, toy: Toy) -> None:
    """A unit confused by a factor of up to 1e15 gives probabilities, or says that it overflows."""
    for scale in 10.0 ** np.arange(0, 15):
        try:
            probabilities = fitted.predict_proba(toy.X * scale / 10, tasks=toy.tasks)
        except ValueError as error:
            if "overflows" not in str(error):
                raise
        else:
            assert np.isfinite(probabilities).all()
            np.testing.assert_allclose(probabilities.sum(1), 1, atol=1e-5)


def test_a_category_without_rows_is_no_error_at_prediction(fitted: MultiTaskClassifier, toy: Toy) -> None:
    some = pd.Series(pd.Categorical(["west"] * 5, categories=np.unique(toy.tasks)))
    assert len(fitted.predict(toy.X[:5], tasks=some)) == 5
