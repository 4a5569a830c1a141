"""Small grey images, each turned by an angle."""

from __future__ import annotations

import numpy as np

from vmtl.datasets._rotation import rotate_images


def test_a_quarter_turn_is_counter_clockwise_and_others_stay() -> None:
    image = np.zeros((5, 5))
    image[0, 2] = 1.0  # the top
    turned = rotate_images(np.stack([image, image, image]), np.array([90, 0, -90]))
    assert turned.dtype == np.float32
    np.testing.assert_allclose(turned[0], np.rot90(image), atol=1e-6)
    np.testing.assert_array_equal(turned[1], image)
    np.testing.assert_allclose(turned[2], np.rot90(image, -1), atol=1e-6)


def test_values_stay_in_range_and_corners_become_black() -> None:
    turned = rotate_images(np.ones((1, 8, 8)), np.array([45]))
    assert turned.min() == 0.0
    assert turned.max() <= 1.0
    assert turned[0, 0, 0] == 0.0
