"""Features of many rows are never in memory together."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.processes import PATIENCE

pytest.importorskip("pyarrow", reason="Parquet is an extra: pip install vmtl[tables]")

#: Reads the rows of a folder, makes 512 features of them and goes through these twice; says megabytes above the start.
PASSES = """
import resource, sys
import torch
from pathlib import Path
from vmtl.data.rows import Rows
from vmtl.data.stored.crews import LocalCrew
from vmtl.data.stored.owner import Stage
from vmtl.data.stored.parquet_folder import ParquetFolder
from vmtl.data.stored.stored_rows import stored_rows
from vmtl.gp.many_rows import DataTerm, squared_features

torch.set_num_threads(1)

def read(frame, first):
    x = torch.tensor(frame[["a", "b"]].to_numpy(), dtype=torch.float32)
    task = torch.tensor(frame["task"].to_numpy())
    return Rows(x, x[:, 0], task, torch.ones(len(x)), 5, 1, False)

def widen(x):
    return x[:, :1].repeat(1, 512)

source = ParquetFolder.open(sys.argv[1])
example = read(next(source.parts[0].frames(["a", "b", "task"]))[1].head(9), 0)
DataTerm(torch.zeros(5, 1, 3, dtype=torch.float64), 1.0, None)(example)  # libraries are there
before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
crew = LocalCrew(source.parts, "vmtl-test-of-memory-" + str(before))
rows = stored_rows(crew, Stage(("a", "b", "task"), read), torch.full((5,), source.n_rows // 5), example)
rows = rows.map_columns(widen)
(told,) = rows.total(squared_features)
rows.total(DataTerm(torch.zeros(5, 1, 513, dtype=torch.float64), 1.0, None))
crew.close()
assert int(told[:, -1].sum()) == source.n_rows
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(int(status["VmHWM"].split()[0]) / 1024 - before / 2**20)  # getrusage counts the parent's, too
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_a_pass_takes_a_fraction_of_the_features(tmp_path: Path) -> None:
    n_rows = 200_000  # 400 MB of features
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n_rows, 2)), columns=["a", "b"]).assign(task=np.arange(n_rows) % 5)
    table.to_parquet(tmp_path / "rows.parquet", index=False)
    done = subprocess.run(
        [sys.executable, "-c", PASSES, str(tmp_path)], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 250
