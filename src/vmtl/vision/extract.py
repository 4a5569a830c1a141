"""Images -> features: one pass with a progress bar that resumes where it stopped."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vmtl._utils.progress_bar import ShowProgress, progress_bar
from vmtl._utils.types import Array
from vmtl.data.problem import Problem
from vmtl.datasets.images import image_folder
from vmtl.vision.backbones import Backbone, load_backbone
from vmtl.vision.cache import FeatureCache, content_key
from vmtl.vision.transform import BrokenImageError, decode_image

_ADVICE = "repair it, or leave such images out with skip_broken (--skip-broken)"


@dataclass(frozen=True, eq=False)
class Extraction:
    """A problem whose X are features, the images left out as broken, and what the pass cost."""

    problem: Problem
    broken: tuple[str, ...]
    n_cached: int
    seconds: float


def extract_features(
    images: Problem | str | Path,
    backbone: str | Backbone = "efficientnet_lite0",
    *,
    weights: str | Path | None = None,
    cache: str | Path | None = None,
    skip_broken: bool = False,
    progress: bool = False,
    n_threads: int | None = None,
) -> Extraction:
    """Compute a feature vector for each image of a folder ``<Domain>/<Class>/*.jpg`` or of an image loader.

    The features may exceed the memory: ``problem.X`` maps a nameless file in the cache folder that vanishes with it.

    Parameters
    ----------
    images : Problem or path
        A folder ``<Domain>/<Class>/*.jpg``, or what an image loader gave.
    backbone, weights : str or Backbone, path, default="efficientnet_lite0", None
        ``efficientnet_lite0``, ``vgg16``, ``onnx:FILE`` or ``timm:NAME``, and a local checkpoint, which vgg16 needs.
    cache : path, default=None
        A folder that keeps features, so that a stopped pass goes on; None is the user's cache folder.
    skip_broken : bool, default=False
        Leave out images that cannot be read and list them, instead of stopping at the first.
    progress : bool, default=False
        Show a progress bar on standard error.
    n_threads : int, default=None
        Threads of the backbone; None is all cores.
    """
    start = time.monotonic()
    problem = images if isinstance(images, Problem) else image_folder(images)
    if isinstance(backbone, str):
        backbone = load_backbone(backbone, weights=weights, n_threads=n_threads)
    files = [str(file) for file in np.asarray(problem.X)[:, 0]]
    with FeatureCache(cache) as store, progress_bar("Features", len(files), visible=progress, unit="images") as show:
        X, kept, n_cached = _embed_all(files, backbone, store, skip_broken, show)
    broken = tuple(files[row] for row in sorted(set(range(len(files))) - set(kept)))
    return Extraction(replace(problem.subset(kept), X=X), broken, n_cached, time.monotonic() - start)


def _embed_all(
    files: list[str], backbone: Backbone, store: FeatureCache, skip_broken: bool, show: ShowProgress
) -> tuple[Array, list[int], int]:
    """Features, mapped from a nameless file; the numbers of the images that have them; how many were in the cache."""
    kept: list[int] = []
    n_cached = 0
    with tempfile.TemporaryFile(dir=store.path.parent) as rows:
        for row, file in enumerate(files):
            try:
                vector, was_cached = _embed(file, backbone, store)
            except BrokenImageError:
                if not skip_broken:
                    raise
            else:
                rows.write(vector.tobytes())
                kept.append(row)
                n_cached += was_cached
            show()
        if not kept:
            raise ValueError(f"None of the {len(files)} images can be read; check the folder.")
        rows.flush()
        return np.memmap(rows, dtype=np.float32, mode="r").reshape(len(kept), -1), kept, n_cached


def _embed(file: str, backbone: Backbone, store: FeatureCache) -> tuple[Array, bool]:
    """The features of one image, and whether they were in the cache."""
    try:
        data = Path(file).read_bytes()
        key = content_key(data, backbone.recipe)
        cached = store.get(key)
        if cached is not None:
            return cached, True
        image = decode_image(data)
    except (OSError, BrokenImageError) as error:
        raise BrokenImageError(f"Image {file} cannot be read ({error}); {_ADVICE}.") from error
    vector = np.asarray(backbone.embed(backbone.transform(image)[None])[0], dtype=np.float32)
    if not np.isfinite(vector).all():
        raise BrokenImageError(f"Image {file} gives features that are not finite; {_ADVICE}.")
    store.put(key, vector)
    return vector, False
