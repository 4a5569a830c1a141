"""``vmtl predict``: predictions with their uncertainty."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.tables import FEW, Run
from vmtl import load
from vmtl.datasets import load_npz, make_task_groups, save_npz


def test_class_predictions_have_probabilities_and_uncertainty(
    run: Run, tables: Path, class_model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "predictions.csv"
    done = run("predict", class_model, tables / "new.csv", "--out", out)
    assert done.exit_code == 0, done.output
    new, predicted = pd.read_csv(tables / "new.csv"), pd.read_csv(out)
    probabilities = [f"probability_{name}" for name in ("mild", "none", "severe")]
    assert list(predicted.columns) == [*new.columns, "prediction", *probabilities, "total", "aleatoric", "epistemic"]
    pd.testing.assert_frame_equal(predicted[new.columns], new)
    np.testing.assert_allclose(predicted[probabilities].sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(predicted["total"], predicted["aleatoric"] + predicted["epistemic"], atol=1e-5)
    model = load(class_model)
    assert (predicted["prediction"] == model.predict(new)).all()  # Python finds the task column by itself
    labelled = pd.read_csv(tables / "class_labelled.csv")
    assert (predicted["prediction"] == labelled["outcome"]).mean() > 0.6


def test_real_predictions_are_in_the_targets_unit(run: Run, tables: Path, real_model: Path, tmp_path: Path) -> None:
    out = tmp_path / "predictions.csv"
    assert run("predict", real_model, tables / "new.csv", "--out", out).exit_code == 0
    predicted = pd.read_csv(out)
    assert list(predicted.columns[-4:]) == ["prediction", "total", "aleatoric", "epistemic"]
    np.testing.assert_allclose(
        predicted["total"] ** 2, predicted["aleatoric"] ** 2 + predicted["epistemic"] ** 2, rtol=5e-5
    )
    mean, std = load(real_model).predict(pd.read_csv(tables / "new.csv"), return_std=True)
    np.testing.assert_allclose(predicted["prediction"], mean, rtol=1e-6, atol=1e-6 * mean.std())
    np.testing.assert_allclose(predicted["total"], std, rtol=1e-5)


def test_predictions_without_a_file_go_to_standard_output(run: Run, tables: Path, class_model: Path) -> None:
    predicted = pd.read_csv(io.StringIO(run("predict", class_model, tables / "new.csv").stdout))
    assert len(predicted) == 60
    records = json.loads(run("predict", class_model, tables / "new.csv", "--json").stdout)
    assert [r["prediction"] for r in records] == predicted["prediction"].tolist()


def test_probabilities_are_written_with_six_digits(run: Run, tables: Path, class_model: Path) -> None:
    lines = run("predict", class_model, tables / "new.csv").stdout.splitlines()
    own = len(pd.read_csv(tables / "new.csv").columns) + 1
    cells = [cell for line in lines[1:] for cell in line.split(",")[own:]]
    assert len(cells) == 60 * 6
    assert all(float(cell) == float(f"{float(cell):.6g}") and len(cell) <= 11 for cell in cells)


def test_an_unknown_task_is_averaged_on_request(run: Run, tables: Path, class_model: Path, tmp_path: Path) -> None:
    new = pd.read_csv(tables / "new.csv").assign(site="east")
    new.to_csv(tmp_path / "new.csv", index=False)
    model, average = tmp_path / "m.vmtl", ("--unknown-task", "average")
    fit = ("fit", tables / "class_train.csv", "--task", "site", "--target", "outcome", "--out", model, *FEW)
    assert run(*fit, *average, "-q").exit_code == 0
    predicted = [run("predict", model, tmp_path / "new.csv").stdout]
    predicted.append(run("predict", class_model, tmp_path / "new.csv", *average).stdout)  # without fitting again
    assert predicted[0] == predicted[1]
    assert len(predicted[0].splitlines()) == 61
    pd.read_csv(tables / "class_labelled.csv").assign(site="east").to_csv(tmp_path / "l.csv", index=False)
    done = run("evaluate", class_model, tmp_path / "l.csv", *average)
    assert done.exit_code == 0, done.output
    assert "east" in done.stdout


def test_feature_files_are_tables_too(run: Run, tmp_path: Path) -> None:
    problem = make_task_groups(seed=0).problem
    save_npz(problem, tmp_path / "f.npz")
    model = tmp_path / "m.vmtl"
    assert run("fit", tmp_path / "f.npz", "--out", model, *FEW, "-q").exit_code == 0
    done = run("predict", model, tmp_path / "f.npz", "--out", tmp_path / "p.csv")
    assert done.exit_code == 0, done.output
    assert len(pd.read_csv(tmp_path / "p.csv")) == load_npz(tmp_path / "f.npz").n_rows
    assert run("evaluate", model, tmp_path / "f.npz").exit_code == 0
    problem.X[3, 1] = np.nan
    save_npz(problem, tmp_path / "gaps.npz")
    assert "NaN" in run("fit", tmp_path / "gaps.npz", "--out", model, *FEW, "--missing", "error").stderr
    assert run("fit", tmp_path / "gaps.npz", "--out", model, *FEW, "-q").exit_code == 0


def test_intervals_and_sets(run: Run, tables: Path, class_model: Path, real_model: Path, tmp_path: Path) -> None:
    out, new = tmp_path / "p.csv", tables / "new.csv"
    assert run("predict", real_model, new, "--out", out, "--coverage", 0.8).exit_code == 0
    predicted, table = pd.read_csv(out), pd.read_csv(new)
    ends = load(real_model).predict_interval(table, coverage=0.8)
    np.testing.assert_allclose(predicted[["low", "high"]], ends, rtol=1e-5, atol=1e-5)
    assert (predicted["low"] < predicted["prediction"]).all()
    assert run("predict", class_model, new, "--out", out, "--coverage", 0.8).exit_code == 0
    predicted = pd.read_csv(out)
    sets = load(class_model).predict_set(table, coverage=0.8)
    assert [set(cell.split("; ")) for cell in predicted["set"]] == [set(sets.columns[row]) for row in sets.to_numpy()]
    wrong = run("predict", class_model, new, "--out", tmp_path / "q.csv", "--coverage", 90)
    assert wrong.exit_code == 2
    assert "give a number between 0 and 1" in wrong.stderr
    assert not (tmp_path / "q.csv").exists()


def test_rows_of_unknown_tasks_can_be_skipped(run: Run, tables: Path, class_model: Path, tmp_path: Path) -> None:
    new, out = pd.read_csv(tables / "new.csv"), tmp_path / "p.csv"
    new.loc[[2, 5], "site"] = "east"
    new.to_csv(tmp_path / "n.csv", index=False)
    done = run("predict", class_model, tmp_path / "n.csv", "--unknown-task", "skip", "--out", out)
    assert done.exit_code == 0, done.output
    assert "Skipped 2 rows of a task that was not in training: 'east'." in done.stderr
    predicted = pd.read_csv(out)
    assert np.flatnonzero(predicted["prediction"].isna()).tolist() == [2, 5]
    assert predicted.drop(index=[2, 5]).notna().loc[:, "prediction":].all(axis=None)
    new.assign(site="east").to_csv(tmp_path / "n.csv", index=False)
    done = run("predict", class_model, tmp_path / "n.csv", "--unknown-task", "skip")
    assert done.exit_code == 2
    assert "so all would be skipped" in done.stderr


def test_columns_may_be_more_and_in_any_order(run: Run, tables: Path, tmp_path: Path) -> None:
    train = pd.read_csv(tables / "real_train.csv").drop(columns=["ward", "bmi"])
    train.to_csv(tmp_path / "t.csv", index=False)
    fit = ("fit", tmp_path / "t.csv", "--task", "site", "--target", "days", "--out", tmp_path / "m.vmtl", *FEW, "-q")
    assert run(*fit, "--missing", "error").exit_code == 0
    rows = pd.read_csv(tables / "new.csv")
    written = {}
    for name, table in (("same", rows[["age", "dose", "site"]]), ("mixed", rows[rows.columns[::-1]].assign(more="x"))):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        done = run("predict", tmp_path / "m.vmtl", tmp_path / f"{name}.csv", "--out", tmp_path / f"{name}.out.csv")
        assert done.exit_code == 0, done.output
        written[name] = pd.read_csv(tmp_path / f"{name}.out.csv")["prediction"]
    pd.testing.assert_series_equal(written["same"], written["mixed"])
