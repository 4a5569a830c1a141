"""DomainNet, cleaned version: 345 classes in six domains, 586,575 images (Peng et al., 2019)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.paper.datasets.image_sets import Domain, ImageSet, load_image_set
from vmtl.data.problem import Problem

#: Images in each domain's ``_train.txt`` and ``_test.txt``.
SIZES = {
    "clipart": (33_525, 14_604),
    "infograph": (36_023, 15_582),
    "painting": (50_416, 21_850),
    "quickdraw": (120_750, 51_750),
    "real": (120_906, 52_041),
    "sketch": (48_212, 20_916),
}
DOMAINNET = ImageSet(
    name="DomainNet",
    domains=tuple(Domain(name, sum(sizes)) for name, sizes in SIZES.items()),
    n_classes=345,
    lists=("{}_train.txt", "{}_test.txt"),
)
PARTS = ("train", "test", "all")


def load_domainnet(
    root: str | Path, *, lists: str | Path | None = None, part: str = "all", allow_incomplete: bool = False
) -> Problem:
    """Read ``<root>/<domain>/<class>/*.jpg``, list files ``<domain>_train.txt`` / ``_test.txt``, or features.

    Parameters
    ----------
    root : path
        The folder of the set, or a feature file (.npz).
    lists : path, default=None
        The folder of the list files, if it is not below ``root``.
    part : {"train", "test", "all"}, default="all"
        With list files, one of the two; the paper splits all images anew.
    allow_incomplete : bool, default=False
        Take a set that lacks domains, classes or images.
    """
    if part not in PARTS:
        raise ValueError(f"part is {part!r}; choose one of {', '.join(PARTS)}.")
    if part == "all":
        return load_image_set(DOMAINNET, root, lists, allow_incomplete)
    domains = tuple(Domain(name, sizes[PARTS.index(part)]) for name, sizes in SIZES.items())
    half = replace(DOMAINNET, domains=domains, lists=(f"{{}}_{part}.txt",))
    return load_image_set(half, root, root if lists is None else lists, allow_incomplete)
