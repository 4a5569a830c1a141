"""Rotate small grey images, each by its own angle."""

from __future__ import annotations

import numpy as np

from vmtl._utils.types import Array

#: The angles that regression on rotated digits has as targets, in degrees.
ANGLES = tuple(range(0, 91, 10))


def rotate_images(images: Array, degrees: Array) -> Array:
    """(n, h, w) images in [0, 1] as float32, each turned counter-clockwise by its angle; corners become 0."""
    from scipy.ndimage import rotate

    turned = images.astype(np.float32, copy=True)
    for angle in np.unique(degrees[degrees != 0]):
        same = degrees == angle
        turned[same] = rotate(images[same], float(angle), axes=(2, 1), reshape=False, order=1)
    return np.clip(turned, 0, 1)
