"""From an image to the detector's input, from its output to boxes, from boxes to the reader's input.

Images are BGR uint8, rows first. Boxes are float32 rows of x_min, y_min, x_max, y_max in pixels, where a pixel's left
edge is its index.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import cv2
import numpy as np
from numpy.typing import NDArray

from plates.contract import CROP_HEIGHT, CROP_WIDTH, STRIDE

Image = NDArray[np.uint8]
Floats = NDArray[np.float32]

LETTERBOX_GREY: Final = 114
"""The value that YOLOv5 pads with."""

CROP_MARGIN_X: Final = 0.04
CROP_MARGIN_Y: Final = 0.10
"""Share of a box's width and height added on each side before it is read: a box that is a little tight then still
holds the whole plate, and the spatial transformer takes away what is too much."""

PART_AREA: Final = 0.8
PART_INSIDE: Final = 0.6
"""A box is a part of a better one where it is smaller than this share of it, and more than this share lies inside."""

LINE_OVERLAP: Final = 0.07
"""Share of a plate's height that each of two lines gets beyond the middle."""

PLATE_RATIO: Final = 112 / 520
"""Height by width of a plate on one line, GOST R 50577, type 1."""

SKEW_SHARE: Final = 0.75
"""How much of a box's height beyond a level plate's is taken for its slope. Boxes are a little higher than their
plates, and a plate seen from the side is narrower: of 0.5, 0.65, 0.75, 0.85 and 1 this one reads most photographs."""


@dataclass(frozen=True, slots=True)
class Letterbox:
    """How an image was scaled and padded, to take boxes back: original = (letterboxed - pad) / scale."""

    scale_x: float
    scale_y: float
    pad_x: int
    pad_y: int

    def to_original(self, boxes: Floats, height: int, width: int) -> Floats:
        """Return boxes (n, 4) of the letterboxed image in pixels of the original one, cut at its border."""
        offset = np.array([self.pad_x, self.pad_y] * 2, np.float32)
        scale = np.array([self.scale_x, self.scale_y] * 2, np.float32)
        limit = np.array([width, height] * 2, np.float32)
        return np.clip((boxes - offset) / scale, 0, limit)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an image lies in its letterbox; all in pixels."""

    height: int
    width: int
    """Of the letterboxed image."""
    scaled_height: int
    scaled_width: int
    """Of the scaled image in it."""
    shrinks: bool
    """Below half size bilinear sampling skips pixels; averaging over areas doesn't."""
    letterbox: Letterbox

    @classmethod
    def of(cls, height: int, width: int, size: int) -> Self:
        """Return the place of an image of that height and width whose longer side becomes `size`."""
        scale = size / max(height, width)
        scaled_height, scaled_width = max(1, round(height * scale)), max(1, round(width * scale))
        padded_height, padded_width = (-(-side // STRIDE) * STRIDE for side in (scaled_height, scaled_width))
        top, left = (padded_height - scaled_height) // 2, (padded_width - scaled_width) // 2
        letterbox = Letterbox(scaled_width / width, scaled_height / height, left, top)
        return cls(padded_height, padded_width, scaled_height, scaled_width, scale < 0.5, letterbox)

    @property
    def rows(self) -> slice:
        """The letterboxed image's rows that hold the scaled one."""
        return slice(self.letterbox.pad_y, self.letterbox.pad_y + self.scaled_height)

    @property
    def columns(self) -> slice:
        """The letterboxed image's columns that hold the scaled one."""
        return slice(self.letterbox.pad_x, self.letterbox.pad_x + self.scaled_width)


def letterbox(image: Image, size: int) -> tuple[Image, Letterbox]:
    """Scale an image (h, w, 3) so that its longer side is `size` and pad it to multiples of the network's stride.

    The padding is no larger than the stride asks for (YOLOv5's "minimum rectangle"), so that a 16:9 picture costs the
    network 384 x 640 and not 640 x 640.
    """
    height, width = image.shape[:2]
    place = Place.of(height, width, size)
    canvas = np.full((place.height, place.width, 3), LETTERBOX_GREY, np.uint8)
    interpolation = cv2.INTER_AREA if place.shrinks else cv2.INTER_LINEAR
    canvas[place.rows, place.columns] = cv2.resize(
        image, (place.scaled_width, place.scaled_height), interpolation=interpolation
    )
    return canvas, place.letterbox


def candidates(
    rows: Floats, letterbox: Letterbox, height: int, width: int, threshold: float, limit: int
) -> tuple[Floats, Floats]:
    """Take the likely plates from the detector's output, not yet suppressed.

    Args:
        rows: (n, 6): see `contract.YOLO_NET`.
        letterbox: how the detector's input was made of the image.
        height: of the image, pixels.
        width: of the image, pixels.
        threshold: least score.
        limit: at most so many, the best ones.

    Returns:
        Boxes (m, 4) in pixels of the image, and their scores (m,).
    """
    scores = rows[:, 4] * rows[:, 5]
    likely = np.flatnonzero(scores >= threshold)
    if likely.size > limit:
        likely = likely[np.argpartition(scores[likely], -limit)[-limit:]]
    centres, halves = rows[likely, 0:2], rows[likely, 2:4] / 2
    boxes = letterbox.to_original(np.hstack([centres - halves, centres + halves]), height, width)
    # The network may place a box in the padding; nothing of it is left in the image then.
    visible = np.all(boxes[:, 2:] - boxes[:, :2] >= 1, axis=1)
    return boxes[visible], scores[likely][visible]


def join(arrays: Sequence[Floats]) -> Floats:
    """Return arrays one after the other."""
    return np.concatenate(arrays)


def on_host(array: Floats) -> Floats:
    """Return an array in host memory: this one."""
    return array


def iou(box: Floats, boxes: Floats) -> Floats:
    """Return the intersection over union of one box (4,) with each of boxes (n, 4): shape (n,)."""
    intersection = _intersection(box, boxes)
    area = np.prod(box[2:] - box[:2])
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    union = area + areas - intersection
    overlap: Floats = np.divide(intersection, union, out=np.zeros_like(union), where=union > 0)
    return overlap


def _intersection(box: Floats, boxes: Floats) -> Floats:
    size = np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2])
    area: Floats = np.prod(np.maximum(size, 0), axis=1)
    return area


