"""Drawn plates in place of the real ones of a photo: any kind of plate, seen from where a real camera stood."""

import cv2
import numpy as np
from numpy.typing import NDArray

from nets.data import augment
from nets.data.drawn import PIXELS_PER_MM
from nets.data.kinds import KINDS
from nets.data.photos import Photo, box_corners
from plates.geometry import Image


def swap_plates(photo: Photo, drawn: list[Image], rng: np.random.Generator) -> Photo:
    """Return a copy of a photo with known corners in which each plate is covered by a drawn one of the right size."""
    image = photo.image.copy()
    corners = [_swap(image, plate, drawn[rng.integers(len(drawn))], rng) for plate in photo.corners]
    return Photo(image, np.array(corners, np.float32).reshape(-1, 4, 2), photo.exact)


def _swap(image: Image, plate: NDArray[np.float32], drawn: Image, rng: np.random.Generator) -> NDArray[np.float32]:
    height, width = drawn.shape[:2]
    millimetres = np.array([width, height]) / PIXELS_PER_MM
    share = millimetres / (KINDS["civil"].width, KINDS["civil"].height)
    # The plane of the old plate, from -1 to 1: a new plate of another size lies in it about the same middle.
    unit = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], np.float32)
    plane = np.asarray(cv2.getPerspectiveTransform(unit, plate), np.float64)
    target = cv2.perspectiveTransform((unit * share).astype(np.float32)[None], plane)[0]
    level = augment.brightness(image, plate)
    _cover(image, plate, plane)
    source = np.array(box_corners((0, 0, width, height)), np.float32)
    augment.paste(image, augment.relight(drawn, rng, level), None, source, target)
    return np.asarray(target, np.float32)


def _cover(image: Image, plate: NDArray[np.float32], plane: NDArray[np.float64]) -> None:
    """Fill the old plate and its rim with the colours above and below it."""
    border = np.array([(x, y) for y in (-1.9, 1.9) for x in np.linspace(-1, 1, 9)], np.float32)
    seen = np.rint(cv2.perspectiveTransform(border[None], plane)[0]).astype(int)
    height, width = image.shape[:2]
    inside = np.all((seen >= 0) & (seen < (width, height)), axis=1)
    colour = np.median(image[seen[inside, 1], seen[inside, 0]], axis=0) if inside.any() else image.mean(axis=(0, 1))
    middle = plate.mean(0)
    grown = middle + (plate - middle) * 1.15
    cv2.fillConvexPoly(image, np.rint(grown * 16).astype(np.int32), colour.tolist(), cv2.LINE_AA, 4)
