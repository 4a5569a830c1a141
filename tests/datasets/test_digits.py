"""The embedded digits: disjoint images, even classes, and a gap between pooled and separate training."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vmtl.data.splits import random_split
from vmtl.datasets import load_digits_domains, load_rotated_digits

Reference = Callable[..., dict[str, float]]


def test_domains_share_classes_and_no_image() -> None:
    problem = load_digits_domains()
    assert problem.X.shape == (1797, 64)
    assert problem.X.dtype == np.float32
    assert problem.task_names == ("tilt_0", "tilt_20", "tilt_40", "tilt_60")
    assert problem.paths is not None
    assert len(set(problem.paths)) == 1797
    for t in range(4):
        assert np.bincount(problem.y[problem.task == t], minlength=10).min() >= 40


def test_neither_pooled_nor_separate_training_is_best(reference: Reference) -> None:
    problem = load_digits_domains()
    rows = [reference(problem, random_split(problem, 0.05, seed), C=1.0) for seed in range(6)]
    mean = {name: np.mean([row[name] for row in rows]) for name in rows[0]}
    assert mean["augmented"] > mean["pooled"] + 1.5
    assert mean["augmented"] > mean["per task"] + 1.5


def test_the_seed_deals_the_images() -> None:
    first, again, other = (load_digits_domains(seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.task, other.task)


def test_rotated_digits_show_each_image_once_at_every_angle() -> None:
    problem = load_rotated_digits()
    assert problem.n_rows == 1797
    assert not problem.is_classification
    assert sorted(set(problem.y)) == list(range(0, 91, 10))
    for t in range(10):
        assert np.unique(problem.y[problem.task == t], return_counts=True)[1].min() >= 16


def test_all_rotations_of_an_image_stay_on_one_side() -> None:
    problem = load_rotated_digits(all_angles=True)
    assert problem.n_rows == 17970
    split = random_split(problem, 0.1, 0)
    assert problem.groups is not None
    assert not set(problem.groups[split.train]) & set(problem.groups[split.test])
    upright = problem.X[problem.y == 0][0].reshape(8, 8)
    turned = problem.X[problem.y == 90][0].reshape(8, 8)
    np.testing.assert_allclose(turned, np.rot90(upright), atol=1e-6)
