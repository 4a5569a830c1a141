"""DomainNet, cleaned version: 345 classes in six domains, 586,575 images (Peng et al., 2019)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from vmtl.datasets.image_sets import Domain, ImageSet, load_image_set
from vmtl.problem import Problem

DOMAINNET = ImageSet(
    name="DomainNet",
    domains=(
        Domain("clipart", 48_129),
        Domain("infograph", 51_605),
        Domain("painting", 72_266),
        Domain("quickdraw", 172_500),
        Domain("real", 172_947),
        Domain("sketch", 69_128),
    ),
    n_classes=345,
    lists=("{}_train.txt", "{}_test.txt"),
)
PARTS = ("all", "train", "test")


def load_domainnet(
    root: str | Path, *, lists: str | Path | None = None, part: str = "all", allow_incomplete: bool = False
) -> Problem:
    """Read ``<root>/<domain>/<class>/*.jpg``, list files ``<domain>_train.txt`` / ``_test.txt``, or features.

    part : with list files, ``train`` or ``test`` takes one of the two; the paper splits all images anew.
    """
    if part not in PARTS:
        raise ValueError(f"part is {part!r}; choose one of {', '.join(PARTS)}.")
    if part == "all":
        return load_image_set(DOMAINNET, root, lists, allow_incomplete)
    domains = tuple(replace(domain, n_images=0) for domain in DOMAINNET.domains)
    half = replace(DOMAINNET, domains=domains, lists=(f"{{}}_{part}.txt",))
    return load_image_set(half, root, root if lists is None else lists, allow_incomplete)
