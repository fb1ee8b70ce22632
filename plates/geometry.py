"""From an image to the detector's input, from its output to boxes, from boxes to the reader's input.

Images are BGR uint8, rows first. Boxes are float32 rows of x_min, y_min, x_max, y_max in pixels, where a pixel's left
edge is its index.
"""

from dataclasses import dataclass
from typing import Final

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


def letterbox(image: Image, size: int) -> tuple[Image, Letterbox]:
    """Scale an image (h, w, 3) so that its longer side is `size` and pad it to multiples of the network's stride.

    The padding is no larger than the stride asks for (YOLOv5's "minimum rectangle"), so that a 16:9 picture costs the
    network 384 x 640 and not 640 x 640.
    """
    height, width = image.shape[:2]
    scale = size / max(height, width)
    new_height, new_width = max(1, round(height * scale)), max(1, round(width * scale))
    padded_height, padded_width = (-(-side // STRIDE) * STRIDE for side in (new_height, new_width))
    top, left = (padded_height - new_height) // 2, (padded_width - new_width) // 2
    canvas = np.full((padded_height, padded_width, 3), LETTERBOX_GREY, np.uint8)
    # Bilinear sampling skips pixels below half size; averaging over areas doesn't.
    interpolation = cv2.INTER_AREA if scale < 0.5 else cv2.INTER_LINEAR
    view = canvas[top : top + new_height, left : left + new_width]
    view[:] = cv2.resize(image, (new_width, new_height), interpolation=interpolation)
    return canvas, Letterbox(new_width / width, new_height / height, left, top)


def iou(box: Floats, boxes: Floats) -> Floats:
    """Return the intersection over union of one box (4,) with each of boxes (n, 4): shape (n,)."""
    size = np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2])
    intersection = np.prod(np.maximum(size, 0), axis=1)
    area = np.prod(box[2:] - box[:2])
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    union = area + areas - intersection
    overlap: Floats = np.divide(intersection, union, out=np.zeros_like(union), where=union > 0)
    return overlap


def suppress(boxes: Floats, scores: Floats, iou_threshold: float, limit: int) -> NDArray[np.intp]:
    """Return the indices that greedy non-maximum suppression keeps, best score first, `limit` at most."""
    order = np.argsort(-scores, kind="stable")
    kept: list[int] = []
    while order.size and len(kept) < limit:
        best, order = order[0], order[1:]
        kept.append(int(best))
        order = order[iou(boxes[best], boxes[order]) <= iou_threshold]
    return np.array(kept, np.intp)


def crop(image: Image, boxes: Floats) -> Floats:
    """Cut plates out of an image and normalise them for the reader.

    Args:
        image: (h, w, 3), BGR.
        boxes: (n, 4), anywhere: margins are added here, cut at the image's border, and one pixel is left at least.

    Returns:
        (n, 3, 24, 94) float32, (BGR - 127.5) / 128.
    """
    crops = np.empty((len(boxes), CROP_HEIGHT, CROP_WIDTH, 3), np.uint8)
    for box, out in zip(boxes, crops, strict=True):
        out[:] = _cut(image, box)
    scaled = (crops.astype(np.float32) - np.float32(127.5)) * np.float32(1 / 128)
    return np.ascontiguousarray(scaled.transpose(0, 3, 1, 2))


def _cut(image: Image, box: Floats) -> Image:
    height, width = image.shape[:2]
    x_min, y_min, x_max, y_max = (float(value) for value in box)
    margin_x, margin_y = (x_max - x_min) * CROP_MARGIN_X, (y_max - y_min) * CROP_MARGIN_Y
    left, right = _span(x_min - margin_x, x_max + margin_x, width)
    top, bottom = _span(y_min - margin_y, y_max + margin_y, height)
    part = image[top:bottom, left:right]
    interpolation = cv2.INTER_AREA if right - left > 2 * CROP_WIDTH else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(part, (CROP_WIDTH, CROP_HEIGHT), interpolation=interpolation), np.uint8)


def _span(low: float, high: float, limit: int) -> tuple[int, int]:
    """Return whole pixels that cover low..high inside 0..limit, one at least."""
    start = min(max(int(np.floor(low)), 0), limit - 1)
    end = min(max(int(np.ceil(high)), start + 1), limit)
    return start, end
