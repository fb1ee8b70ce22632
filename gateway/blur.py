"""Plates made unreadable in a picture."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import cv2
import numpy as np

from gateway.images import Image
from gateway.recognizer import Box

MARGIN: Final = 0.15
"""By how much of its height a box grows on each side: characters reach to its edge, and boxes aren't exact."""

_GREY: Final = 128


class Method(StrEnum):
    """What is done to a plate."""

    PIXELATE = "pixelate"
    FILL = "fill"


def hide(image: Image, boxes: Iterable[Box], method: Method) -> None:
    """Make the plates in these boxes unreadable.

    Pixelated, a plate becomes a row of squares as high as itself: each is the mean of about two characters, so that
    trying out texts, which undoes finer mosaics, doesn't tell them apart. Filled, it tells nothing at all.

    Args:
        image: (h, w, 3) BGR uint8, changed.
        boxes: in pixels of the image.
        method: what is done to them.
    """
    height, width = image.shape[:2]
    for box in boxes:
        margin = MARGIN * (box.y_max - box.y_min)
        left, top = max(0, int(box.x_min - margin)), max(0, int(box.y_min - margin))
        right = min(width, int(np.ceil(box.x_max + margin)))
        bottom = min(height, int(np.ceil(box.y_max + margin)))
        if left >= right or top >= bottom:
            continue
        plate = image[top:bottom, left:right]
        if method is Method.FILL:
            plate[:] = _GREY
        else:
            squares = max(1, round((right - left) / (bottom - top)))
            means = cv2.resize(plate, (squares, 1), interpolation=cv2.INTER_AREA)
            plate[:] = cv2.resize(means, (right - left, bottom - top), interpolation=cv2.INTER_NEAREST)
