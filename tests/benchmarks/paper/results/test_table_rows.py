"""Records of a suite, grouped into the rows of its tables."""

from __future__ import annotations

import math
from dataclasses import replace

from benchmarks.paper.results.table_rows import best_row, collect_rows, find_paper, settings_of
from benchmarks.paper.run.suite import Suite
from helpers.golden_suite import invented_records


def test_runs_of_a_row_differ_by_seed_only(suite: Suite) -> None:
    rows = collect_rows(suite, invented_records(suite))
    assert all(sorted(row.runs) == [0, 1, 2] and row.n_wanted == 3 for row in rows)
    assert len({row.key for row in rows}) == len(rows)
    assert settings_of(rows) == [("office-caltech", "paper", 5.0)]


def test_jobs_without_a_record_are_wanted_only(suite: Suite) -> None:
    rows = collect_rows(suite, {})
    assert all(not row.runs and row.n_wanted == 3 for row in rows)
    assert best_row(rows, "accuracy") is None
    assert math.isnan(rows[0].cost("fit_seconds"))


def test_the_best_row_has_the_highest_accuracy_and_the_least_error(suite: Suite) -> None:
    rows = [row for row in collect_rows(suite, invented_records(suite)) if row.key.selection != "oracle"]
    for metric in ("accuracy", "nll"):
        best = best_row(rows, metric)
        assert best is not None
        assert best.key.method == "default"
    assert [row.interval("accuracy").value > 0.9 for row in rows if row.key.method == "bmtl"] == [False]


def test_a_run_that_diverged_has_no_score_and_no_extras(suite: Suite) -> None:
    records = invented_records(suite)
    broken = suite.jobs[0].id
    record = {**records[broken], "status": "diverged", "tasks": {}, "average": {}}
    del record["extras"]
    row = collect_rows(suite, {**records, broken: record})[0]
    assert row.diverged == 1
    assert len(row.values("accuracy")) == 2
    assert row.extras("history") == []


def test_the_papers_row_is_that_of_the_same_method_and_metric(suite: Suite) -> None:
    keys = {row.key.method: row.key for row in collect_rows(suite, {})}
    paper = find_paper(suite, keys["vmtl"], "accuracy")
    assert paper is not None
    assert paper.mean["amazon"] == 93.7
    assert find_paper(suite, keys["bmtl"], "accuracy") is None
    assert find_paper(suite, keys["vmtl"], "nll") is None
    assert find_paper(suite, replace(keys["vmtl"], fraction=10.0), "accuracy") is None
