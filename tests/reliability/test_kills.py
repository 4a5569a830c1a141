"""A run in a process that is killed or runs out of disk loses nothing."""

from __future__ import annotations

import random
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from helpers.reliable import RUN, Toy, digest, make_toy, run_python, start_python
from vmtl import VMTLClassifier, VMTLRegressor
from vmtl._utils import tensor_files

pytestmark = pytest.mark.system

#: Everything that a step can depend on: early stopping, noise, dropout and batches, closed-form priors.
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "early stopping": ("c", {"max_steps": 150, "encoder": "linear", "random_state": 3, "early_stopping": True}),
    "paper": ("c", {"max_steps": 40, "latent_dim": 16, "random_state": 3}),
    "closed-form prior": ("r", {"method": "long", "encoder": "linear", "max_steps": 250, "random_state": 3}),
}


def check_kills(name: str, folder: Path, kills: int) -> None:
    """``kills`` SIGKILLs after random steps; whatever ends does so at the undisturbed weights.

    Every step writes a checkpoint before it is announced; the signal arrives while a later one is computed or written.
    A run that ends before its next kill is compared and started again from nothing.
    """
    kind, options = RUNS[name]
    toy, estimator = make_toy(), {"c": VMTLClassifier, "r": VMTLRegressor}[kind]
    undisturbed = estimator(**options).fit(toy.X, toy.labels if kind == "c" else toy.values, tasks=toy.tasks)
    expected, rng, killed, ended, steps = digest(undisturbed), random.Random(name), 0, 0, [0]
    while killed < kills:
        with start_python(RUN, folder, kind, repr(options), 0) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            said = "".join(process.stdout.readline() for _ in range(rng.randint(1, 40)))
            process.send_signal(signal.SIGKILL)
            said, errors = said + process.stdout.read(), process.stderr.read()
        if expected in said:
            shutil.rmtree(folder)
            steps.append(0)
            ended += 1
        else:
            assert process.returncode == -signal.SIGKILL, errors
            killed += 1
            assert saved_step(folder) > steps[-1]  # it went on from where the one before was killed
            steps.append(saved_step(folder))
    assert run_python(RUN, folder, kind, repr(options), 5).split()[-1] == expected
    assert not list(folder.glob(".*.tmp"))
    print(f"{name}: {killed} kills, {ended + 1} runs to their end, resumed at steps {steps}")


def saved_step(folder: Path) -> int:
    file = folder / "state.vmtl-checkpoint"
    return int(tensor_files.load(file, "checkpoint")[0]["step"]) if file.exists() else 0


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_killed_often(name: str, tmp_path: Path) -> None:
    check_kills(name, tmp_path / "run", kills=4)


@pytest.mark.slow
def test_a_full_disk_keeps_the_last_good_checkpoint(toy: Toy, tmp_path: Path) -> None:
    """The first checkpoints fit below the limit on file size, then the limit falls: as on a full disk."""
    script = """
import resource, signal, sys
from helpers.reliable import make_toy
from vmtl import VMTLClassifier
from vmtl.paper.training import checkpoints
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
checkpoints.EVERY_SECONDS = 0.0
toy = make_toy()
def callback(progress):
    if progress.step == 4:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
model = VMTLClassifier(max_steps=9, latent_dim=16, random_state=0)
try:
    model.fit(toy.X, toy.labels, tasks=toy.tasks, checkpoint=sys.argv[1], callback=callback)
except checkpoints.CheckpointError as error:
    print(error)
"""
    folder = tmp_path / "run"
    out = run_python(script, folder)
    assert "Cannot write the checkpoint" in out
    assert "File too large" in out
    assert not list(folder.glob(".*.tmp"))
    steps: list[int] = []
    model = VMTLClassifier(max_steps=9, latent_dim=16, random_state=0)
    model.fit(toy.X, toy.labels, tasks=toy.tasks, checkpoint=folder, callback=lambda p: steps.append(p.step))
    assert steps[0] == 5
    assert digest(model) == digest(
        VMTLClassifier(max_steps=9, latent_dim=16, random_state=0).fit(*toy[:2], tasks=toy.tasks)
    )
