"""An image file -> the array a backbone takes: resize, centre crop, scaling."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vmtl._utils.missing_extra import require
from vmtl._utils.types import Array

if TYPE_CHECKING:
    from PIL.Image import Image


class BrokenImageError(ValueError):
    """An image file that cannot be read; the message names it and says what to do."""


@dataclass(frozen=True)
class Transform:
    """Short side to ``size / crop`` (bicubic), the central square, (x - mean) / scale for x in 0..255."""

    size: int = 224
    crop: float = 0.875
    mean: tuple[float, float, float] = (127.0, 127.0, 127.0)
    scale: tuple[float, float, float] = (128.0, 128.0, 128.0)

    def __call__(self, image: Image) -> Array:
        """(3, size, size) float32 of a PIL image in RGB."""
        from PIL.Image import Resampling

        short = round(self.size / self.crop)
        ratio = short / min(image.size)
        width, height = (max(short, round(side * ratio)) for side in image.size)
        image = image.resize((width, height), Resampling.BICUBIC)
        left, top = (width - self.size) // 2, (height - self.size) // 2
        image = image.crop((left, top, left + self.size, top + self.size))
        pixels = np.asarray(image, dtype=np.float32)  # (size, size, 3)
        mean, scale = (np.array(value, dtype=np.float32) for value in (self.mean, self.scale))
        return np.ascontiguousarray(((pixels - mean) / scale).transpose(2, 0, 1))


LITE = Transform()
IMAGENET = Transform(mean=(123.675, 116.28, 103.53), scale=(58.395, 57.12, 57.375))
PIXEL_SCALINGS = {"lite": LITE, "imagenet": IMAGENET}


def decode_image(data: bytes) -> Image:
    """The PIL image in RGB that the bytes of a file hold."""
    require("images", "Reading images", "PIL")
    from PIL import Image as pillow

    try:
        with pillow.open(io.BytesIO(data)) as image:
            return image.convert("RGB")
    except (OSError, SyntaxError, ValueError, pillow.DecompressionBombError) as error:
        raise BrokenImageError(str(error)) from error