def suppress(boxes: Floats, scores: Floats, iou_threshold: float, limit: int) -> NDArray[np.intp]:
    """Return the indices that greedy non-maximum suppression keeps, best score first, `limit` at most.

    A box goes where it overlaps a better one by more than `iou_threshold`, or is a smaller one that mostly lies inside:
    there are no plates on plates, but parts of a large plate look like small ones.
    """
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    order = np.argsort(-scores, kind="stable")
    kept: list[int] = []
    while order.size and len(kept) < limit:
        best, order = order[0], order[1:]
        kept.append(int(best))
        common = _intersection(boxes[best], boxes[order])
        apart = common <= iou_threshold * (areas[best] + areas[order] - common)
        part = (areas[order] < PART_AREA * areas[best]) & (common > PART_INSIDE * areas[order])
        order = order[apart & ~part]
    return np.array(kept, np.intp)


def crop(image: Image, boxes: Floats, lines: int = 1) -> Floats:
    """Cut plates out of an image and normalise them for the reader.

    Args:
        image: (h, w, 3), BGR.
        boxes: (n, 4), anywhere: margins are added here, cut at the image's border, and one pixel is left at least.
        lines: on how many lines the plates are written, 1 or 2; each line is cut by itself.

    Returns:
        (n * lines, 3, 24, 94) float32, (BGR - 127.5) / 128: a plate's lines come one after the other.
    """
    crops = np.empty((len(boxes) * lines, CROP_HEIGHT, CROP_WIDTH, 3), np.uint8)
    for index, box in enumerate(boxes):
        crops[index * lines : (index + 1) * lines] = cut_lines(image[window(box, *image.shape[:2])], lines)
    return _normalised(crops)


def deskew(image: Image, boxes: Floats) -> Floats:
    """Cut plates on one line that lie aslant out of an image, level, for the reader.

    An upright box doesn't tell to which side its plate leans, so that each is cut both ways.

    Args:
        image: (h, w, 3), BGR.
        boxes: (n, 4), anywhere, as for `crop`.

    Returns:
        (2 n, 3, 24, 94) float32, (BGR - 127.5) / 128: each plate as one that falls to the right, then as one that
        rises.
    """
    crops = np.empty((2 * len(boxes), CROP_HEIGHT, CROP_WIDTH, 3), np.uint8)
    for index, box in enumerate(boxes):
        crops[2 * index : 2 * index + 2] = cut_deskewed(image[window(box, *image.shape[:2])])
    return _normalised(crops)


def _normalised(crops: Image) -> Floats:
    """Turn crops (n, 24, 94, 3) into the reader's input (n, 3, 24, 94)."""
    scaled = (crops.astype(np.float32) - np.float32(127.5)) * np.float32(1 / 128)
    return np.ascontiguousarray(scaled.transpose(0, 3, 1, 2))


