"""The data sets that suites name: where they are, what stands in for them, and what a job sees of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.paper.run.data import (
    DATASETS,
    SMOKE_ROWS,
    deal_tasks,
    find_file,
    get_dataset,
    missing_data,
    prepare,
    stand_in,
)
from benchmarks.paper.run.job import Job
from vmtl.data.splits import random_split
from vmtl.datasets import load_digits_domains

JOB = Job("digits-domains", 5.0, "bmtl", 0)


def test_a_file_is_looked_for_in_the_folder_and_in_its_data(tmp_path: Path) -> None:
    entry = get_dataset("school")
    assert find_file(entry, tmp_path) is None
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "school.npz").touch()
    assert find_file(entry, tmp_path) == tmp_path / "data" / "school.npz"


def test_what_is_missing_is_said() -> None:
    assert missing_data(JOB, None, None) is None
    assert "No --data folder has no school" in str(missing_data(replace(JOB, data="school"), None, None))
    with pytest.raises(FileNotFoundError, match=r"put school\.npz there, or run with --smoke"):
        prepare(replace(JOB, data="school"), None, None)
    with pytest.raises(ValueError, match="Unknown data set 'schools'"):
        get_dataset("schools")


@pytest.mark.parametrize("name", DATASETS)
def test_a_stand_in_has_the_shape_of_its_set_cut_down(name: str) -> None:
    entry, problem = DATASETS[name], stand_in(DATASETS[name])
    tasks, classes, columns = entry.shape
    assert (problem.n_tasks, problem.n_classes) == (min(tasks, 6), min(classes, 6))
    assert problem.X.shape == (problem.n_tasks * SMOKE_ROWS, min(columns, 32))
    np.testing.assert_array_equal(problem.X, stand_in(entry).X)


def test_a_smoke_run_has_a_few_rows_of_every_task() -> None:
    prepared = prepare(replace(JOB, smoke=True), None, None)
    for side in (prepared.train, prepared.test):
        counts = np.bincount(side.task, minlength=side.n_tasks)
        assert 0 < counts.min() <= counts.max() <= SMOKE_ROWS


def test_the_digest_tells_training_rows_apart() -> None:
    digests = [prepare(replace(JOB, seed=seed), None, None).origin["train_digest"] for seed in (0, 0, 1)]
    assert digests[0] == digests[1] != digests[2]


def test_dealt_tasks_keep_the_rows_of_every_class_and_task_on_both_sides() -> None:
    problem = load_digits_domains()
    split = random_split(problem, 0.1, 0)
    dealt = deal_tasks(problem, split, 0)
    assert np.mean(dealt.task != problem.task) > 0.5
    np.testing.assert_array_equal(dealt.y, problem.y)
    for side in (split.train, split.test):
        before, after = ((p.task * p.n_classes + p.y)[side] for p in (problem, dealt))
        np.testing.assert_array_equal(np.bincount(before), np.bincount(after))
    np.testing.assert_array_equal(dealt.task, deal_tasks(problem, split, 0).task)
