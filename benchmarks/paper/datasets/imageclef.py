"""ImageCLEF-DA: twelve classes that four public sets share, 50 images of each (Long et al., 2017)."""

from __future__ import annotations

from pathlib import Path

from benchmarks.paper.datasets.image_sets import Domain, ImageSet, load_image_set
from vmtl.data.problem import Problem

IMAGECLEF = ImageSet(
    name="ImageCLEF",
    domains=(
        Domain("caltech", 600, aliases=("c",)),
        Domain("imagenet", 600, aliases=("i",)),
        Domain("pascal", 600, aliases=("p",)),
        Domain("bing", 600, aliases=("b",)),
    ),
    n_classes=12,
    lists=("{}List.txt",),
    class_names=(
        "aeroplane",
        "bike",
        "bird",
        "boat",
        "bottle",
        "bus",
        "car",
        "dog",
        "horse",
        "monitor",
        "motorbike",
        "people",
    ),
)


def load_imageclef(root: str | Path, *, lists: str | Path | None = None, allow_incomplete: bool = False) -> Problem:
    """Read the set as it is distributed, or ``<root>/<domain>/<class>/*.jpg``, or a feature file.

    Distributed are the folders ``c``, ``i``, ``p`` and ``b`` and ``list/cList.txt`` to ``list/bList.txt``. A few
    images of Pascal are listed under two classes, a bus and a car say; they are one row of each.

    Parameters
    ----------
    root : path
        The folder of the set, or a feature file (.npz).
    lists : path, default=None
        The folder of the list files, if it is not below ``root``.
    allow_incomplete : bool, default=False
        Take a set that lacks domains, classes or images.
    """
    return load_image_set(IMAGECLEF, root, lists, allow_incomplete)
