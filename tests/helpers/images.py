"""Random images as backbones take them."""

from __future__ import annotations

import numpy as np


def some_images(size: int = 224) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((2, 3, size, size)).astype(np.float32)
