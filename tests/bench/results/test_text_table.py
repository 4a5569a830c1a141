"""Tables are a pure function of records: a stored page, and what it has to say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goals import measure_goals
from vmtl.bench.results.layouts import suite_tables
from vmtl.bench.results.show import results_markdown
from vmtl.bench.results.text_table import Table, to_html, to_markdown
from vmtl.bench.run.records import Record
from vmtl.bench.run.suite import Suite, load_suites

GOLDEN = Path(__file__).with_name("golden_table.md")
SUITE = """
title = "Golden"
notes = ["The paper: a note on all rows."]
[[paper]]
data = "office-caltech"
fraction = 5
method = "vmtl"
mean = { amazon = 93.7, average = 93.8 }
ci95 = { average = 0.1 }
notes = ["its average is odd."]
[[run]]
data = "office-caltech"
fractions = [5]
split = "paper"
methods = ["bmtl", "vmtl"]
references = ["linear"]
seeds = 3
[[run]]
data = "office-caltech"
fractions = [5]
split = "paper"
methods = ["vmtl"]
selection = "oracle"
seeds = 3
"""
LEVEL = {"bmtl": 0.80, "vmtl": 0.95, "per_task_linear": 0.90, "pooled_linear": 0.93, "augmented_linear": 0.94}


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    (tmp_path / "golden.toml").write_text(SUITE)
    return load_suites(tmp_path / "golden.toml")[0]


def made_up(suite: Suite) -> dict[str, Record]:
    """Records with invented numbers, a function of the jobs alone."""
    records = {}
    for job in suite.jobs:
        base = LEVEL[job.method] + (0.02 if job.selection == "oracle" else 0)
        tasks = {
            name: {
                "accuracy": base + shift + 0.001 * job.seed,
                "nll": 1 - base,
                "ece": 0.03,
                "n_train": 20,
                "n_test": 500,
            }
            for name, shift in (("amazon", 0.01), ("webcam", -0.01))
        }
        average = {key: float(np.mean([t[key] for t in tasks.values()])) for key in ("accuracy", "nll", "ece")}
        records[job.id] = {
            "id": job.id,
            "job": job.arguments(),
            "status": "done",
            "data": {"file": "features.npz", "n_features": 8, "n_train": 40, "n_test": 1000},
            "versions": {"vmtl": "0"},
            "tasks": tasks,
            "average": average,
            "extras": {},
            "cost": {"fit_seconds": 2.0, "seconds": 3.0, "cpu_seconds": 3.0, "peak_mb": 300.0},
            "host": {"platform": "somewhere", "machine": "some"},
        }
    return records


def test_the_main_table_is_the_stored_one(suite: Suite) -> None:
    assert to_markdown(suite_tables(suite, made_up(suite))) == GOLDEN.read_text()


def test_the_order_of_records_does_not_matter(suite: Suite) -> None:
    records = made_up(suite)
    turned = dict(reversed(records.items()))
    assert suite_tables(suite, records) == suite_tables(suite, turned)


def test_oracle_numbers_stand_only_in_the_column_that_says_so(suite: Suite) -> None:
    table = suite_tables(suite, made_up(suite))[0]
    where = table.columns.index("oracle: chosen on test labels")
    for row in table.rows:
        assert all("97.1" not in cell for i, cell in enumerate(row) if i != where)
    assert "97.1" in {row[where].split()[0] for row in table.rows}


def test_negative_transfer_is_named(suite: Suite) -> None:
    notes = " ".join(suite_tables(suite, made_up(suite))[0].footnotes)
    assert "Negative transfer under BMTL" in notes
    assert "Negative transfer under VMTL" not in notes


def test_one_row_lost_is_negative_transfer_over_splits_but_not_on_one_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """VMTL loses one of 500 rows of each task in every run."""
    monkeypatch.setitem(LEVEL, "vmtl", LEVEL["per_task_linear"] - 0.002)
    for split, hurt in (("paper", 0), ("random", 2)):
        (tmp_path / "made.toml").write_text(SUITE.replace('split = "paper"', f'split = "{split}"'))
        suite = load_suites(tmp_path / "made.toml")[0]
        notes = " ".join(suite_tables(suite, made_up(suite))[0].footnotes)
        assert ("Negative transfer under VMTL [default]" in notes) == bool(hurt)
        goals = {goal.what: goal for goal in measure_goals([suite], made_up(suite))}
        assert goals["tasks with negative transfer, Holm-corrected"].value == hurt


def test_missing_jobs_are_counted(suite: Suite) -> None:
    records = dict(list(made_up(suite).items())[:-3])
    assert "3 jobs of this table have no record yet." in suite_tables(suite, records)[0].footnotes


def test_results_say_who_wins(suite: Suite) -> None:
    page = results_markdown([suite], made_up(suite), "vmtl bench show")
    assert "ahead in 1, even in 0, behind in 0" in page
    assert "0:09 of CPU time" not in page
    assert "from 27 records" in page


def test_goals_are_measured_from_records(suite: Suite) -> None:
    goals = {goal.what: goal for goal in measure_goals([suite], made_up(suite))}
    gain = goals["accuracy over the best linear row, mean over sets"]
    assert gain.value == pytest.approx(1.0)
    assert gain.reached is False
    assert goals["tasks with negative transfer, Holm-corrected"].value == 0
    assert goals["alpha inside the right group"].reached is None


def test_text_is_escaped_and_rows_must_fit() -> None:
    table = Table("a < b", ("x|y",), (("<script>",),))
    assert "<script>" not in to_html("t", [table])
    assert "x\\|y" in to_markdown([table])
    with pytest.raises(ValueError, match="2 cells for 1 columns"):
        Table("t", ("x",), (("1", "2"),))


def test_figures_are_drawn_from_records(suite: Suite, tmp_path: Path) -> None:
    from dataclasses import replace

    from vmtl.bench.results.figures import suite_figures

    records: dict[str, Any] = made_up(suite)
    for record in records.values():
        mixing = {"tasks": ["a", "b"], "alpha": [[0, 1], [1, 0]], "beta": [[0, 1], [1, 0]]}
        attack = {"levels": [0, 0.1], "accuracy": {"a": [0.9, 0.1], "b": [0.8, 0.2]}}
        record["extras"] = {"mixing": mixing, "attack": attack, "history": {"step": [0, 1], "nll": [2.0, 1.0]}}
    for layout in ("mixing", "attack", "history"):
        figures = suite_figures(replace(suite, layout=layout), records)
        assert figures
        assert all(figure.startswith("<svg") for figure in figures)
