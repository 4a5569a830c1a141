"""A run that is interrupted or meets a second run loses nothing and never continues wrongly."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.forms import some_in_the_short_form
from helpers.reliable import Toy, digest, make_toy, run_python
from vmtl import METHODS, VMTLClassifier, VMTLRegressor
from vmtl._utils import tensor_files
from vmtl._utils.atomic_files import write_atomically
from vmtl.paper.training import checkpoints
from vmtl.paper.training.checkpoints import Checkpoint, CheckpointError
from vmtl.paper.training.training import DivergenceError


@pytest.mark.parametrize("kind", some_in_the_short_form((VMTLClassifier, VMTLRegressor), VMTLRegressor))
@pytest.mark.parametrize("method", METHODS)
def test_every_step_is_a_place_to_resume(
    method: str, kind: Any, toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted in the callback of two different steps, every method ends at the same bits."""
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 0.0)
    y = toy.labels if kind is VMTLClassifier else toy.values
    options: dict[str, Any] = {"max_steps": 12, "latent_dim": 16, "random_state": 1}
    whole = kind(method=method, **options).fit(toy.X, y, tasks=toy.tasks)

    def stop_at(step: int) -> Any:
        def callback(progress: Any) -> None:
            if progress.step == step:
                raise KeyboardInterrupt

        return callback

    model = kind(method=method, **options)
    for step in (3, 10):
        with pytest.raises(KeyboardInterrupt):
            model.fit(toy.X, y, tasks=toy.tasks, checkpoint=tmp_path, callback=stop_at(step))
        assert not hasattr(model, "tasks_")
    steps: list[int] = []
    model.fit(toy.X, y, tasks=toy.tasks, checkpoint=tmp_path, callback=lambda progress: steps.append(progress.step))
    assert steps == [11, 12]
    assert digest(model) == digest(whole)
    again = kind(method=method, **options).fit(toy.X, y, tasks=toy.tasks, checkpoint=tmp_path)
    assert digest(again) == digest(whole)


def test_without_a_chosen_seed_the_same_call_resumes(toy: Toy, tmp_path: Path) -> None:
    first = VMTLRegressor(max_steps=5, latent_dim=16).fit(toy.X, toy.values, tasks=toy.tasks, checkpoint=tmp_path)
    second = VMTLRegressor(max_steps=5, latent_dim=16).fit(toy.X, toy.values, tasks=toy.tasks, checkpoint=tmp_path)
    assert first.seed_ == second.seed_
    assert digest(first) == digest(second)


@pytest.mark.parametrize(
    "change",
    [
        {"random_state": 1},
        {"max_steps": 6},
        {"dtype": "float64"},
        {"early_stopping": True},
        {"method": "vbmtl"},
        {"learning_rate": 0.01},
    ],
)
def test_other_settings_are_not_continued(change: dict[str, Any], toy: Toy, tmp_path: Path) -> None:
    options: dict[str, Any] = {"max_steps": 5, "latent_dim": 16, "random_state": 0}
    VMTLRegressor(**options).fit(toy.X, toy.values, tasks=toy.tasks, checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match="other data or settings"):
        VMTLRegressor(**{**options, **change}).fit(toy.X, toy.values, tasks=toy.tasks, checkpoint=tmp_path)


def test_other_data_are_not_continued(toy: Toy, tmp_path: Path) -> None:
    model = VMTLClassifier(max_steps=5, latent_dim=16, random_state=0)
    model.fit(toy.X, toy.labels, tasks=toy.tasks, checkpoint=tmp_path)
    changed = toy.X.copy()
    changed[-1, -1] += 1e-6
    with pytest.raises(CheckpointError, match="other data or settings"):
        model.fit(changed, toy.labels, tasks=toy.tasks, checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match="other data or settings"):
        model.fit(toy.X, toy.labels, tasks=toy.tasks[::-1], checkpoint=tmp_path)


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "model"])
def test_a_damaged_checkpoint_is_an_error(damage: str, toy: Toy, tmp_path: Path) -> None:
    model = VMTLClassifier(max_steps=5, latent_dim=16, random_state=0)
    model.fit(toy.X, toy.labels, tasks=toy.tasks, checkpoint=tmp_path)
    file = tmp_path / "state.vmtl-checkpoint"
    data = bytearray(file.read_bytes())
    if damage == "flip":
        data[-5] ^= 1
    if damage == "cut":
        del data[-100:]
    if damage == "empty":
        data = bytearray()
    file.write_bytes(data)
    if damage == "model":
        model.save(file)
    with pytest.raises(CheckpointError, match="delete the folder"):
        model.fit(toy.X, toy.labels, tasks=toy.tasks, checkpoint=tmp_path)


