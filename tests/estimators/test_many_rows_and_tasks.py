"""Thousands of tasks, and thousands of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils.types import Array
from vmtl.inference.exact import weight_prior

RNG = np.random.default_rng(0)
#: 1,200 tasks of five rows with a common rule, and levels of their own.
MANY_TASKS = np.repeat(np.arange(1200), 5)
MANY_X = RNG.normal(size=(6000, 4))
MANY_Y = MANY_X[:, 0] - MANY_X[:, 1] + 0.5 * RNG.normal(size=1200)[MANY_TASKS] + 0.5 * RNG.normal(size=6000)

#: More than scales are inferred on, so that a table of all pairs and iterations are both possible.
N_ROWS = weight_prior.MAX_ROWS + 200


@pytest.mark.usefixtures("quick_inference")
@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
def test_a_thousand_tasks_are_alike_and_survive_a_file(
    kind: type[MultiTaskClassifier | MultiTaskRegressor], tmp_path: Path
) -> None:
    is_classifier = kind is MultiTaskClassifier
    y = (MANY_Y > 0).astype(int) if is_classifier else MANY_Y
    model = kind(latent_dim=16, random_state=0).fit(MANY_X, y, tasks=MANY_TASKS)
    alpha = model.alpha_.to_numpy()
    assert alpha.shape == (1200, 1200)
    off = ~np.eye(1200, dtype=bool)
    np.testing.assert_allclose(alpha[off], 1 / 1199, atol=1e-7)
    assert (alpha[~off] == 0).all()
    assert model.score(MANY_X, y, tasks=MANY_TASKS) > (0.8 if is_classifier else 0.7)
    model.save(tmp_path / "model.vmtl")
    assert (tmp_path / "model.vmtl").stat().st_size < 2e6  # no table of pairs: 1,200^2 numbers would be 5.8 MB
    again = kind.load(tmp_path / "model.vmtl")
    found, expected = (m.uncertainty(MANY_X[:50], tasks=MANY_TASKS[:50]) for m in (again, model))
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def many_rows(classes: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(1)
    x, task = rng.normal(size=(N_ROWS, 5)), np.arange(N_ROWS) % 4
    w = rng.normal(size=(5, max(1, classes))) + 0.5 * rng.normal(size=(4, 5, max(1, classes)))
    signal = np.einsum("nk,nkc->nc", x, w[task])
    if classes:
        return x, task, (signal + rng.gumbel(size=signal.shape)).argmax(1)
    return x, task, signal[:, 0] + rng.normal(size=N_ROWS)


@pytest.mark.parametrize("classes", [0, 2])
def test_many_rows_are_iterated_to_what_a_table_of_all_pairs_gives(
    classes: int, quick_inference: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Probabilities to 0.005, targets to 0.01 of their deviation: the iterations end at a slope of 1e-3."""
    x, task, y = many_rows(classes)
    asked = []
    iterate = weight_prior.solve_iteratively
    monkeypatch.setattr(weight_prior, "solve_iteratively", lambda *rest: asked.append(1) or iterate(*rest))
    kind = MultiTaskClassifier if classes else MultiTaskRegressor
    monkeypatch.setattr(weight_prior, "MAX_DUAL_ROWS", N_ROWS - 1)
    found = kind(random_state=0).fit(x, y, tasks=task)
    assert asked == [1]
    monkeypatch.setattr(weight_prior, "MAX_DUAL_ROWS", N_ROWS)
    expected = kind(random_state=0).fit(x, y, tasks=task)
    assert asked == [1]
    new, of = x[:300], task[:300]
    if isinstance(found, MultiTaskClassifier) and isinstance(expected, MultiTaskClassifier):
        one, two = (model.predict_proba(new, tasks=of) for model in (found, expected))
        np.testing.assert_allclose(one, two, rtol=0, atol=0.005)
    else:
        one, two = (model.predict(new, tasks=of) for model in (found, expected))
        np.testing.assert_allclose(one, two, rtol=0, atol=0.01 * y.std())
