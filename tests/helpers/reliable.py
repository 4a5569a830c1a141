"""Data and helpers that the reliability tests, and the processes they start, share."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from helpers.processes import PATIENCE


class Toy(NamedTuple):
    """A small problem of three tasks."""

    X: Any
    labels: Any
    values: Any
    tasks: Any


def make_toy(n: int = 90, d: int = 6, seed: int = 0) -> Toy:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    tasks = np.array(["north", "south", "west"])[np.arange(n) % 3]
    values = X @ rng.normal(size=d) + 0.3 * (tasks == "west") + 0.1 * rng.normal(size=n)
    return Toy(X, np.array(["low", "mid", "high"])[np.digitize(values, [-1, 1])], values, tasks)


def start_python(script: str, *arguments: Any, threads: int = 1, **options: Any) -> subprocess.Popen[str]:
    """A fresh interpreter that runs ``script``; warnings are errors there too."""
    here = Path(__file__).parents[1]
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "PYTHONPATH": os.pathsep.join([str(here), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    script = "from helpers.rounding import switch_on_if_asked; switch_on_if_asked()\n" + script
    command = [sys.executable, "-W", "error", "-c", script, *map(str, arguments)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, **pipes, **options)


def run_python(script: str, *arguments: Any, threads: int = 1, **options: Any) -> str:
    """What ``script`` printed; a failure shows its error."""
    process = start_python(script, *arguments, threads=threads, **options)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    return out


def digest(model: Any) -> str:
    """One number for everything that a fitted model keeps; the history's seconds are not part of it."""
    total = hashlib.sha256()
    for name, tensor in sorted(model._fitted.to_tensors().items()):
        total.update(name.encode() + tensor.contiguous().numpy().tobytes())
    return total.hexdigest()


#: argv: seed. Prints digests of a classifier and of a regressor, fitted as users get them.
FIT = """
import sys
from helpers.reliable import digest, make_toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor
toy = make_toy()
for kind, y in ((MultiTaskClassifier, toy.labels), (MultiTaskRegressor, toy.values)):
    print(digest(kind(random_state=int(sys.argv[1]), n_threads=1).fit(toy.X, y, tasks=toy.tasks)))
"""
#: argv: folder, estimator, options as Python, seconds between checkpoints. Prints the number of every step, and in the
#: end a digest of all weights.
RUN = """
import sys
from helpers.reliable import digest, make_toy
from vmtl import VMTLClassifier, VMTLRegressor
from vmtl.paper.training import checkpoints
folder, kind, options, seconds = sys.argv[1:5]
checkpoints.EVERY_SECONDS = float(seconds)
toy = make_toy()
def say(progress):
    print(progress.step, flush=True)
model = {"c": VMTLClassifier, "r": VMTLRegressor}[kind](**eval(options))
y = toy.labels if kind == "c" else toy.values
model.fit(toy.X, y, tasks=toy.tasks, checkpoint=folder or None, callback=say)
print(digest(model))
"""
