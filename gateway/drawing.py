"""Plates drawn into a picture: boxes, and texts that can be read at any size of picture or plate."""

from collections.abc import Iterable
from typing import Final

import cv2

from gateway.images import Image
from gateway.recognizer import Plate

GREEN: Final = (80, 200, 40)
"""BGR; of plates that were read."""
ORANGE: Final = (0, 150, 255)
"""BGR; of plates that can't be read."""
BLACK: Final = (0, 0, 0)

UNREADABLE: Final = "?"

_FONT: Final = cv2.FONT_HERSHEY_DUPLEX
_CAPITALS: Final = 22.0
"""Height of the font's capitals at scale 1, pixels."""
_LEAST_HEIGHT: Final = 1 / 40
"""Least height of the letters, of the picture's shorter side."""
_OF_BOX: Final = 0.55
"""Height of the letters, of the box, where that is larger."""
_MOST_WIDTH: Final = 0.96
"""Width of a text, of the picture, at most."""


def annotate(image: Image, plates: Iterable[Plate]) -> None:
    """Draw boxes, texts and scores into a picture.

    Texts are in Latin look-alikes, whose shapes are those of the Cyrillic letters. A text stands above its box, where
    there is no room below it, and never outside the picture.

    Args:
        image: (h, w, 3) BGR uint8, drawn into.
        plates: in pixels of the image; those before hide those after, where they overlap.
    """
    for plate in reversed(list(plates)):
        _draw(image, plate)


def _draw(image: Image, plate: Plate) -> None:
    height, width = image.shape[:2]
    box = plate.box
    colour = GREEN if plate.text else ORANGE
    thickness = max(1, round(min(height, width) / 300))
    left, top, right, bottom = (round(edge) for edge in (box.x_min, box.y_min, box.x_max, box.y_max))
    # Around the box, so that the frame hides nothing of a small plate.
    cv2.rectangle(
        image, (left - thickness, top - thickness), (right + thickness, bottom + thickness), colour, thickness
    )

    # Rounded down: 100 % would be a promise.
    label = f"{plate.text or UNREADABLE} {int(100 * plate.score)}%"
    scale = max(min(height, width) * _LEAST_HEIGHT, (box.y_max - box.y_min) * _OF_BOX, 8.0) / _CAPITALS
    (text_width, _), _ = cv2.getTextSize(label, _FONT, scale, 1)
    scale *= min(1.0, _MOST_WIDTH * width / text_width)
    stroke = max(1, round(2 * scale))
    (text_width, text_height), _ = cv2.getTextSize(label, _FONT, scale, stroke)
    padding = text_height // 3
    label_width, label_height = text_width + 2 * padding, text_height + 2 * padding

    x = min(max(left - thickness, 0), max(width - label_width, 0))
    above, below = top - 2 * thickness - label_height, bottom + 2 * thickness
    y = above if above >= 0 else max(0, min(below, height - label_height))
    cv2.rectangle(image, (x, y), (x + label_width, y + label_height), colour, cv2.FILLED)
    cv2.putText(
        image, label, (x + padding, y + label_height - padding), _FONT, scale, BLACK, stroke, lineType=cv2.LINE_AA
    )
