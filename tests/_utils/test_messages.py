"""Words of messages."""

from __future__ import annotations

import pytest

from vmtl._utils.messages import counted, did_you_mean, first_few, quoted


def test_counts_of_one() -> None:
    assert [counted(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
    assert [counted(n, "class", "classes") for n in (1, 2)] == ["1 class", "2 classes"]


@pytest.mark.parametrize(
    ("name", "said"),
    [("Site", " (did you mean 'site'?)"), ("outcme", " (did you mean 'outcome'?)"), ("age", ""), (1, "")],
)
def test_a_name_that_is_spelled_alike_is_proposed(name: object, said: str) -> None:
    assert did_you_mean(name, ["site", "outcome"]) == said


def test_long_lists_are_cut_and_say_so() -> None:
    assert first_few(["a", "b", "c"]) == "a, b, c"
    assert first_few(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert quoted(["a", 1], most=1) == "'a' and 1 more"
