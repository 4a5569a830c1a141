"""Figures of suites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.paper.run.suite import Suite
from helpers.golden_suite import invented_records


def test_figures_are_drawn_from_records(suite: Suite, tmp_path: Path) -> None:
    from dataclasses import replace

    from benchmarks.paper.results.figures import suite_figures

    records: dict[str, Any] = invented_records(suite)
    for record in records.values():
        mixing = {"tasks": ["a", "b"], "alpha": [[0, 1], [1, 0]], "beta": [[0, 1], [1, 0]]}
        attack = {"levels": [0, 0.1], "accuracy": {"a": [0.9, 0.1], "b": [0.8, 0.2]}}
        history = {"step": [0, 1], "loss": [2.0, 1.0], "kl_w": [3.0, 1.0]}
        record["extras"] = {"mixing": mixing, "attack": attack, "history": history}
    for layout in ("mixing", "attack", "history"):
        figures = suite_figures(replace(suite, layout=layout), records)
        assert figures
        assert all(figure.startswith("<svg") for figure in figures)
