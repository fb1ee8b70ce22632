"""Drawn plates in place of real ones."""

import numpy as np
import pytest

from nets.data.drawn import PIXELS_PER_MM, draw_plates
from nets.data.photos import Photo, bounds, box_corners
from nets.data.plates import render_plate
from nets.data.swaps import swap_plates
from plates.geometry import Image

BOX = (120.0, 100.0, 224.0, 122.4)
GREEN = (0, 255, 0)


def photo() -> Photo:
    """A grey photo with a green patch where its plate is."""
    image = np.full((240, 320, 3), 120, np.uint8)
    image[100:122, 120:224] = GREEN
    return Photo(image, np.array([box_corners(BOX)], np.float32), True)


def drawn(kind: str, text: str, height_mm: float) -> Image:
    return render_plate(text, np.random.default_rng(0), round(height_mm * PIXELS_PER_MM), kind)


def test_a_long_plate_takes_the_place_of_the_real_one() -> None:
    swapped = swap_plates(photo(), [drawn("civil", "A123BC77", 112)], np.random.default_rng(0))

    np.testing.assert_allclose(bounds(swapped.corners)[0], BOX, atol=1)


@pytest.mark.parametrize(("kind", "width", "height"), [("civil_square", 290, 170), ("motorcycle", 190, 145)])
def test_a_square_plate_has_its_true_size_beside_the_real_one(kind: str, width: float, height: float) -> None:
    text = "A123BC77" if kind == "civil_square" else "1234AB77"
    swapped = swap_plates(photo(), [drawn(kind, text, height)], np.random.default_rng(0))
    left, top, right, bottom = bounds(swapped.corners)[0]

    assert right - left == pytest.approx(104 * width / 520, abs=1.5)
    assert bottom - top == pytest.approx(22.4 * height / 112, abs=1.5)
    assert (left + right) / 2 == pytest.approx(172, abs=1)


def test_nothing_is_left_of_the_real_plate_and_the_photo_is_not_changed() -> None:
    original = photo()
    before = original.image.copy()
    for seed in range(10):
        rng = np.random.default_rng(seed)
        swapped = swap_plates(original, draw_plates(rng, 5), rng).image.astype(int)

        assert not np.any((swapped[..., 1] > 200) & (swapped[..., 0] < 60) & (swapped[..., 2] < 60))
    assert np.array_equal(original.image, before)


def test_a_photo_without_plates_stays_as_it_is() -> None:
    empty = Photo(np.full((50, 60, 3), 7, np.uint8), np.empty((0, 4, 2), np.float32), True)

    swapped = swap_plates(empty, [], np.random.default_rng(0))

    assert np.array_equal(swapped.image, empty.image)
    assert swapped.corners.shape == (0, 4, 2)
