"""One command: it resumes, survives a torn line and a peer that fails, ranks rightly and fills pages."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import log_loss

from benchmarks.peers import jobs, summary, tables
from benchmarks.peers.misses import misses
from benchmarks.peers.peer import Prediction, Unsuitable
from benchmarks.peers.scores import score
from benchmarks.peers.sets import Problem, Rows

SETS, PEERS = ["digits-domains"], ["constant", "pooled"]


def go(file, peers=PEERS, splits=2):
    ran = []
    failed = jobs.run_all(jobs.plan(SETS, peers, splits), file, ran.append, lambda job, problem: None)
    return ran, failed


def test_a_run_goes_on_where_it_was_killed(tmp_path):
    file = tmp_path / "deep" / "records.jsonl"
    ran, failed = go(file, ["constant"], splits=1)
    assert [job.peer for job in ran] == ["constant"]
    with file.open("a") as stream:
        stream.write('{"id": "torn')
    ran, failed = go(file, ["constant"])
    assert [(job.peer, job.split) for job in ran] == [("constant", 1)]
    assert not failed
    assert len(jobs.read(file)) == 2
    assert go(file, ["constant"]) == ([], [])


def test_a_peer_that_fails_is_told_and_the_others_go_on(tmp_path, monkeypatch):
    def fail(self, *given, **named):
        raise RuntimeError("no luck")

    monkeypatch.setattr(jobs.PEERS["pooled"], "fit_predict", fail)
    ran, failed = go(tmp_path / "r.jsonl", ["pooled", "constant"], splits=1)
    assert len(ran) == 2
    assert failed == ["pooled on digits-domains, split 0: RuntimeError: no luck"]
    assert {record["peer"] for record in jobs.read(tmp_path / "r.jsonl").values()} == {"constant"}


def test_an_id_is_the_hash_of_all_arguments():
    ids = {
        jobs.Job(name, split, peer, revision).id
        for name in "ab"
        for split in (0, 1)
        for peer in "cd"
        for revision in (1, 2)
    }
    assert len(ids) == 16


def problem_of(y, n_classes, kind):
    rows = Rows(np.zeros((len(y), 1)), pd.DataFrame({"a": np.zeros(len(y))}), np.zeros(len(y), int), np.asarray(y))
    return Problem("toy", kind, 1, n_classes, rows, rows)


def test_scores_are_those_of_scikit_learn_and_scipy():
    rng = np.random.default_rng(0)
    y, p = rng.integers(3, size=50), rng.dirichlet(np.ones(3), size=50)
    found = score(problem_of(y, 3, "multi-class"), Prediction(p=p))
    assert found["nll"] == pytest.approx(log_loss(y, p, labels=[0, 1, 2]), abs=1e-4)
    y, mean, std = rng.normal(size=50), rng.normal(size=50), rng.uniform(1, 2, size=50)
    found = score(problem_of(y, 1, "regression"), Prediction(mean=mean, std=std))
    low, high = stats.norm.interval(0.9, mean, std)
    assert found["coverage"] == pytest.approx(((low <= y) & (y <= high)).mean())
    own = score(problem_of(y, 1, "regression"), Prediction(mean=mean, std=std, ends=np.stack([mean - 1, mean + 2], 1)))
    assert own["coverage"] == pytest.approx(((mean - 1 <= y) & (y <= mean + 2)).mean())
    assert own["width"] == pytest.approx(3)
    assert own["nll"] == found["nll"]
    with pytest.raises(ValueError, match="not a finite number"):
        score(problem_of(y, 1, "regression"), Prediction(mean=mean * np.nan, std=std))


def record(name, kind, peer, split=0, **scores):
    about = {"set": name, "kind": kind, "peer": peer, "split": split, "cpu_seconds": 1.0, "date": "2020-01-01"}
    return {**about, "scores": scores, "versions": {}}


def some_records():
    losses = {
        "vmtl": (0.5, 0.2),
        "pooled": (0.4, 0.4),
        "dummies": (0.6, 0.3),
        "forest": (0.7, 0.5),
        "catboost": (0.5, 0.25),
    }
    found = [
        record(name, "binary", peer, nll=values[place], auc=1 - values[place], accuracy=0.5)
        for peer, values in losses.items()
        for place, name in enumerate(("credit", "colon"))
    ]
    found += [
        record("mpg", "regression", peer, rmse=rmse, nll=1.0, coverage=coverage, spread=2.0)
        for peer, rmse, coverage in (("vmtl", 1.0, 0.9), ("pooled", 1.5, 0.99), ("constant", 0.1, 0.9))
    ]
    return found


def test_ranks_and_goals_by_hand():
    table = summary.frame(some_records())
    place = summary.ranks(summary.means(table, "nll", ("binary",)))
    assert place.loc["credit"].to_dict() == {"vmtl": 2.5, "pooled": 1, "dummies": 4, "forest": 5, "catboost": 2.5}
    values = {goal.name: goal.value for goal in summary.goals(table)}
    assert list(values.values()) == pytest.approx([100, 1.75, (25 - 20) / 2, 25, 100 * (-0.1 + 0.05) / 2, 100])
    assert [goal.passed for goal in summary.goals(table)] == [True, True, False, False, False, True]


def test_peers_are_compared_on_the_splits_that_all_of_them_have():
    errors = {("vmtl", 0): 1.0, ("vmtl", 1): 3.0, ("pooled", 0): 2.0, ("svm", 1): 0.5}
    table = summary.frame(record("mpg", "regression", *key, rmse=rmse) for key, rmse in errors.items())
    values = summary.means(table, "rmse", ("regression",)).loc["mpg"]
    assert values[["vmtl", "pooled"]].to_list() == [1, 2]
    assert np.isnan(values["svm"])  # it lacks the first split
    assert summary.means(summary.only(table, ["vmtl"]), "rmse", ("regression",)).loc["mpg", "vmtl"] == 2
    assert summary.n_splits(table).to_dict() == {"vmtl": 2, "pooled": 1, "svm": 1}


def test_a_peer_without_the_first_split_of_a_set_is_unfinished():
    planned = jobs.plan(["mpg", "hsb82"], ["pooled", "dummies", "svm"], 2)
    done = [job for job in planned if job.peer == "pooled" and job.split == 0]
    done += [job for job in planned if job.peer == "dummies" and job.set == "mpg"]
    assert summary.unfinished(planned, [{"id": job.id} for job in done]) == ["dummies"]


def test_where_a_peer_is_better_is_told_with_its_size():
    found = misses(summary.frame(some_records()))
    assert "| linear, pooled | 1 of 2 | 0 of 1 |" in found
    assert "| random forest | 0 of 2 | 0 of 0 |" in found
    assert "By likelihood the default is first on 1 of 2 sets" in found
    assert "| credit | 0.5 | linear, pooled | 0.4 | 25.0 % | 1 of 4 |" in found
    assert "By RMSE the default is first on 1 of 1 sets" in found


def test_digits_have_means_over_the_splits_of_each_peer():
    found = [record("angles", "regression", "vmtl", split, rmse=rmse) for split, rmse in enumerate((1.0, 3.0))]
    found += [record("tilts", "multi-class", "vmtl", accuracy=0.5), record("angles", "regression", "svm", rmse=2.0)]
    lines = tables.digits(summary.frame(found)).splitlines()
    assert lines[0] == "|  | angles: RMSE | splits | tilts: accuracy, % | splits |"
    assert lines[2:] == ["| **VMTL default** | 2.00 ± 1.41 | 2 | 50.00 | 1 |", "| RBF SVM, pooled | 2.00 | 1 | – | 0 |"]


def test_a_set_that_a_peer_cannot_take_is_recorded_and_not_tried_again(tmp_path, monkeypatch):
    def refuse(self, *given, **named):
        raise Unsuitable("too many columns")

    monkeypatch.setattr(jobs.PEERS["constant"], "fit_predict", refuse)
    file = tmp_path / "r.jsonl"
    assert go(file, ["constant"], splits=1)[1] == []
    assert go(file, ["constant"], splits=1) == ([], [])
    (found,) = jobs.read(file).values()
    assert found["unsuitable"] == "too many columns"
    assert summary.frame([found]).empty


def test_records_that_are_forgotten_are_made_anew_and_others_stay(tmp_path):
    file = tmp_path / "r.jsonl"
    go(file, splits=1)
    before = file.read_text().splitlines()
    jobs.forget(file, jobs.plan(SETS, ["pooled"], 1))
    assert file.read_text().splitlines() == [line for line in before if '"constant"' in line]
    assert [job.peer for job in go(file, splits=1)[0]] == ["pooled"]


def test_the_command_writes_goals_and_prints_tables(tmp_path, capsys):
    from benchmarks.peers import __main__ as command

    given = ["--sets", "digits-domains", "--peers", "pooled,constant", "--splits", "1"]
    given += ["--records", str(tmp_path / "r.jsonl"), "--json", str(tmp_path / "goals.json")]
    assert command.main(given) == 0
    assert "linear, pooled" in capsys.readouterr().out
    rows = json.loads((tmp_path / "goals.json").read_text())
    assert [set(row) for row in rows] == [{"name", "value", "goal", "pass"}] * len(rows)
    assert command.main([*given, "--peers", "constant", "--again"]) == 0
    assert "linear, pooled" in capsys.readouterr().out  # tables show all records, whoever was run
    for wrong in (["--peers", "nobody"], ["--again"], ["--again", "--peers", "vmtl", "--show"]):
        with pytest.raises(SystemExit):
            command.main(wrong)
