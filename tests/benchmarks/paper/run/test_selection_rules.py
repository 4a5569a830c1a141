"""Selection rules: what they choose, and that only oracle can see test labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.paper.run import selection_rules
from benchmarks.paper.run.execute import fit_and_predict, mean_loss
from benchmarks.paper.run.job import Job
from vmtl.data.problem import Problem
from vmtl.data.splits import random_split
from vmtl.datasets import load_digits_domains

CANDIDATES = ({"max_steps": 1}, {"max_steps": 60}, {"max_steps": 2})


@pytest.fixture(scope="module")
def sides() -> tuple[Problem, Problem]:
    problem = load_digits_domains()
    split = random_split(problem, 0.08, 0)
    return problem.subset(split.train), problem.subset(split.test[::5])


def score(options: dict[str, Any], train: Problem, held: Problem) -> float:
    job = Job("digits-domains", 8, "pooled", 0)
    return mean_loss(held, fit_and_predict(job, {"encoder": "linear", **options}, train, held))


class Sealed:
    """Labels that must not be looked at."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError("a selection rule looked at test labels")

    def __len__(self) -> int:
        raise AssertionError("a selection rule looked at test labels")


def sealed(test: Problem) -> Problem:
    """The test rows with labels that raise when anything is done with them."""
    copy = replace(test)
    object.__setattr__(copy, "y", Sealed())
    return copy


def test_last_takes_the_last_and_fits_nothing(sides: tuple[Problem, Problem]) -> None:
    def forbidden(*_: Any) -> float:
        raise AssertionError("last needs no fit")

    assert selection_rules.select("last", CANDIDATES, sides[0], sealed(sides[1]), forbidden, 0).index == 2


def test_validation_chooses_on_training_rows_without_test_labels(sides: tuple[Problem, Problem]) -> None:
    choice = selection_rules.select("validation", CANDIDATES, sides[0], sealed(sides[1]), score, 0)
    assert choice.index == 1
    assert len(choice.losses) == 3


def test_validation_never_fits_on_what_it_holds_out(sides: tuple[Problem, Problem]) -> None:
    def checked(options: dict[str, Any], train: Problem, held: Problem) -> float:
        assert not set(train.paths) & set(held.paths)  # type: ignore[arg-type]
        assert set(train.paths) | set(held.paths) == set(sides[0].paths)  # type: ignore[arg-type]
        return 0.0

    assert selection_rules.select("validation", CANDIDATES, *sides, checked, 0).index == 2  # ties: the last


def test_only_oracle_changes_with_the_test_labels(sides: tuple[Problem, Problem]) -> None:
    train, test = sides

    def loss(options: dict[str, Any], part: Problem, held: Problem) -> float:
        return float(abs(held.y[0] - options["max_steps"]))

    wanted = [replace(test, y=np.full(test.n_rows, steps)) for steps in (1, 2)]
    for rule in selection_rules.RULES:
        chosen = {
            selection_rules.select(rule, ({"max_steps": 1}, {"max_steps": 2}), train, t, loss, 0).index for t in wanted
        }
        assert len(chosen) == (2 if rule == "oracle" else 1), rule


def test_exactly_one_rule_sees_the_test_rows() -> None:
    assert [name for name, rule in selection_rules.RULES.items() if rule.sees_test] == ["oracle"]


def test_an_unknown_rule_is_named() -> None:
    with pytest.raises(ValueError, match="last, validation, oracle"):
        selection_rules.get_rule("best")
