"""A crew answers as all its owners together: rows in the order they were asked for, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import torch

from helpers.folders import labelled, write_folder
from vmtl._utils.ray_instance import ATTEMPTS
from vmtl.data.rows import Rows, Sums
from vmtl.data.stored.crews import RayCrew, hired, in_order
from vmtl.data.stored.owner import Owner, Stage
from vmtl.data.stored.parquet_folder import ParquetFolder

pytest.importorskip("pyarrow", reason="Parquet is an extra: pip install vmtl[tables]")
TABLE = labelled(60, 0)
STAGE_COLUMNS = ("a", "b")


def rows_of(x: torch.Tensor) -> Rows:
    n = len(x)
    return Rows(x, x[:, 0], torch.arange(n) % 2, torch.ones(n, dtype=torch.float64), 2, 1, False)


def read(frame: pd.DataFrame, first: int) -> Rows:
    return rows_of(torch.tensor(frame[list(STAGE_COLUMNS)].to_numpy()))


def sums(rows: Rows) -> Sums:
    return torch.tensor(len(rows.y)), rows.x.sum(0)


class RayError(Exception):
    """What stands for the errors of Ray."""


class RayTaskError(RayError):
    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class InThisProcess:
    """Ray as a crew sees it, without a cluster: a remote call runs when it is made."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def remote(self, **options: int) -> Any:
        assert options == {"num_cpus": 1, "max_restarts": ATTEMPTS, "max_task_retries": ATTEMPTS}
        return lambda kind: SimpleNamespace(remote=lambda *arguments: _Actor(kind(*arguments)))

    def put(self, value: object) -> object:
        return value

    def get(self, answers: list[Any], timeout: float | None = None) -> list[Any]:
        return [answer() for answer in answers]


class _Actor:
    def __init__(self, owner: Owner) -> None:
        self.owner = owner

    def __getattr__(self, name: str) -> Any:
        return SimpleNamespace(remote=lambda *arguments: lambda: getattr(self.owner, name)(*arguments))


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ParquetFolder:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    return ParquetFolder.open(write_folder(tmp_path / "rows", TABLE, group_rows=7))


def test_rows_come_in_the_order_they_were_asked_for() -> None:
    x = torch.randn(9, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    whole = rows_of(x)
    pieces = [(torch.tensor(some), whole.take(torch.tensor(some))) for some in ([8, 2], [5], [0, 7, 3])]
    asked = torch.tensor([3, 8, 0, 5, 2, 7, 3])
    found = in_order(pieces, asked)
    for name in ("x", "y", "task", "weight"):
        assert torch.equal(getattr(found, name), getattr(whole, name)[asked])


@pytest.mark.parametrize("workers", [0, 2, 50])
def test_workers_say_together_what_one_says(source: ParquetFolder, workers: int, tmp_path: Path) -> None:
    """0 is the crew of this process; more workers than parts own one each."""
    whole, asked = read(TABLE, 0), torch.tensor([41, 3, 59, 20])
    with hired("local", None, None, source.parts) as local:
        crew = RayCrew(InThisProcess(), source.parts, workers, "many") if workers else local  # type: ignore[arg-type]
        if isinstance(crew, RayCrew):
            assert len(crew.owners) == min(workers, len(source.parts))
        for stage in (Stage(STAGE_COLUMNS, read), Stage(STAGE_COLUMNS, read, torch.square)):
            x = whole.x if stage.function is None else whole.x.square()
            count, total = crew.total(stage, sums)
            assert int(count) == 60
            torch.testing.assert_close(total, x.sum(0))
            assert torch.equal(crew.take(stage, asked).x, x[asked])
        crew.close()
    assert not list((tmp_path / "scratch").iterdir())


def test_what_a_crew_kept_goes_with_it_also_after_an_error(source: ParquetFolder, tmp_path: Path) -> None:
    def stop() -> None:
        with hired("local", None, None, source.parts) as crew:
            crew.total(Stage(STAGE_COLUMNS, read, torch.square), sums)
            assert list((tmp_path / "scratch").iterdir())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert not list((tmp_path / "scratch").iterdir())


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (RayTaskError(OSError("the disk is full")), OSError, "^the disk is full$"),
        (RayError("killed\nby the\nsystem"), RuntimeError, r"^A worker died .* \(RayError: killed by the system\)\.$"),
    ],
)
def test_an_error_of_a_worker_is_one_as_it_would_be_here(
    source: ParquetFolder, error: Exception, kind: type[Exception], sentence: str
) -> None:
    def fail(rows: Rows) -> Sums:
        raise error

    crew = RayCrew(InThisProcess(), source.parts, 2, "many")  # type: ignore[arg-type]
    with pytest.raises(kind, match=sentence):
        crew.total(Stage(STAGE_COLUMNS, read), fail)


@pytest.mark.parametrize(
    ("engine", "workers", "address", "sentence"),
    [
        ("cloud", None, None, "Unknown engine 'cloud'; choose local or ray"),
        ("ray", 0, None, "workers is 0; choose at least 1"),
        ("local", 2, None, "workers and address are for engine='ray'"),
        ("local", None, "host:1", "workers and address are for engine='ray'"),
    ],
)
def test_who_cannot_be_hired(engine: str, workers: int | None, address: str | None, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence), hired(engine, workers, address, []):
        pass
