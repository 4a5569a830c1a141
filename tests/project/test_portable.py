"""``make test-portable`` proves each set before it runs under it, and says what it did not run."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

import portable

ROOT = Path(__file__).parents[2]


def test_its_tests_exist() -> None:
    assert [name for name in portable.TESTS if not (ROOT / name).exists()] == []


@pytest.mark.slow
def test_the_bits_of_a_product_are_those_of_the_machine_or_of_any_other() -> None:
    here = portable.product_bits({})
    assert portable.product_bits({}) == here
    assert portable.product_bits(portable.SETS["other rounding"])["torch"] != here["torch"]


def test_a_set_replaces_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    assert "MKL_CBWR" not in portable.environment(portable.SETS["AVX2"])
    assert portable.environment(portable.SETS["compatible"])["MKL_CBWR"] == "COMPATIBLE"


def test_all_tests_under_one_set(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """A set that is unknown or changes nothing here is no success."""
    asked: list[Any] = []
    monkeypatch.setattr(portable, "product_bits", lambda variables: {"torch": variables.get("MKL_CBWR", "as it is")})
    monkeypatch.setattr(portable, "run_tests", lambda *arguments: asked.append(arguments) or 0)
    assert portable.main(["--under", "compatible", "-m", "not slow"]) == 0
    assert asked == [(portable.SETS["compatible"], ["-m", "not slow"])]
    assert portable.main(["--under", "AVX2", "-m", "not slow"]) == 1
    assert portable.main(["--under", "AVX3"]) == 2
    assert len(asked) == 1
    assert "choose from other rounding, AVX2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changing", "codes", "code"),
    [
        (["other rounding", "AVX2", "SSE4.2", "compatible"], [0, 0, 0, 0], 0),
        (["other rounding", "compatible"], [0, 1], 1),
        (["other rounding"], [0], 0),
        ([], [], 1),
    ],
)
def test_sets_that_change_nothing_are_named(
    changing: list[str], codes: list[int], code: int, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """The test runs themselves are played; a failed one, or none at all, is a failure."""

    def bits(variables: dict[str, str]) -> dict[str, str]:
        name = next((name for name, each in portable.SETS.items() if each == variables), "")
        return {"torch": "1" if name in changing else "0", "NumPy": "0"}

    left = list(codes)
    monkeypatch.setattr(portable, "product_bits", bits)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], left.pop(0)))
    assert portable.main([]) == code
    said = capsys.readouterr().out
    assert left == []
    for name in portable.SETS:
        assert (f"{name}: not run" in said) == (name not in changing)
    assert ("nothing was tested" in said) == (not changing)
