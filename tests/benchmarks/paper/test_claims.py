"""Verdicts on claims from records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.paper.claims.__main__ import changes_of_length, page
from benchmarks.paper.claims.claim_list import CLAIMS, Claim, Row
from benchmarks.paper.claims.claim_statistics import STATISTICS, over_test_rows
from benchmarks.paper.claims.claim_verdicts import deciding, judge

ROWS = 400


def record(method: str, seed: int, accuracy: float, data: str = "office-caltech", **options: Any) -> dict[str, Any]:
    """The first rows are right, as many as the accuracy says."""
    candidates = [{"preset": "paper", "max_steps": 1500, **options}]
    job = {"data": data, "fraction": 5.0, "split": "paper", "method": method, "seed": seed, "candidates": candidates}
    return {
        "job": {**job, "smoke": False},
        "preset": "paper",
        "status": "done",
        "average": {"accuracy": accuracy},
        "tasks": {"a": {"n_test": ROWS}},
        "data": {"n_test": ROWS},
        "extras": {"correct": packed(np.arange(ROWS) < round(ROWS * accuracy))},
        "cost": {},
    }


def packed(right: np.ndarray) -> dict[str, str]:
    return {"a": np.packbits(right).tobytes().hex()}


def with_rows(method: str, seed: int, right: np.ndarray) -> dict[str, Any]:
    made = record(method, seed, float(right.mean()))
    made["extras"] = {"correct": packed(right)}
    return made


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
    assert finding.over_seeds.value == pytest.approx(100 * sum(differences) / 3)
    assert str(finding.place) == "office-caltech 5 %, paper, 1,500 steps"
    assert f"| {CLAIMS[0].text} | {verdict} |" in page(records)


def test_one_seed_decides_nothing_and_no_record_is_said() -> None:
    records = [record("vmtl", 0, 0.9), record("stl", 0, 0.5)]
    assert [finding.verdict for finding in judge(CLAIMS[0], records)] == ["undecided"]
    assert judge(CLAIMS[0], records[:1]) == []
    assert f"| {CLAIMS[0].text} | not run | – | – | – | – | – | no records |" in page([])


@pytest.mark.parametrize(("lost", "verdict"), [(40, "confirmed"), (3, "undecided")])
def test_seeds_that_agree_do_not_decide_what_the_test_rows_leave_open(lost: int, verdict: str) -> None:
    """Three rows of 400 that one method gets wrong, by every seed, are chance to McNemar's test."""
    good, bad = np.ones(ROWS, dtype=bool), np.ones(ROWS, dtype=bool)
    bad[:lost] = False
    records = [with_rows("vmtl", s, good) for s in range(3)] + [with_rows("stl", s, bad) for s in range(3)]
    (finding,) = judge(CLAIMS[0], records)
    assert finding.over_seeds.low > 0
    assert finding.verdict == verdict


def test_the_interval_over_rows_is_paired_by_row() -> None:
    rng = np.random.default_rng(0)
    right = rng.random(ROWS) < 0.7
    same, other = over_test_rows([(with_rows("a", 0, right), with_rows("b", 0, right))]), rng.permutation(right)
    apart = over_test_rows([(with_rows("a", 0, right), with_rows("b", 0, other))])
    assert same is not None
    assert apart is not None
    assert (same.value, same.half) == (0, 0)
    differing = np.mean(right != other)
    assert apart.value == pytest.approx(0, abs=1e-9)
    assert apart.half == pytest.approx(196 * np.sqrt(differing / ROWS), rel=0.01)  # McNemar's standard error
    unmeasured = {**record("a", 0, 0.5), "extras": {}}
    assert over_test_rows([(unmeasured, record("b", 0, 0.5))]) is None


def test_seeds_alone_do_not_decide_where_all_of_them_see_the_same_rows() -> None:
    """A preset without chance gives every seed the same number: an interval of width 0, and no evidence."""
    records = [record("vmtl", s, 0.9 + 0.001 * s) for s in range(3)] + [record("stl", s, 0.5) for s in range(3)]
    assert judge(CLAIMS[0], records)[0].verdict == "confirmed"
    for one in records:
        one["extras"] = {}
    assert judge(CLAIMS[0], records)[0].verdict == "undecided"
    for one in records:
        one["job"] |= {"split": "random"}
    assert judge(CLAIMS[0], records)[0].verdict == "confirmed"
    for one in records:
        one["average"]["accuracy"] = 0.9 if one["job"]["method"] == "vmtl" else 0.5
    assert judge(CLAIMS[0], records)[0].verdict == "undecided"


def test_of_two_measurements_the_one_with_single_rows_counts() -> None:
    """An attack was measured on the same fit, later and without its rows."""
    records = [
        record(method, s, level + 0.001 * s) for method, level in (("vmtl", 0.9), ("stl", 0.5)) for s in range(3)
    ]
    attacked = [{**one, "extras": {"attack": {}}} for one in records]
    (finding,) = judge(CLAIMS[0], records + attacked)
    assert finding.over_rows is not None


