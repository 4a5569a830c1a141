"""Predictions on labelled rows, and what is read off them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers.report_models import Case
from vmtl.evaluation import ece, perfect_ece


def test_evidence_agrees_with_the_estimator(class_case: Case, real_case: Case) -> None:
    for case in (class_case, real_case):
        actual = [case.evidence.score(case.evidence.rows(t)).value for t in case.evidence.present]
        if case.evidence.p is not None:
            expected = case.model.score_tasks(case.test.X, case.test.y, tasks=case.test.tasks)
        else:
            error = case.model.predict(case.test.X, tasks=case.test.tasks) - case.test.y
            expected = pd.Series(error**2).groupby(pd.Series(case.test.tasks)).mean() ** 0.5
        np.testing.assert_allclose(actual, expected, rtol=1e-5)  # far from 0, of predictions in float32
    assert class_case.evidence.scores(np.arange(150))["ece"] == ece(
        class_case.evidence.y,
        class_case.evidence.p,  # type: ignore[arg-type]
    )


def test_a_perfect_model_has_a_calibration_error_that_shrinks_with_rows() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 4000)
    labels = np.array([rng.choice(3, p=row) for row in p])
    assert perfect_ece(p) == perfect_ece(p)
    assert perfect_ece(p) == pytest.approx(ece(labels, p), abs=0.01)
    assert perfect_ece(p[:25]) > 5 * perfect_ece(p)