def cut_lines(plate: Image, lines: int) -> Image:
    """Cut the lines of a plate (h, w, 3) for the reader: (lines, 24, 94, 3).

    A line of half the plate's width is as easy to read as a plate that has but one; both together on 94 pixels are not:
    the reader has 18 steps along a crop, and a repeated character needs two.
    """
    crops = np.empty((lines, CROP_HEIGHT, CROP_WIDTH, 3), np.uint8)
    for rows, out in zip(line_rows(plate.shape[0], lines), crops, strict=True):
        part = plate[rows]
        interpolation = cv2.INTER_AREA if averages(*part.shape[:2]) else cv2.INTER_LINEAR
        out[:] = cv2.resize(part, (CROP_WIDTH, CROP_HEIGHT), interpolation=interpolation)
    return crops


def cut_deskewed(plate: Image) -> Image:
    """Cut a plate that lies aslant in its window (h, w, 3) level, both ways: (2, 24, 94, 3)."""
    height, width = plate.shape[:2]
    rows = deskewed_rows(height)
    interpolation = cv2.INTER_AREA if averages(height, width) else cv2.INTER_LINEAR
    narrow = cv2.resize(plate, (CROP_WIDTH, rows), interpolation=interpolation)
    level = deskewing(height, width) @ narrow.transpose(1, 0, 2).astype(np.float32)
    crops: Image = np.rint(level).astype(np.uint8).reshape(CROP_WIDTH, 2, CROP_HEIGHT, 3).transpose(1, 2, 0, 3)
    return crops


def deskewed_rows(height: int) -> int:
    """Return to how many rows a plate so many pixels high is reduced before its columns are moved."""
    return min(height, 2 * CROP_HEIGHT)


def deskewing(height: int, width: int) -> Floats:
    """Return what makes a plate level whose window has that height and width, pixels.

    Its sides are upright, its long edges aslant: a camera beside or above it sees that more often than a turned plate.
    How steep they are follows from how much higher the window is than that of a level plate. Each column of the crop is
    a mix of the rows of its own column, the average over the part of the plate that a pixel covers.

    Returns:
        (94, 2 * 24, rows): for each column the weights of `deskewed_rows` rows in the rows of the crop that takes the
        plate as falling to the right, then in those of the one that takes it as rising.
    """
    rows = deskewed_rows(height)
    level = PLATE_RATIO * (1 + 2 * CROP_MARGIN_Y) / (1 + 2 * CROP_MARGIN_X) * width
    slope = SKEW_SHARE * max(0.0, height - level) / height * rows
    covered = (rows - slope) / CROP_HEIGHT
    extent = max(1.0, covered)  # less is the tent of linear interpolation
    columns = (np.arange(CROP_WIDTH, dtype=np.float32) + 0.5) / CROP_WIDTH - 0.5
    down = (np.arange(CROP_HEIGHT, dtype=np.float32) + 0.5 - CROP_HEIGHT / 2) * covered
    middles = rows / 2 + slope * columns[:, None, None] * np.array([1, -1], np.float32)[:, None] + down
    low = np.clip(middles.reshape(CROP_WIDTH, -1, 1) - extent / 2, 0, rows - extent)
    sources = np.arange(rows, dtype=np.float32)
    common = np.minimum(low + extent, sources + 1) - np.maximum(low, sources)
    weights: Floats = (np.maximum(common, 0) / extent).astype(np.float32)
    return weights


def line_rows(height: int, lines: int) -> list[slice]:
    """Return the rows of each line of a plate so many pixels high.

    Two lines are parted in the middle, as on all plates of GOST R 50577, and each gets a little of the other's side, so
    that a box that misses the plate by some percent cuts no character.
    """
    if lines == 1:
        return [slice(0, height)]
    half = max(1, round(height * (0.5 + LINE_OVERLAP)))
    return [slice(0, half), slice(height - half, height)]


def window(box: Floats, height: int, width: int) -> tuple[slice, slice]:
    """Return the rows and columns of an image of that height and width that are cut out for a box (4,)."""
    x_min, y_min, x_max, y_max = (float(value) for value in box)
    margin_x, margin_y = (x_max - x_min) * CROP_MARGIN_X, (y_max - y_min) * CROP_MARGIN_Y
    return _span(y_min - margin_y, y_max + margin_y, height), _span(x_min - margin_x, x_max + margin_x, width)


def averages(height: int, width: int) -> bool:
    """Say whether a plate of that size is shrunk to a crop by averaging over areas, not by sampling."""
    return width > 2 * CROP_WIDTH and height >= CROP_HEIGHT


def _span(low: float, high: float, limit: int) -> slice:
    """Return whole pixels that cover low..high inside 0..limit, one at least."""
    start = min(max(int(np.floor(low)), 0), limit - 1)
    return slice(start, min(max(int(np.ceil(high)), start + 1), limit))
