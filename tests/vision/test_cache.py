"""The cache: keys depend on content and recipe, vectors survive, other files are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vmtl.vision.cache import FeatureCache, cache_folder, content_key


def test_vectors_survive(tmp_path: Path) -> None:
    key = content_key(b"image", "recipe")
    vector = np.arange(3, dtype=np.float32)
    with FeatureCache(tmp_path) as cache:
        assert cache.get(key) is None
        cache.put(key, vector)
    with FeatureCache(tmp_path) as cache:
        np.testing.assert_array_equal(cache.get(key), vector)


def test_keys_depend_on_content_and_recipe() -> None:
    keys = {content_key(data, recipe) for data in (b"a", b"b") for recipe in ("x", "y")}
    assert len(keys) == 4


def test_the_folder_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VMTL_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("VMTL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "vmtl"


def test_a_file_that_is_no_cache_is_refused(tmp_path: Path) -> None:
    (tmp_path / "features.sqlite").write_text("no database, but longer than a header " * 9)
    with pytest.raises(ValueError, match="delete it"), FeatureCache(tmp_path):
        pass
