"""Scores by their names, task by task."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, mean_absolute_error, roc_auc_score

from helpers.report_models import Case
from vmtl.estimators.metrics.metric_names import CLASS_METRICS, REAL_METRICS


def test_every_metric_has_a_score_per_task(class_case: Case, real_case: Case) -> None:
    for case, known in ((class_case, CLASS_METRICS), (real_case, REAL_METRICS)):
        for name in known:
            scores = case.model.score_tasks(case.test.X, case.test.y, tasks=case.test.tasks, metric=name)
            assert list(scores.index) == ["north", "south", "west"]
            assert np.isfinite(scores).all()
            assert scores.name == name


def test_scores_are_those_of_scikit_learn(class_case: Case, real_case: Case) -> None:
    test, rows = class_case.test, class_case.test.tasks == "south"
    p = class_case.model.predict_proba(test.X[rows], tasks=test.tasks[rows])

    def score_of_south(case: Case, metric: str) -> float:
        return float(case.model.score_tasks(case.test.X, case.test.y, tasks=case.test.tasks, metric=metric)["south"])

    labels = class_case.model.predict(test.X[rows], tasks=test.tasks[rows])
    p = p.astype(float) / p.sum(axis=1, keepdims=True, dtype=float)
    auc = roc_auc_score(test.y[rows], p, multi_class="ovr")
    assert score_of_south(class_case, "auc") == pytest.approx(
        auc, abs=1e-3
    )  # other rows in a part may swap two of a rank
    assert score_of_south(class_case, "balanced_accuracy") == pytest.approx(
        balanced_accuracy_score(test.y[rows], labels)
    )
    brier = brier_score_loss(test.y[rows], p, labels=class_case.model.classes_, scale_by_half=False)
    assert score_of_south(class_case, "brier") == pytest.approx(brier, abs=1e-6)  # float32 probabilities
    rows = real_case.test.tasks == "south"
    mean = real_case.model.predict(real_case.test.X[rows], tasks=real_case.test.tasks[rows])
    error = mean_absolute_error(real_case.test.y[rows], mean)
    assert score_of_south(real_case, "mae") == pytest.approx(error, rel=3e-4)  # other rows in a part round otherwise


def test_a_task_of_one_class_has_no_auc_and_the_mean_leaves_it_out(class_case: Case) -> None:
    test = class_case.test
    rows = (test.tasks != "west") | (test.y == "low")
    X, y, tasks = test.X[rows], test.y[rows], test.tasks[rows]
    scores = class_case.model.score_tasks(X, y, tasks=tasks, metric="auc")
    assert np.isnan(scores["west"])
    assert scores.mean() == pytest.approx((scores["north"] + scores["south"]) / 2)


def test_an_unknown_metric_or_class_is_one_sentence(class_case: Case, real_case: Case) -> None:
    test = class_case.test
    with pytest.raises(ValueError, match=r"no metric 'acuracy' \(did you mean 'accuracy'\?\); choose one of acc"):
        class_case.model.score_tasks(test.X, test.y, tasks=test.tasks, metric="acuracy")
    with pytest.raises(ValueError, match="no metric 'auc'; choose one of r2, mae"):
        real_case.model.score_tasks(test.X, real_case.test.y, tasks=test.tasks, metric="auc")
    with pytest.raises(ValueError, match="class 'lowest', which the model never saw; it knows 'low', 'mid', 'top'"):
        class_case.model.score_tasks(test.X, np.full(150, "lowest"), tasks=test.tasks, metric="auc")
    wrong = class_case.model.score_tasks(test.X, np.full(150, "lowest"), tasks=test.tasks)
    assert (wrong == 0).all()
