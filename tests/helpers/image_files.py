"""Empty image files in the layout of published sets."""

from __future__ import annotations

from pathlib import Path

from benchmarks.paper.datasets.image_sets import ImageSet


def touch(root: Path, *places: str) -> None:
    """Empty files at these places below ``root``."""
    for place in places:
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).touch()


def make_set(root: Path, spec: ImageSet, n_classes: int | None = None) -> None:
    """Two images of every class of every domain."""
    for domain in spec.domains:
        for c in range(n_classes or spec.n_classes):
            touch(root, *(f"{domain.name}/class_{c:03d}/{i}.jpg" for i in range(2)))
