"""The command as a process of its own: entry points, Ctrl-C, pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from helpers.processes import PATIENCE
from helpers.tables import Run
from vmtl._utils import tensor_files

pytestmark = pytest.mark.system

VMTL = (sys.executable, "-m", "vmtl")
ALONE = {**os.environ, "OMP_NUM_THREADS": "1"}


def test_help_reads_like_a_manual_and_names_every_command() -> None:
    done = subprocess.run(
        [*VMTL, "--help"], capture_output=True, text=True, check=True, env={**ALONE, "COLUMNS": "100"}
    )
    for word in (
        "demo",
        "fit",
        "predict",
        "evaluate",
        "report",
        "suggest",
        "export",
        "serve",
        "features",
        "check",
        "methods",
        "info",
        "--install-completion",
    ):
        assert word in done.stdout
    assert "vmtl fit train.csv --task site --target outcome" in " ".join(done.stdout.replace("│", " ").split())
    assert "Exit codes" in done.stdout


@contextmanager
def interruptible(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A process as in a terminal: it heeds SIGINT, which programs started in the background of a script ignore."""

    def heed() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ALONE, preexec_fn=heed) as process:
        try:
            yield process
        finally:
            process.kill()


def interrupted(process: subprocess.Popen[str]) -> str:
    """What a process says to Ctrl-C, which is pressed again where it was lost: Python drops one inside a destructor."""
    for _ in range(10):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=PATIENCE / 10)[1]
    raise AssertionError("the process does not heed Ctrl-C")


def test_ctrl_c_ends_a_fit_with_130_and_leaves_no_model(tables: Path, tmp_path: Path) -> None:
    fit = [
        *VMTL,
        "fit",
        str(tables / "class_train.csv"),
        "--task",
        "site",
        "--target",
        "outcome",
        "--paper-method",
        "vmtl",
        "--steps",
        "1000000",
    ]
    places = ["--out", str(tmp_path / "m.vmtl"), "--checkpoint", str(tmp_path / "state")]
    with interruptible([*fit, *places]) as process:
        deadline = time.monotonic() + PATIENCE
        while not (tmp_path / "state" / "lock").exists():  # training begins right after the lock
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.5)
        errors = interrupted(process)
    # Python may end by the signal itself if it arrived inside exec(); a shell shows 130 for both.
    assert process.returncode in (130, -signal.SIGINT), errors
    assert "Traceback" not in errors
    assert "Stopped" in errors
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    assert not list((tmp_path / "state").glob("*.tmp"))


#: `python -m vmtl` that writes a checkpoint after every step, says where it resumed, and waits after step HOLD_AT.
OFTEN = """
import os, runpy, sys, threading
from vmtl.paper.training import checkpoints
Checkpoint, checkpoints.EVERY_SECONDS = checkpoints.Checkpoint, 0.0
resume, write, hold_at = Checkpoint.resume, Checkpoint.__call__, int(os.environ.get("HOLD_AT", -1))
def say(self, trainer):
    resume(self, trainer)
    print("resumed at step", trainer.step, file=sys.stderr, flush=True)
def hold(self, trainer, progress):
    write(self, trainer, progress)
    if progress.step == hold_at:
        threading.Event().wait()
Checkpoint.resume, Checkpoint.__call__ = say, hold
runpy.run_module("vmtl", run_name="__main__", alter_sys=True)
"""


def test_a_killed_fit_is_resumed_by_the_same_command(run: Run, tables: Path, tmp_path: Path) -> None:
    """SIGKILL during training; the model of the second call is that of a run that nobody disturbed."""
    fit = [
        "fit",
        str(tables / "class_train.csv"),
        "--task",
        "site",
        "--target",
        "outcome",
        "--paper-method",
        "vmtl",
        "--steps",
        "60",
        "--quiet",
    ]
    places = ["--out", str(tmp_path / "killed.vmtl"), "--checkpoint", str(tmp_path / "state")]
    command = [sys.executable, "-c", OFTEN, *fit, *places]
    checkpoint = tmp_path / "state" / "state.vmtl-checkpoint"
    held = {**ALONE, "HOLD_AT": "7"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=held) as process:
        deadline = time.monotonic() + PATIENCE
        while saved_step(checkpoint) < 7:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "killed.vmtl").exists()
    done = subprocess.run(command, capture_output=True, text=True, env=ALONE, check=True)
    assert done.stderr == "resumed at step 7\n"
    assert run(*fit, "--out", tmp_path / "whole.vmtl").exit_code == 0
    assert tensor_bytes(tmp_path / "killed.vmtl") == tensor_bytes(tmp_path / "whole.vmtl")
    assert {path.name for path in tmp_path.iterdir()} == {"killed.vmtl", "whole.vmtl", "state"}
    assert {path.name for path in checkpoint.parent.iterdir()} - {"lock"} == {checkpoint.name}


def saved_step(checkpoint: Path) -> int:
    """The step of a checkpoint, 0 where there is none; it is always whole, whenever it is read."""
    return int(tensor_files.load(checkpoint, "checkpoint")[0]["step"]) if checkpoint.exists() else 0


def tensor_bytes(model: Path) -> bytes:
    """All that follows the header, whose length is in the first eight bytes."""
    data = model.read_bytes()
    return data[8 + int.from_bytes(data[:8], "little") :]


@pytest.mark.slow
def test_a_closed_pipe_is_no_traceback(tables: Path, class_model: Path) -> None:
    command = f"{sys.executable} -m vmtl predict {class_model} {tables / 'new.csv'} | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=ALONE, check=True)
    assert done.stdout.startswith("age,dose,bmi,ward,site,prediction")
    assert "Traceback" not in done.stderr


def test_help_and_completion_do_not_wait_for_torch() -> None:
    code = (
        "import sys; from vmtl.cli import app; from vmtl.cli._support.options import method_names; import vmtl\n"
        "print(method_names()); print([m for m in ('torch', 'sklearn', 'pandas', 'matplotlib') if m in sys.modules])\n"
        "print(sorted(vmtl.METHODS) == method_names(), 'MultiTaskClassifier' in dir(vmtl))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ALONE)
    names, loaded, same = done.stdout.splitlines()
    assert "'vmtl_ac'" in names
    assert loaded == "[]"
    assert same == "True True"
    words = {"COMP_WORDS": "vmtl fit --paper-method vm", "COMP_CWORD": "3"}
    request = {**ALONE, "_VMTL_COMPLETE": "complete_bash", **words}
    vmtl = "import sys; sys.argv = ['vmtl']; from vmtl.cli import app; app(prog_name='vmtl')"
    done = subprocess.run([sys.executable, "-c", vmtl], capture_output=True, text=True, env=request, check=False)
    assert done.stdout.split() == ["vmtl", "vmtl_ac"]
