"""RESULTS.md: who wins where."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.paper.results.show import results_markdown, write_figures
from benchmarks.paper.run.suite import Suite
from helpers.golden_suite import invented_records


def test_results_say_who_wins(suite: Suite) -> None:
    page = results_markdown([suite], invented_records(suite), "python -m benchmarks.paper show")
    assert "ahead in 1, even in 0, behind in 0" in page
    assert "0:09 of CPU time" not in page
    assert "from 30 records" in page


def test_figures_stand_before_the_tables_of_their_suite(suite: Suite, tmp_path: Path) -> None:
    records = invented_records(suite)
    for record in records.values():
        record["extras"] = {"attack": {"levels": [0, 0.1], "accuracy": {"a": [0.9, 0.1]}}}
    attack = replace(suite, layout="attack", name="attack")
    files = write_figures([suite, attack], records, tmp_path)
    assert files == {"attack": [tmp_path / "attack-1.svg"]}
    assert files["attack"][0].read_text().startswith("<svg")
    page = results_markdown([attack], records, "python -m benchmarks.paper show", {"attack": ["figures/attack-1.svg"]})
    assert f"## {suite.title}\n\n![{suite.title}](figures/attack-1.svg)\n\n###" in page


def test_a_variant_of_vmtl_is_nobody_who_wins(suite: Suite) -> None:
    records = invented_records(suite)
    ablation = replace(suite, jobs=tuple(replace(job, variant="z deterministic") for job in suite.jobs))
    assert "## Who wins" in results_markdown([suite], records, "python -m benchmarks.paper show")
    assert "## Who wins" not in results_markdown([ablation], records, "python -m benchmarks.paper show")
