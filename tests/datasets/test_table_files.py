"""Own tables: every format, raw columns kept, kinds of targets, and clear errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vmtl import MultiTaskClassifier, load
from vmtl.data.splits import random_split
from vmtl.datasets import read_table


def patients(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.normal(50, 10, n)
    frame = pd.DataFrame(
        {
            "domain": np.where(np.arange(n) % 3 == 0, "north", "south"),
            "age": age,
            "colour": rng.choice(["red", "blue"], n),
            "label": np.where(age > 50, "ill", "well"),
        }
    )
    frame.loc[::7, "age"] = np.nan
    frame.loc[::9, "colour"] = None
    return frame


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "feather"])
def test_every_format_gives_the_same_problem(suffix: str, tmp_path: Path) -> None:
    path, frame = tmp_path / f"patients.{suffix}", patients()
    if suffix in ("csv", "tsv"):
        frame.to_csv(path, index=False, sep="," if suffix == "csv" else "\t")
    else:
        getattr(frame, f"to_{suffix}")(path)
    problem = read_table(path)
    assert problem.name == "patients"
    assert problem.task_names == ("north", "south")
    assert problem.class_names == ("ill", "well")
    assert list(problem.X.columns) == ["age", "colour"]
    assert problem.labels.tolist() == frame["label"].tolist()
    np.testing.assert_allclose(problem.X["age"], frame["age"])
    assert problem.X["colour"].isna().sum() == frame["colour"].isna().sum()


def test_from_raw_rows_to_predictions_with_gaps_and_an_unseen_level(tmp_path: Path) -> None:
    patients().to_csv(tmp_path / "p.csv", index=False)
    problem = read_table(tmp_path / "p.csv")
    split = random_split(problem, 0.7)
    train, test = problem.subset(split.train), problem.subset(split.test)
    model = MultiTaskClassifier(missing="impute", random_state=0)
    model.fit(train.X, train.labels, tasks=train.tasks)
    assert model.score(test.X, test.labels, tasks=test.tasks) > 0.7
    model.save(tmp_path / "m.vmtl")
    (tmp_path / "new.csv").write_text("colour,age\ngreen,80\nred,\n")
    new = pd.read_csv(tmp_path / "new.csv")
    again = load(tmp_path / "m.vmtl")
    np.testing.assert_array_equal(
        again.predict_proba(new, tasks=["north", "south"]), model.predict_proba(new, tasks=["north", "south"])
    )
    assert again.predict(new, tasks=["north", "south"])[0] == "ill"


def test_npz_goes_through_the_same_door(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.zeros((2, 3)), label=np.array(["x", "y"]), domain=np.array(["a", "b"]))
    np.savez(tmp_path / "b.npz", X=np.zeros((2, 3)), y=np.array([0.5, 1.5]), site=np.array(["a", "b"]))
    assert read_table(tmp_path / "a.npz").class_names == ("x", "y")
    for options in ({"drop": ["id"]}, {"groups": "id"}, {"types": {"id": "text"}}):
        with pytest.raises(ValueError, match="columns have no names to drop, group by or type"):
            read_table(tmp_path / "a.npz", **options)
    assert not read_table(tmp_path / "b.npz", task="site").is_classification
    with pytest.raises(ValueError, match=r"has no column 'domain'\. Its columns: .* 'site'\. Choose one with"):
        read_table(tmp_path / "b.npz")


@pytest.mark.parametrize(
    ("values", "kind", "classes"),
    [
        ([1, 2, 10], "auto", ("1", "2", "10")),
        ([1.0, 2.0, 10.0], "auto", ("1", "2", "10")),
        ([0.5, 1.0, 2.0], "auto", None),
        ([1, 2, 10], "regression", None),
        ([0.5, 1.0, 2.0], "classification", ("0.5", "1", "2")),
        ([True, False, True], "auto", ("False", "True")),
        (["b", "a", "c"], "auto", ("a", "b", "c")),
    ],
)
def test_kinds_of_targets(values: list[object], kind: str, classes: object, tmp_path: Path) -> None:
    pd.DataFrame({"t": ["x"] * 3, "f": [1, 2, 3], "y": values}).to_csv(tmp_path / "t.csv", index=False)
    assert read_table(tmp_path / "t.csv", task="t", target="y", kind=kind).class_names == classes


def test_many_whole_numbers_are_a_regression_target(tmp_path: Path) -> None:
    pd.DataFrame({"domain": 1, "f": 0, "label": range(40)}).to_csv(tmp_path / "t.csv", index=False)
    assert not read_table(tmp_path / "t.csv").is_classification


def test_columns_can_be_dropped_and_group_rows(tmp_path: Path) -> None:
    frame = patients().assign(row=range(60), person=np.arange(60) // 2)
    frame.to_csv(tmp_path / "p.csv", index=False)
    problem = read_table(tmp_path / "p.csv", drop=["row"], groups="person")
    assert list(problem.X.columns) == ["age", "colour"]
    assert problem.groups is not None
    split = random_split(problem, 0.5)
    assert not set(problem.groups[split.train]) & set(problem.groups[split.test])


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_other_separators_and_decimal_commas_are_read(separator: str, decimal: str, tmp_path: Path) -> None:
    frame = patients().rename(columns={"age": "age, years"})
    frame.to_csv(tmp_path / "p.csv", index=False, sep=separator, decimal=decimal)
    problem = read_table(tmp_path / "p.csv")
    assert problem.labels.tolist() == frame["label"].tolist()
    np.testing.assert_allclose(problem.X["age, years"], frame["age, years"])


def test_few_slips_in_a_target_of_numbers_are_refused_unless_classes_are_wanted(tmp_path: Path) -> None:
    values = ["0.5", "1.5", "2", "<1", "3"] + ["4.5"] * 25 + ["?"]
    pd.DataFrame({"domain": 1, "f": 0, "label": values}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(
        ValueError, match="2 cells such as '<1' in data row 4 are not; repair them, or choose the kind classification"
    ):
        read_table(tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv", kind="classification").n_classes == 7
    with pytest.raises(ValueError, match="'<1' in data row 4"):
        read_table(tmp_path / "t.csv", kind="regression")
    pd.DataFrame({"domain": 1, "f": 0, "label": ["1", "2", "x", "y"] * 5}).to_csv(tmp_path / "t.csv", index=False)
    assert read_table(tmp_path / "t.csv").n_classes == 4  # text that happens to hold numbers


@pytest.mark.parametrize("error", [NotImplementedError("Integers"), KeyError("y"), TypeError("t")])
def test_whatever_a_damaged_file_raises_is_explained(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: object) -> None:
        raise error

    pytest.importorskip("pyarrow")
    monkeypatch.setattr(pd, "read_parquet", fail)
    (tmp_path / "p.parquet").touch()
    with pytest.raises(ValueError, match=r"cannot be read as a \.parquet table \(.*\); save it again\.$"):
        read_table(tmp_path / "p.parquet")


def test_bad_tables_are_explained(tmp_path: Path) -> None:
    patients().to_csv(tmp_path / "p.csv", index=False)
    said = r"no column 'site'\. Its columns: 'domain', 'age', .* Choose one with the argument task\."
    with pytest.raises(ValueError, match=said):
        read_table(tmp_path / "p.csv", task="site")
    with pytest.raises(ValueError, match=r"'colour' .* is empty in 7 rows"):
        read_table(tmp_path / "p.csv", target="colour")
    patients(9).to_csv(tmp_path / "few.csv", index=False)
    with pytest.raises(ValueError, match=r"'colour' .* is empty in 1 row; fill or remove it\."):
        read_table(tmp_path / "few.csv", target="colour")
    with pytest.raises(ValueError, match="choose another column"):
        read_table(tmp_path / "p.csv", kind="regression")
    with pytest.raises(ValueError, match="choose one of auto"):
        read_table(tmp_path / "p.csv", kind="ranking")
    (tmp_path / "header.csv").write_text("domain,label,age\n")
    with pytest.raises(ValueError, match=r"header\.csv has no rows; give at least one per task\."):
        read_table(tmp_path / "header.csv")
    (tmp_path / "large.csv").write_text("domain,label,age\na,1e300,1\na,0.5,2\n")
    with pytest.raises(ValueError, match=r"'label' holds numbers beyond 3\.4e38; divide them all by one number\."):
        read_table(tmp_path / "large.csv")
    with pytest.raises(FileNotFoundError, match="no file"):
        read_table(tmp_path / "q.csv")
    (tmp_path / "p.ods").touch()
    with pytest.raises(ValueError, match="no known kind"):
        read_table(tmp_path / "p.ods")
