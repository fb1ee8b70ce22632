"""Photos in memory, with their plates: what training pictures are made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from nets.data import index
from nets.data.unlabelled import unlabelled_plates
from plates.geometry import Floats, Image

LONGEST_SIDE: Final = 640
"""Photos are kept in memory at this size at most."""

Corners = NDArray[np.float32]
"""(n, 4, 2): x, y of the corners of n plates: top left, top right, bottom right, bottom left."""


@dataclass(frozen=True, slots=True)
class Photo:
    """A decoded photo with its plates."""

    image: Image
    corners: Corners
    exact: bool
    """Whether every labelled plate came with its corners; otherwise they are those of its box."""


def decode(labelled: index.LabelledImage, longest_side: int = LONGEST_SIDE) -> Photo:
    """Read a photo at `longest_side` pixels or less, with its plates: those labelled and those found since.

    Raises:
        ValueError: the file is not an image.
    """
    image = cv2.imread(str(labelled.path), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    if image is None:
        raise ValueError(f"{labelled.path} is not an image")
    scale = min(1.0, longest_side / max(image.shape[:2]))
    if scale < 1:
        image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    corners = [plate.quad or box_corners(plate.box) for plate in labelled.plates]
    corners += [box_corners(box) for box in unlabelled_plates().get(labelled.path.name, ())]
    return Photo(
        np.asarray(image, np.uint8),
        np.array(corners, np.float32).reshape(-1, 4, 2) * np.float32(scale),
        all(plate.quad is not None for plate in labelled.plates),
    )


def box_corners(box: Sequence[float]) -> list[tuple[float, float]]:
    """Return the corners of a box from the top left one on, clockwise."""
    x_min, y_min, x_max, y_max = box
    return [(x_min, y_min), (x_max, y_min), (x_max, y_max), (x_min, y_max)]


def bounds(corners: Corners) -> Floats:
    """Return the boxes (n, 4) around corners (n, 4, 2)."""
    low, high = corners.reshape(-1, 4, 2).min(axis=1), corners.reshape(-1, 4, 2).max(axis=1)
    return np.hstack([low, high]).astype(np.float32)
