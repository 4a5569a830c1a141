"""Problems that only benchmarks use."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.paper.run.domains import draw_task_groups, load_mnist_domains


def test_without_the_adversary_all_other_rows_stay_the_same() -> None:
    whole, whole_split = draw_task_groups(Path(), 0.0, seed=3)
    part, split = draw_task_groups(Path(), 0.0, seed=3, with_adversary=False)
    assert set(whole.task_names) - set(part.task_names) == {"adversarial_1"}
    kept = whole.tasks != "adversarial_1"
    np.testing.assert_array_equal(part.X, whole.X[kept])
    np.testing.assert_array_equal(part.tasks, whole.tasks[kept])
    np.testing.assert_array_equal(
        np.isin(np.arange(part.n_rows), split.train), np.isin(np.flatnonzero(kept), whole_split.train)
    )


def test_mnist_domains_have_every_image_once(real_data: Path) -> None:
    problem = load_mnist_domains(real_data / "data" / "mnist")
    assert problem.paths is not None
    assert len(set(problem.paths)) == problem.n_rows == 8000
    assert np.bincount(problem.task).tolist() == [2000] * 4
    assert problem.n_classes == 10
