"""The transform: sizes, crop, scaling, and images of every mode."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from vmtl.vision.transform import IMAGENET, LITE, BrokenImageError, Transform, decode_image


def grey(width: int, height: int, value: int = 127) -> Image.Image:
    return Image.new("RGB", (width, height), (value,) * 3)


@pytest.mark.parametrize("size", [(300, 200), (200, 300), (17, 500), (256, 256), (1, 1)])
def test_every_size_becomes_a_square(size: tuple[int, int]) -> None:
    pixels = LITE(grey(*size))
    assert pixels.shape == (3, 224, 224)
    assert pixels.dtype == np.float32
    np.testing.assert_allclose(pixels, 0, atol=1e-6)


def test_scaling_is_the_backbones() -> None:
    np.testing.assert_allclose(LITE(grey(9, 9, 255)), 1, atol=1e-6)
    white = IMAGENET(grey(9, 9, 255))[:, 0, 0]
    np.testing.assert_allclose(white, (1 - np.array([0.485, 0.456, 0.406])) / [0.229, 0.224, 0.225], rtol=1e-5)


def test_the_crop_is_central() -> None:
    wide = np.zeros((32, 96, 3), dtype=np.uint8)
    wide[:, 32:64] = 255
    pixels = Transform(size=28, mean=(0, 0, 0), scale=(255, 255, 255))(Image.fromarray(wide))
    assert pixels[:, :, 2:-2].min() > 0.98


@pytest.mark.parametrize("mode", ["L", "RGBA", "CMYK", "P", "1"])
def test_every_mode_is_read(mode: str) -> None:
    stream = io.BytesIO()
    grey(8, 8).convert(mode).save(stream, "TIFF")
    assert decode_image(stream.getvalue()).mode == "RGB"


def test_bytes_that_are_no_image_are_refused() -> None:
    stream = io.BytesIO()
    Image.effect_noise((64, 64), 50).save(stream, "JPEG")
    for data in (b"", b"text", stream.getvalue()[:500]):
        with pytest.raises(BrokenImageError):
            decode_image(data)
