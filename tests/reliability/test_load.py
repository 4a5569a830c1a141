"""Large inputs in bounded memory, many tasks, many classes, many fits."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.reliable import run_python
from vmtl import MultiTaskClassifier, MultiTaskRegressor

pytestmark = pytest.mark.system

MEGABYTE = 2**20
#: argv: file, rows, columns, dtype. Predicts a memory-mapped array and reports its own peak of private memory.
PREDICT = """
import json, sys, threading, time
import numpy as np
from vmtl import MultiTaskClassifier
file, rows, columns, dtype = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]

def private():
    for line in open("/proc/self/status"):
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024

X = np.memmap(file, dtype=dtype, mode="r", shape=(rows, columns))
few = np.asarray(X[:400], dtype=np.float32)
y, tasks = few[:, 0] > np.median(few[:, 0]), np.arange(400) % 4
model = MultiTaskClassifier(random_state=0).fit(few, y, tasks=tasks)
labels = np.arange(rows) % 4
model.predict(X[:5000], tasks=labels[:5000])
before, peak, done = private(), [0], threading.Event()

def watch():
    while not done.is_set():
        peak[0] = max(peak[0], private())
        time.sleep(0.01)

watcher = threading.Thread(target=watch)
watcher.start()
start = time.perf_counter()
found = model.predict(X, tasks=labels)
seconds = time.perf_counter() - start
done.set()
watcher.join()
assert len(found) == rows
last = slice(rows - 1000, rows)
assert (found[last] == model.predict(np.asarray(X[last]), tasks=labels[last])).mean() > 0.99  # but for rounding
print(json.dumps({"grown": peak[0] - before, "seconds": seconds, "rows": rows}))
"""


def write_rows(file: Path, rows: int, columns: int, dtype: str) -> None:
    rng = np.random.default_rng(0)
    block = rng.normal(scale=30, size=(4096, columns)).astype(dtype)
    with file.open("wb") as stream:
        for start in range(0, rows, len(block)):
            np.roll(block, start // len(block), axis=1)[: rows - start].tofile(stream)


def check_rows(file: Path, rows: int, columns: int, dtype: str, limit: int) -> dict[str, Any]:
    write_rows(file, rows, columns, dtype)
    size = file.stat().st_size
    found: dict[str, Any] = json.loads(run_python(PREDICT, file, rows, columns, dtype).splitlines()[-1])
    print(f"{rows} x {columns} {dtype} ({size / MEGABYTE:.0f} MB): {found}")
    file.unlink()
    assert found["grown"] < limit < rows * columns * 8
    return found


@pytest.mark.parametrize(
    ("dtype", "rows", "limit"),
    [
        ("float32", 20_000, 60),
        pytest.param("float32", 200_000, 60, marks=pytest.mark.slow),
        pytest.param("int16", 200_000, 250, marks=pytest.mark.slow),
    ],
)
def test_rows_on_disk_are_predicted_in_bounded_memory(dtype: str, rows: int, limit: int, tmp_path: Path) -> None:
    """The same private memory for ten times the rows, far less than they take; also where each has to be converted."""
    check_rows(tmp_path / "rows", rows, 512, dtype, limit * MEGABYTE)


def test_139_tasks() -> None:
    rng = np.random.default_rng(0)
    tasks = np.sort(np.arange(139 * 6) % 139)
    X = rng.normal(size=(len(tasks), 10))
    y = X @ rng.normal(size=10) + 0.1 * tasks
    model = MultiTaskRegressor(random_state=0).fit(X, y, tasks=tasks)
    assert model.alpha_.shape == (139, 139)
    assert np.isfinite(model.predict(X, tasks=tasks)).all()
    assert len(model.score_tasks(X, y, tasks=tasks)) == 139


@pytest.mark.slow
def test_345_classes() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(345), 4)
    X = rng.normal(size=(345, 12))[y] + 0.3 * rng.normal(size=(len(y), 12))
    tasks = np.arange(len(y)) % 2
    model = MultiTaskClassifier(random_state=0).fit(X, y, tasks=tasks)
    found = model.predict_proba(X, tasks=tasks)
    assert found.shape == (len(y), 345)
    assert model.score(X, y, tasks=tasks) > 0.5


def resident() -> int:
    text = Path("/proc/self/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith("RssAnon")).split()[1]) * 1024


def leaked(fits: int) -> float:
    """Megabytes of private memory that ``fits`` fits, predictions, saves and loads leave behind."""
    rng = np.random.default_rng(0)
    X, tasks = rng.normal(size=(100, 50)), np.arange(100) % 4
    y = (X[:, 0] > 0).astype(int)

    def once(seed: int) -> None:
        model = MultiTaskClassifier(random_state=seed).fit(X, y, tasks=tasks)
        model.uncertainty(X, tasks=tasks)

    for seed in range(5):
        once(seed)
    gc.collect()
    before = resident()
    for seed in range(fits):
        once(seed)
    gc.collect()
    return (resident() - before) / MEGABYTE


@pytest.mark.slow
def test_eighty_fits_leak_nothing() -> None:
    found = leaked(80)
    print(f"80 fits left {found:.1f} MB")
    assert found < 20
