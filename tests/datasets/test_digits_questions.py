"""Two questions about digits."""

from __future__ import annotations

import numpy as np

from vmtl.datasets import load_digits_domains, load_digits_questions


def test_two_questions_contradict_each_other_and_their_tilts_do_not() -> None:
    problem, digit = load_digits_questions(), load_digits_domains().y
    assert problem.task_names == ("odd_0", "large_0", "odd_20", "large_20", "odd_40", "large_40")
    odd = problem.task % 2 == 0
    np.testing.assert_array_equal(problem.y[odd], digit[odd] % 2)
    np.testing.assert_array_equal(problem.y[~odd], digit[~odd] >= 5)
    assert np.ptp(np.bincount(problem.task)) < 30
