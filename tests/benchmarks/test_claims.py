"""Verdicts on claims from records."""

from __future__ import annotations

from typing import Any

import pytest

from claims import CLAIMS, Claim, Row, judge, page


def record(method: str, seed: int, accuracy: float, **options: Any) -> dict[str, Any]:
    candidates = [{"preset": "paper", "max_steps": 1500, **options}]
    job = {"data": "set", "fraction": 5.0, "split": "paper", "method": method, "seed": seed, "candidates": candidates}
    return {"job": {**job, "smoke": False}, "preset": "paper", "status": "done", "average": {"accuracy": accuracy}}


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [([0.02, 0.03, 0.025], "confirmed"), ([-0.02, -0.03, -0.025], "refuted"), ([0.02, -0.03, 0.0], "undecided")],
)
def test_the_interval_of_the_paired_difference_decides(differences: list[float], verdict: str) -> None:
    level = (0.5, 0.7, 0.9)  # seeds differ far more than methods do
    records = [record("vmtl", s, level[s] + d) for s, d in enumerate(differences)]
    records += [record("stl", s, level[s]) for s in range(3)]
    (finding,) = judge(CLAIMS[0], records)
    assert finding.verdict == verdict
    assert finding.difference == pytest.approx(100 * sum(differences) / 3)
    assert finding.where == "set 5 %, paper, 1,500 steps"
    assert f"| {CLAIMS[0].text} | {verdict} |" in page(records)


def test_one_seed_decides_nothing_and_no_record_is_said() -> None:
    records = [record("vmtl", 0, 0.9), record("stl", 0, 0.5)]
    assert [finding.verdict for finding in judge(CLAIMS[0], records)] == ["undecided"]
    assert judge(CLAIMS[0], records[:1]) == []
    assert f"| {CLAIMS[0].text} | undecided | – | – | – | no records |" in page([])


def test_options_make_another_row_and_less_error_is_better() -> None:
    claim = Claim("noise helps", Row("vmtl", {"mixing": "gumbel"}), Row("vmtl", {"mixing": "mean"}))
    records = [record("vmtl", s, 0.8 + 0.01 * s, mixing="gumbel") for s in range(3)]
    records += [record("vmtl", s, 0.7 + 0.01 * s, mixing="mean") for s in range(3)]
    records += [record("vmtl", s, 0.1) for s in range(3)]
    (finding,) = judge(claim, records)
    assert (finding.better, finding.worse) == (pytest.approx(81), pytest.approx(71))
    for one in records:
        one["average"]["nmse"] = one["average"]["accuracy"]
    turned = judge(Claim("noise hurts", claim.worse, claim.better, "nmse"), records)
    assert turned[0].verdict == "confirmed"
