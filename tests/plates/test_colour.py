import numpy as np
import pytest

from plates import colour, geometry
from plates.formats import Ground
from plates.geometry import Image

COLOURS = {
    Ground.WHITE: ((225, 228, 230), (35, 35, 35)),
    Ground.YELLOW: ((40, 185, 240), (30, 30, 30)),
    Ground.BLUE: ((150, 80, 15), (235, 235, 235)),
    Ground.BLACK: ((30, 30, 30), (230, 230, 230)),
    Ground.RED: ((35, 25, 185), (235, 235, 235)),
}
"""BGR of the ground and of the ink."""


def plate(ground: Ground, body: int) -> Image:
    """Draw bars of ink on a plate of 188 x 48 on a car of some grey."""
    image = np.full((96, 376, 3), body, np.uint8)
    image[24:72, 94:282], ink = COLOURS[ground]
    for left in range(100, 276, 18):
        image[32:64, left : left + 6] = ink
    return image


@pytest.mark.parametrize("ground", Ground)
@pytest.mark.parametrize("body", [10, 128, 245])
@pytest.mark.parametrize("light", [1.0, 0.45])
def test_the_ground_is_known_on_any_car_and_in_the_dusk(ground: Ground, body: int, light: float) -> None:
    image = (plate(ground, body) * light).astype(np.uint8)
    (crop,) = geometry.crop(image, np.array([[94, 24, 282, 72]], np.float32))
    assert colour.ground(crop) == ground


def test_in_infrared_only_light_and_dark_are_left() -> None:
    grey = plate(Ground.YELLOW, 90).mean(axis=2, keepdims=True).astype(np.uint8).repeat(3, axis=2)
    (crop,) = geometry.crop(grey, np.array([[94, 24, 282, 72]], np.float32))
    assert colour.ground(crop) == Ground.WHITE


@pytest.mark.parametrize("value", [0, 127, 255])
def test_one_even_colour_is_no_error(value: int) -> None:
    (crop,) = geometry.crop(np.full((24, 94, 3), value, np.uint8), np.array([[0, 0, 94, 24]], np.float32))
    assert colour.ground(crop) in Ground
