"""Several threads and processes at once give what one after the other gives."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import vmtl
from helpers.processes import PATIENCE
from helpers.reliable import FIT, Toy, digest, start_python
from vmtl import MultiTaskClassifier, MultiTaskRegressor, VMTLClassifier
from vmtl._utils.threads import threads
from vmtl.paper.training.checkpoints import CheckpointError


def fit(toy: Toy, seed: int, **options: Any) -> Any:
    kind, y = ((MultiTaskClassifier, toy.labels), (MultiTaskRegressor, toy.values))[seed % 2]
    return kind(random_state=seed, **options).fit(toy.X, y, tasks=toy.tasks)


def test_fits_in_threads(toy: Toy) -> None:
    expected = [digest(fit(toy, seed)) for seed in range(6)]
    with ThreadPoolExecutor(4) as pool:
        digests = list(pool.map(lambda seed: digest(fit(toy, seed)), range(6)))
    assert digests == expected


def test_predictions_of_one_model_in_threads(toy: Toy) -> None:
    """Also while others are fitted, and with the model just loaded."""
    model = fit(toy, 0)
    expected = model.predict_proba(toy.X, tasks=toy.tasks)
    with ThreadPoolExecutor(4) as pool:
        fits = [pool.submit(fit, toy, seed) for seed in (1, 2)]
        asked = [pool.submit(model.predict_proba, toy.X, tasks=toy.tasks) for _ in range(20)]
        assert all((job.result() == expected).all() for job in asked)
        assert [digest(job.result()) for job in fits] == [digest(fit(toy, 1)), digest(fit(toy, 2))]


@pytest.mark.slow
def test_processes_at_once() -> None:
    running = [start_python(FIT, 0) for _ in range(2)]
    ended = [process.communicate(timeout=PATIENCE) for process in running]
    assert all(process.returncode == 0 for process in running), ended
    first, second = (out for out, _ in ended)
    assert first == second


def test_two_runs_on_one_checkpoint(toy: Toy, tmp_path: Path) -> None:
    """The second is refused, the first goes on undisturbed."""
    inside, go_on = threading.Event(), threading.Event()

    def wait(progress: Any) -> None:
        if progress.step == 3:
            inside.set()
            assert go_on.wait(PATIENCE)

    with ThreadPoolExecutor(1) as pool:
        model = VMTLClassifier(max_steps=6, latent_dim=8, random_state=0)
        first = pool.submit(model.fit, *toy[:2], tasks=toy.tasks, checkpoint=tmp_path, callback=wait)
        assert inside.wait(PATIENCE)
        with pytest.raises(CheckpointError, match="Another run"):
            VMTLClassifier(max_steps=6, latent_dim=8, random_state=0).fit(
                *toy[:2], tasks=toy.tasks, checkpoint=tmp_path
            )
        go_on.set()
        expected = VMTLClassifier(max_steps=6, latent_dim=8, random_state=0).fit(*toy[:2], tasks=toy.tasks)
        assert digest(first.result()) == digest(expected)


def test_files_written_at_once_are_whole(toy: Toy, tmp_path: Path) -> None:
    """The last writer wins, and a reader always sees one of the two files."""
    models = [fit(toy, seed) for seed in (0, 2)]
    expected = {model.predict_proba(toy.X, tasks=toy.tasks).tobytes() for model in models}
    models[0].save(tmp_path / "model")
    with ThreadPoolExecutor(3) as pool:
        writes = [pool.submit(models[n % 2].save, tmp_path / "model") for n in range(20)]
        reads = [pool.submit(vmtl.load, tmp_path / "model") for _ in range(20)]
        for read in reads:
            assert read.result().predict_proba(toy.X, tasks=toy.tasks).tobytes() in expected
        for write in writes:
            write.result()
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_the_number_of_threads_comes_back() -> None:
    """Overlapping calls leave the process with the number that it had before the first of them."""
    before, barrier = torch.get_num_threads(), threading.Barrier(2)

    def call(first: bool) -> None:
        if not first:
            barrier.wait(PATIENCE)
        with threads(3):
            if first:
                barrier.wait(PATIENCE)
            barrier.wait(PATIENCE)
            if not first:
                barrier.wait(PATIENCE)
        if first:
            barrier.wait(PATIENCE)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(call, (True, False)))
    assert torch.get_num_threads() == before
    with pytest.raises(ValueError, match="stop"), threads(2):
        raise ValueError("stop")
    assert torch.get_num_threads() == before


@pytest.mark.slow
def test_one_thread_or_two_agree(toy: Toy) -> None:
    """Sums may run in another order: equal to rounding, not to the bit."""
    one, two = (fit(toy, 0, n_threads=n).predict_proba(toy.X, tasks=toy.tasks) for n in (1, 2))
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-6)