def _unprivileged() -> dict[str, Any]:
    """Root may write anywhere, so as root the run is given to nobody."""
    return {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}


@pytest.mark.slow
def test_a_read_only_folder_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR | stat.S_IROTH | stat.S_IXOTH)
    script = """
import os, sys
if len(sys.argv) > 2:
    os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
from vmtl.paper.training.checkpoints import Checkpoint, CheckpointError
try:
    Checkpoint(sys.argv[1], "run", 0).__enter__()
except CheckpointError as error:
    print(error)
"""
    # imports need the rights that the run itself gives up
    script = script.replace("if len", "import vmtl.paper.training.checkpoints\nif len", 1)
    out = run_python(script, folder, *(list(_unprivileged().values())[:1]))
    folder.chmod(0o755)
    assert "Cannot write checkpoints" in out
    assert "Permission denied" in out


def test_a_file_in_place_of_the_folder_is_an_error(toy: Toy, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("something else")
    with pytest.raises(CheckpointError, match="Cannot write checkpoints"):
        VMTLClassifier(max_steps=2).fit(*toy[:2], tasks=toy.tasks, checkpoint=tmp_path / "run")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever fails between the first byte and the rename, the old file stays and no litter is left."""
    file = tmp_path / "file"
    write_atomically(file, b"old")

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(OSError, match="No space"):
                write_atomically(file, b"new")
        assert file.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [file]


def test_what_a_killed_write_left_is_swept(tmp_path: Path) -> None:
    litter = tmp_path / ".state.vmtl-checkpoint.123-abcd.tmp"
    litter.write_bytes(b"half")
    other = tmp_path / "mine.txt"
    other.write_bytes(b"kept")
    with Checkpoint(tmp_path, "run", 0):
        assert not litter.exists()
    assert other.exists()


def test_two_runs_on_one_folder_are_detected(tmp_path: Path) -> None:
    with Checkpoint(tmp_path, "run", 0):
        with pytest.raises(CheckpointError, match="Another run"):
            Checkpoint(tmp_path, "run", 0).__enter__()
        script = """
import sys
from vmtl.paper.training.checkpoints import Checkpoint, CheckpointError
try:
    Checkpoint(sys.argv[1], "run", 0).__enter__()
except CheckpointError as error:
    print(error)
"""
        assert "Another run" in run_python(script, tmp_path)
    with Checkpoint(tmp_path, "run", 0):
        pass


def test_a_diverging_run_never_checkpoints_broken_weights(
    toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state in the folder is finite, and the estimator keeps the fit that it had."""
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 0.0)
    model = VMTLRegressor(encoder="linear", max_steps=8, random_state=0).fit(*toy[::2], tasks=toy.tasks)
    before = digest(model)
    model.set_params(learning_rate=1e30)
    with pytest.raises(DivergenceError, match="step"):
        model.fit(toy.X, toy.values, tasks=toy.tasks, checkpoint=tmp_path)
    assert digest(model) == before
    file = tmp_path / "state.vmtl-checkpoint"
    if file.exists():
        _, tensors = tensor_files.load(file, "checkpoint")
        assert all(np.isfinite(v.numpy()).all() for k, v in tensors.items() if k.startswith("model."))


def test_toys_are_the_same_everywhere() -> None:
    """The runs above compare processes: their data must not depend on the process."""
    first, second = make_toy(), make_toy()
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
