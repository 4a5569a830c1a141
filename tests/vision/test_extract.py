"""Extraction: one vector per image, cached by content, resumed, broken images named."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmtl.datasets import image_folder, load_npz, save_npz
from vmtl.vision import Backbone, BrokenImageError, Transform, extract_features, load_backbone


def test_every_image_becomes_a_row(images: Path, backbone: Backbone, tmp_path: Path) -> None:
    done = extract_features(images, backbone, cache=tmp_path)
    assert done.problem.X.shape == (12, 3)
    assert done.problem.X.dtype == np.float32
    assert done.problem.task_names == ("art", "photo")
    assert done.problem.class_names == ("cat", "dog")
    assert done.problem.paths is not None
    assert done.problem.paths[0] == "art/cat/0.png"
    assert done.broken == ()


def test_features_are_not_held_in_memory(images: Path, backbone: Backbone, tmp_path: Path) -> None:
    """Twelve vectors of 1 MiB: no more than a few at a time, and none is lost."""
    wide = replace(backbone, embed=lambda x: np.resize(x.mean(axis=(2, 3)), (1, 2**18)))
    tracemalloc.start()
    try:
        done = extract_features(images, wide, cache=tmp_path / "cache")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * 2**20
    assert done.problem.X.shape == (12, 2**18)
    narrow = extract_features(images, backbone, cache=tmp_path / "other").problem.X
    np.testing.assert_array_equal(done.problem.X[:, :3], narrow)
    save_npz(done.problem, tmp_path / "f.npz")
    np.testing.assert_array_equal(load_npz(tmp_path / "f.npz").X, done.problem.X)
    assert [file.name for file in (tmp_path / "cache").iterdir()] == ["features.sqlite"]


def test_a_stopped_pass_goes_on(images: Path, backbone: Backbone, counting: Any, tmp_path: Path) -> None:
    counting.stop_at = 7
    with pytest.raises(KeyboardInterrupt):
        extract_features(images, backbone, cache=tmp_path)
    counting.stop_at = None
    done = extract_features(images, backbone, cache=tmp_path)
    assert counting.calls == 12
    assert done.n_cached == 7
    again = extract_features(images, backbone, cache=tmp_path)
    assert counting.calls == 12
    np.testing.assert_array_equal(done.problem.X, again.problem.X)


def test_the_cache_knows_content_weights_and_transform(
    images: Path, backbone: Backbone, counting: Any, tmp_path: Path
) -> None:
    extract_features(images, backbone, cache=tmp_path)
    (images / "art" / "cat" / "0.png").rename(images / "art" / "dog" / "9.png")
    assert extract_features(images, backbone, cache=tmp_path).n_cached == 12
    (images / "art" / "dog" / "9.png").write_bytes((images / "art" / "dog" / "0.png").read_bytes() + b" ")
    assert extract_features(images, backbone, cache=tmp_path).n_cached == 11
    for other in (replace(backbone, fingerprint="1"), replace(backbone, transform=Transform(size=8))):
        assert extract_features(images, other, cache=tmp_path).n_cached == 0


def test_a_broken_image_is_named_or_skipped(images: Path, backbone: Backbone, tmp_path: Path) -> None:
    broken = images / "art" / "cat" / "1.png"
    broken.write_bytes(broken.read_bytes()[:200])
    with pytest.raises(BrokenImageError, match=r"art/cat/1\.png cannot be read.*skip_broken"):
        extract_features(images, backbone, cache=tmp_path)
    done = extract_features(images, backbone, cache=tmp_path, skip_broken=True)
    assert done.broken == (str(broken),)
    assert done.problem.n_rows == 11
    assert done.problem.paths is not None
    assert "art/cat/1.png" not in done.problem.paths
    for file in images.rglob("*.png"):
        file.write_bytes(b"")
    with pytest.raises(ValueError, match="None of the 12 images"):
        extract_features(images, backbone, cache=tmp_path, skip_broken=True)


def test_features_that_are_not_finite_are_refused(images: Path, backbone: Backbone, tmp_path: Path) -> None:
    bad = replace(backbone, embed=lambda x: np.full((len(x), 2), np.nan))
    with pytest.raises(BrokenImageError, match="not finite"):
        extract_features(images, bad, cache=tmp_path)


def test_the_progress_bar_shows_rate_and_time_left(
    images: Path,
    backbone: Backbone,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    extract_features(images, backbone, cache=tmp_path, progress=True)
    shown = capfd.readouterr().err
    assert "12/12" in shown
    assert "images/s" in shown
    assert "0:00:00" in shown


def test_office_caltech_vectors_are_reproduced(real_data: Path, tmp_path: Path) -> None:
    stored = load_npz(real_data / "data" / "office_caltech_effnetlite0.npz")
    images = image_folder(real_data / "data" / "office_caltech_images")
    done = extract_features(images, load_backbone("efficientnet_lite0", n_threads=1), cache=tmp_path)
    assert stored.paths is not None
    assert done.problem.paths is not None
    row = {path: i for i, path in enumerate(stored.paths)}
    theirs = stored.X[[row[path] for path in done.problem.paths]].astype(np.float64)
    ours = done.problem.X.astype(np.float64)
    cosine = (ours * theirs).sum(axis=1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    assert len(cosine) == 240
    assert cosine.min() >= 0.999
