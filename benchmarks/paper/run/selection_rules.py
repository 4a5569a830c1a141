"""Selection rules: which of several candidate configurations counts. Only ``oracle`` ever sees test labels.

A candidate is a dict of estimator options: another number of steps, another preset. A rule gets a ``View`` with
what it may see and answers with the number of the candidate; the runner then fits that one on all training rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.paper.run.job import Options
from vmtl.data.problem import Problem
from vmtl.data.splits import holdout

#: Share of the training rows that ``validation`` holds out.
HELD_OUT = 0.25

Score = Callable[[Options, Problem, Problem], float]


@dataclass(frozen=True)
class View:
    """What a rule may use: the training rows; ``test`` is None unless the rule is said to see it.

    score(options, train, held) : fit on ``train`` and return the mean loss on ``held``, lower is better.
    """

    train: Problem
    score: Score
    seed: int
    test: Problem | None = None


@dataclass(frozen=True)
class Choice:
    """The chosen candidate's number, and the loss of every candidate where the rule computed one."""

    index: int
    losses: tuple[float, ...] = ()


def last(candidates: Sequence[Options], view: View) -> Choice:
    """The last candidate: training to the end, no choice at all. The default."""
    return Choice(len(candidates) - 1)


def validation(candidates: Sequence[Options], view: View) -> Choice:
    """The candidate with the lowest loss on a hold-out inside the training rows; the last wins a tie."""
    split = holdout(view.train, HELD_OUT, view.seed)
    train, held = view.train.subset(split.train), view.train.subset(split.test)
    if len(candidates) == 1 or not held.n_rows:
        return Choice(len(candidates) - 1)
    return _best(tuple(view.score(options, train, held) for options in candidates))


def oracle(candidates: Sequence[Options], view: View) -> Choice:
    """The set of options that is best on the test rows: an upper bound, never a result.

    It chooses between whole fits, not between the iterates of one, as the authors' code does every 50 steps.
    """
    if view.test is None:
        raise ValueError("oracle looks at test labels; let the runner give them.")
    test = view.test
    return _best(tuple(view.score(options, view.train, test) for options in candidates))


def _best(losses: tuple[float, ...]) -> Choice:
    index = min(range(len(losses)), key=lambda i: (losses[i], -i))
    return Choice(index, losses)


@dataclass(frozen=True)
class Rule:
    """A named rule; ``sees_test`` decides whether the runner hands it the test rows."""

    choose: Callable[[Sequence[Options], View], Choice]
    sees_test: bool = False


RULES: dict[str, Rule] = {"last": Rule(last), "validation": Rule(validation), "oracle": Rule(oracle, sees_test=True)}


def select(name: str, candidates: Sequence[Options], train: Problem, test: Problem, score: Score, seed: int) -> Choice:
    """Apply a rule by name; the test rows reach it only if the rule declares that it sees them."""
    rule = get_rule(name)
    return rule.choose(candidates, View(train, score, seed, test if rule.sees_test else None))


def get_rule(name: str) -> Rule:
    if name not in RULES:
        raise ValueError(f"Unknown selection rule {name!r}; choose one of {', '.join(RULES)}.")
    return RULES[name]


def choice_as_data(choice: Choice, candidates: Sequence[Options]) -> dict[str, object]:
    """A choice as plain data for a record."""
    return {"chosen": choice.index, "options": candidates[choice.index], "losses": list(choice.losses)}
