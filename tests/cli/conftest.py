"""Small tables of three sites, and models fitted to them by the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from helpers.tables import FEW, Run, make_table
from vmtl.cli import app


@pytest.fixture
def run() -> Run:
    """Run a command in this process; the exit code, stdout and stderr come back."""

    def invoke(*arguments: object) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return invoke


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train, labelled and new rows."""
    folder = tmp_path_factory.mktemp("tables")
    train, test = make_table(90, 0), make_table(60, 1)
    for name, target, other in (("class", "outcome", "days"), ("real", "days", "outcome")):
        train.drop(columns=other).to_csv(folder / f"{name}_train.csv", index=False)
        test.drop(columns=other).to_csv(folder / f"{name}_labelled.csv", index=False)
        assert target in train
    test.drop(columns=["days", "outcome"]).to_csv(folder / "new.csv", index=False)
    return folder


def _fit(folder: Path, name: str, target: str) -> Path:
    out = folder / f"{name}.vmtl"
    arguments = ["fit", str(folder / f"{name}_train.csv"), "--task", "site", "--target", target, "--out", str(out)]
    done = CliRunner().invoke(app, [*arguments, *FEW, "--quiet"])
    assert done.exit_code == 0, done.output
    return out


@pytest.fixture(scope="session")
def class_model(tables: Path) -> Path:
    return _fit(tables, "class", "outcome")


@pytest.fixture(scope="session")
def real_model(tables: Path) -> Path:
    return _fit(tables, "real", "days")
