import cv2
import numpy as np
import pytest

from nets.data import index
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


def test_a_loose_box_on_a_dark_car_takes_nothing_from_white() -> None:
    (crop,) = geometry.crop(plate(Ground.WHITE, 10), np.array([[84, 12, 292, 84]], np.float32))
    assert colour.ground(crop) == Ground.WHITE


@pytest.mark.skipif(not index.available(), reason="the labelled photos are not here")
def test_white_plates_of_real_cars_are_white() -> None:
    scenes = [image for image in index.load() if image.kind == "scene" and image.fold == 0]
    seen = []
    for scene in scenes:
        boxes = [plate.box for plate in scene.plates if plate.text and plate.type == "standard"]
        if boxes:
            image = cv2.imread(str(scene.path), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
            crops = geometry.crop(np.asarray(image, np.uint8), np.array(boxes, np.float32))
            seen += [colour.ground(crop) for crop in crops]
    assert len(seen) > 100
    assert seen.count(Ground.WHITE) > 0.96 * len(seen)


def test_a_colour_makes_its_own_formats_likelier_and_the_others_less() -> None:
    for lines in (1, 2):
        unseen, *seen = colour.likelihoods([None, *Ground], lines)
        assert (unseen == 1).all()
        for place, row in enumerate(seen):
            assert row[place] > 1
            assert row[place] == row.max()
        # A white plate can look black, at night: far less often than a black one does.
        black = seen[list(Ground).index(Ground.BLACK)]
        assert 0 < black[0] < black[3] / 20


def test_in_infrared_only_light_and_dark_are_left() -> None:
    grey = plate(Ground.YELLOW, 90).mean(axis=2, keepdims=True).astype(np.uint8).repeat(3, axis=2)
    (crop,) = geometry.crop(grey, np.array([[94, 24, 282, 72]], np.float32))
    assert colour.ground(crop) == Ground.WHITE


@pytest.mark.parametrize("value", [0, 127, 255])
def test_one_even_colour_is_no_error(value: int) -> None:
    (crop,) = geometry.crop(np.full((24, 94, 3), value, np.uint8), np.array([[0, 0, 94, 24]], np.float32))
    assert colour.ground(crop) in Ground