def test_options_make_another_row_and_less_error_is_better() -> None:
    claim = Claim("noise helps", Row("vmtl", {"mixing": "learnable"}), Row("vmtl", {"mixing": "mean"}))
    records = [record("vmtl", s, 0.8 + 0.01 * s, mixing="learnable") for s in range(3)]
    records += [record("vmtl", s, 0.7 + 0.012 * s, mixing="mean") for s in range(3)]
    records += [record("vmtl", s, 0.1) for s in range(3)]
    (finding,) = judge(claim, records)
    assert (finding.better, finding.worse) == (pytest.approx(81), pytest.approx(71.2))
    for one in records:
        one["average"]["nmse"] = one["average"]["accuracy"]
    turned = judge(Claim("noise hurts", claim.worse or Row(""), claim.better, "nmse"), records)
    assert turned[0].verdict == "confirmed"


def test_as_good_as_allows_a_margin() -> None:
    records = [record("vmtl_ac", s, 0.875 + 0.001 * s) for s in range(3)] + [record("vmtl", s, 0.9) for s in range(3)]
    verdicts = [
        judge(Claim("", Row("vmtl_ac"), Row("vmtl"), margin=margin), records)[0].verdict for margin in (0.0, 5.0)
    ]
    assert verdicts == ["refuted", "confirmed"]


def test_a_control_is_the_same_row_on_another_set() -> None:
    def mapped(data: str, seed: int, weight: float) -> dict[str, Any]:
        made, rest = record("vmtl", seed, 0.9, data), (1 - weight) / 2
        tasks = ["amazon", "caltech10", "dslr", "webcam"]
        alpha = np.full((4, 4), rest)
        np.fill_diagonal(alpha, 0)
        for i, j in ((0, 1), (2, 3)):
            alpha[i, j] = alpha[j, i] = weight
        made["extras"] = {"mixing": {"tasks": tasks, "alpha": alpha.tolist()}}
        return made

    records = [mapped("office-caltech", s, 0.6 + 0.01 * s) for s in range(3)]
    records += [mapped("office-caltech-dealt", s, 1 / 3) for s in range(3)]
    claim = next(claim for claim in CLAIMS if claim.metric == "alpha between tasks that are alike")
    (finding,) = judge(claim, records)
    assert finding.better == pytest.approx(0.61)
    assert finding.worse == pytest.approx(1 / 3)
    assert finding.verdict == "confirmed"
    assert STATISTICS["largest alpha of a task"].read(records[0]) == pytest.approx(0.6)


def test_a_gain_is_compared_at_two_shares_of_the_data() -> None:
    claim = next(claim for claim in CLAIMS if claim.fractions)
    records = []
    for fraction, gain in ((5.0, 0.1), (60.0, 0.01)):
        for seed in range(3):
            for method, score in (("vmtl", 0.8 + gain * (1 + 0.01 * seed)), ("stl", 0.8)):
                made = record(method, seed, score)
                made["job"] |= {"fraction": fraction, "split": "random"}
                records.append(made)
    (finding,) = judge(claim, records)
    assert finding.over_seeds.value == pytest.approx(9.09)
    assert deciding(claim, [finding]) is finding
    assert finding.verdict == "confirmed"


def test_the_place_with_most_seeds_decides() -> None:
    records = [record(method, s, 0.9) for method in ("vmtl", "stl") for s in range(3)]
    for method in ("vmtl", "stl"):
        longer = record(method, 0, 0.9)
        del longer["job"]["candidates"][0]["max_steps"]
        records.append(longer)
    findings = judge(CLAIMS[0], records)
    main = deciding(CLAIMS[0], findings)
    assert len(findings) == 2
    assert main is not None
    assert (main.place.steps, main.seeds) == (1500, 3)


def test_what_the_full_length_changes_is_said() -> None:
    records = [record(method, s, 0.9) for method in ("vmtl", "long") for s in range(2)]
    assert "No run has all 15,000 steps" in page(records)
    for method, accuracy in (("vmtl", 0.91), ("long", 0.95)):
        longer = record(method, 1, accuracy)
        del longer["job"]["candidates"][0]["max_steps"]
        records.append(longer)
    assert changes_of_length(records) == {"VMTL": pytest.approx((90, 91)), "Long et al. (MRN)": pytest.approx((90, 95))}
    assert "Long et al. (MRN) has 95.0 % then instead of 90.0, the others move by at most 1.0 points" in page(records)


def test_a_method_that_needs_all_steps_is_compared_with_all_of_them() -> None:
    claim = next(claim for claim in CLAIMS if claim.whole)
    records = [record(method, s, 0.9 + 0.001 * s) for method in ("vmtl", "long") for s in range(3)]
    assert judge(claim, records) == []
    for seed in range(3):
        longer = record("long", seed, 0.95)
        del longer["job"]["candidates"][0]["max_steps"]
        records.append(longer)
    (finding,) = judge(claim, records)
    assert (finding.place.steps, finding.worse, finding.verdict) == (1500, pytest.approx(95), "refuted")
