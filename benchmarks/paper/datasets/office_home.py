"""Office-Home: 65 classes of objects in four domains (Venkateswara et al., 2017)."""

from __future__ import annotations

from pathlib import Path

from benchmarks.paper.datasets.image_sets import Domain, ImageSet, load_image_set
from vmtl.data.problem import Problem

OFFICE_HOME = ImageSet(
    name="Office-Home",
    domains=(
        Domain("Art", 2427),
        Domain("Clipart", 4365),
        Domain("Product", 4439),
        Domain("Real World", 4357, aliases=("real",)),
    ),
    n_classes=65,
    lists=("{}.txt",),
)


def load_office_home(root: str | Path, *, lists: str | Path | None = None, allow_incomplete: bool = False) -> Problem:
    """Read ``<root>/<Domain>/<Class>/*.jpg``, list files ``<Domain>.txt``, or a feature file of them.

    Parameters
    ----------
    root : path
        The folder of the set, or a feature file (.npz).
    lists : path, default=None
        The folder of the list files, if it is not below ``root``.
    allow_incomplete : bool, default=False
        Take a set that lacks domains, classes or images.
    """
    return load_image_set(OFFICE_HOME, root, lists, allow_incomplete)
