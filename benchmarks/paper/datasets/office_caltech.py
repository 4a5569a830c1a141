"""Office-Caltech: ten classes that Office-31 and Caltech-256 share, in four domains (Gong et al., 2012)."""

from __future__ import annotations

from pathlib import Path

from benchmarks.paper.datasets.image_sets import Domain, ImageSet, load_image_set
from vmtl.data.problem import Problem

OFFICE_CALTECH = ImageSet(
    name="Office-Caltech",
    domains=(
        Domain("amazon", 958),
        Domain("caltech10", 1123, aliases=("caltech", "caltech256")),
        Domain("dslr", 157),
        Domain("webcam", 295),
    ),
    n_classes=10,
    lists=("{}.txt",),
)


def load_office_caltech(
    root: str | Path, *, lists: str | Path | None = None, allow_incomplete: bool = False
) -> Problem:
    """Read ``<root>/<domain>/<class>/*.jpg``, list files ``<domain>.txt``, or a feature file of them.

    Parameters
    ----------
    root : path
        The folder of the set, or a feature file (.npz).
    lists : path, default=None
        The folder of the list files, if it is not below ``root``.
    allow_incomplete : bool, default=False
        Take a set that lacks domains, classes or images.
    """
    return load_image_set(OFFICE_CALTECH, root, lists, allow_incomplete)
