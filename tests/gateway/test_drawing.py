"""Plates drawn into a picture."""

import cv2
import numpy as np
import pytest

from gateway.drawing import GREEN, ORANGE, annotate
from gateway.images import Image
from gateway.recognizer import Box, Plate

TEXT = "B840OK197"


def blank(height: int, width: int) -> Image:
    return np.full((height, width, 3), 200, np.uint8)


def label_of(image: Image, colour: tuple[int, int, int]) -> tuple[int, int, int, int]:
    """Return x, y, width and height of the filled rectangle of this colour: where its rows are densest."""
    mask = (image == colour).all(axis=2).astype(np.uint8)
    count, _, stats, _ = cv2.connectedComponentsWithStats(cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((5, 5))))
    assert count > 1
    largest = stats[1:][stats[1:, cv2.CC_STAT_AREA].argmax()]
    return tuple(largest[:4].tolist())


@pytest.mark.parametrize("size", [(90, 160), (480, 640), (1080, 1920), (3000, 4000), (2000, 300)])
@pytest.mark.parametrize("place", [(0.0, 0.0), (0.4, 0.5), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)])
@pytest.mark.parametrize("share", [0.02, 0.2])
def test_the_text_is_inside_the_picture_and_large_enough(
    size: tuple[int, int], place: tuple[float, float], share: float
) -> None:
    height, width = size
    box_width = width * share
    x, y = place[0] * (width - box_width), place[1] * (height - box_width / 4.5)
    image = blank(height, width)
    annotate(image, [Plate(Box(x, y, x + box_width, y + box_width / 4.5), TEXT, 0.97, 0.9)])
    left, top, label_width, label_height = label_of(image, GREEN)
    assert left >= 0
    assert top >= 0
    assert left + label_width <= width
    assert top + label_height <= height
    # Narrow pictures: as wide as they admit.
    assert label_height >= min(height, width) / 40 or label_width > 0.8 * width
    letters = image[top : top + label_height, left : left + label_width]
    assert letters.min() == 0
    assert (letters < 60).all(axis=2).mean() > 0.03


def test_the_inside_of_a_box_stays_as_it_is() -> None:
    image = blank(600, 800)
    annotate(image, [Plate(Box(300, 300, 500, 350), TEXT, 0.97, 0.9)])
    assert (image[300:350, 300:500] == 200).all()
    assert (image[298, 400] == GREEN).all()


def test_a_plate_that_cannot_be_read_is_marked_in_another_colour() -> None:
    image = blank(600, 800)
    annotate(image, [Plate(Box(300, 300, 500, 350), "", 0.2, 0.9)])
    label_of(image, ORANGE)
    assert not (image == GREEN).all(axis=2).any()


def test_without_plates_nothing_is_drawn() -> None:
    image = blank(60, 80)
    annotate(image, [])
    assert (image == 200).all()


def test_a_picture_of_one_pixel_is_drawn_into() -> None:
    image = blank(1, 1)
    annotate(image, [Plate(Box(0, 0, 1, 1), TEXT, 0.97, 0.9)])
