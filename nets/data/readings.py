"""Training and test samples of the reader: a plate as it is cut for the network, and its text.

Real plates are cut out of their photos once, with enough around them to move the box; drawn ones are made on the fly.
Both then go the same way: a slight turn and tilt, a box that a detector might have given, the margins of
`plates.geometry.crop`, one resampling to 94 x 24, and what a camera does. Each of two lines is a sample of its own.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from nets.data import degrade, mounting, plates
from nets.data.degrade import Degradation
from nets.data.index import LabelledImage, LabelledPlate
from nets.data.kinds import COMMON, KINDS
from plates import geometry
from plates.contract import CROP_HEIGHT, CROP_WIDTH
from plates.geometry import CROP_MARGIN_X, CROP_MARGIN_Y

Image = NDArray[np.uint8]
Floats = NDArray[np.float32]
Points = NDArray[np.float64]

_CONTEXT_X: Final = 0.25
_CONTEXT_Y: Final = 0.60
"""Share of the box's width and height kept around it."""

_STORED_WIDTH: Final = 1.8 * CROP_WIDTH
"""A larger plate is stored at this width: resampling it bilinearly to 94 pixels still meets every pixel."""

_TWO_LINE_WIDTHS: Final = (50, 2 * CROP_WIDTH)
"""Of plates on two lines in training, pixels; at 50 their characters are as large as those of a plate on one line."""

_DRAWN_HEIGHT: Final = 36
"""Height in pixels of each line of a drawn plate."""

_KINDS: Final = tuple(COMMON)
_CUMULATIVE: Final = np.cumsum(list(COMMON.values())) / sum(COMMON.values())

_LONG_TEXT: Final = 9
_LONG_WEIGHT: Final = 1.6
"""Plates with a three-digit region are a minority of the photos, and the majority on new cars."""

_REPEATED_WEIGHT: Final = 1.6
"""Regions that repeat a digit (77, 777, 199) are what a network that drops repeats reads worst."""


@dataclass(frozen=True, slots=True)
class Plate:
    """A plate with some of what is around it."""

    image: Image
    """(h, w, 3), BGR."""
    corners: Points
    """(4, 2): x, y of the top left, top right, bottom right and bottom left corner."""
    texts: tuple[str, ...]
    """Of each line."""

    @property
    def text(self) -> str:
        """Everything on the plate."""
        return "".join(self.texts)


def cut_plates(images: Sequence[LabelledImage]) -> list[Plate]:
    """Read photos and cut out every plate whose text is known and not known to be wrong.

    Raises:
        OSError: a photo can't be read.
    """
    found = []
    for labelled in images:
        readable = [plate for plate in labelled.plates if plate.text]
        if not readable:
            continue
        image = _read(labelled)
        found += [_cut(image, plate) for plate in readable]
    return found


def _read(labelled: LabelledImage) -> Image:
    image = cv2.imread(str(labelled.path), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    if image is None:
        raise OSError(f"not an image: {labelled.path}")
    return np.asarray(image, np.uint8)


def _cut(image: Image, plate: LabelledPlate) -> Plate:
    x_min, y_min, x_max, y_max = plate.box
    context_x, context_y = (x_max - x_min) * _CONTEXT_X, (y_max - y_min) * _CONTEXT_Y
    limit = np.array(image.shape[1::-1])
    low = np.clip(np.floor((x_min - context_x, y_min - context_y)), 0, limit - 1).astype(int)
    high = np.clip(np.ceil((x_max + context_x, y_max + context_y)), low + 1, limit).astype(int)
    part = image[low[1] : high[1], low[0] : high[0]]
    box = np.array([(x_min, y_min), (x_max, y_min), (x_max, y_max), (x_min, y_max)])
    corners = np.array(plate.quad or box, np.float64) - low
    scale = min(1.0, _STORED_WIDTH / (x_max - x_min))
    if scale < 1:
        size = (max(1, round(part.shape[1] * scale)), max(1, round(part.shape[0] * scale)))
        corners *= np.array(size) / part.shape[1::-1]
        part = np.asarray(cv2.resize(part, size, interpolation=cv2.INTER_AREA), np.uint8)
    return Plate(part.copy(), corners, (plate.text or "",))


def draw_plate(rng: np.random.Generator) -> Plate:
    """Draw a plate of any kind with a random text, as it has come to look on its car."""
    kind = _KINDS[int(np.searchsorted(_CUMULATIVE, rng.random()))]
    return on_car(plates.random_text(rng, kind), rng, kind, mounting.mount)


def on_car(text: str, rng: np.random.Generator, kind: str = "civil", happening: Degradation | None = None) -> Plate:
    """Draw a plate on a piece of car, straight from the front; `happening` may change the plate before."""
    texts = KINDS[kind].split(text)
    drawn = plates.render_plate(text, rng, _DRAWN_HEIGHT * len(texts), kind)
    if happening is not None:
        drawn = happening(drawn, rng)
    height, width = drawn.shape[:2]
    border_x, border_y = round(width * _CONTEXT_X), round(height * _CONTEXT_Y)
    body = rng.integers(0, 200) + rng.integers(-25, 26, 3)
    image = np.full((height + 2 * border_y, width + 2 * border_x, 3), np.clip(body, 0, 255), np.uint8)
    frame = round(height * rng.uniform(0, 0.16))
    holder = rng.integers(5, 90)
    image[border_y - frame : border_y + height + round(frame * 1.5), border_x - frame : border_x + width + frame] = (
        holder
    )
    image[border_y : border_y + height, border_x : border_x + width] = drawn
    left, top, right, bottom = border_x, border_y, border_x + width, border_y + height
    corners = np.array([(left, top), (right, top), (right, bottom), (left, bottom)], np.float64)
    return Plate(image, corners, texts)


def box_error(rng: np.random.Generator, size: Points) -> Points:
    """Return by how much a detector may miss the four sides of boxes of a size (..., 2): (..., 4) pixels.

    The boxes then have an intersection over union of about 0.75 to 0.95 with the true ones.
    """
    share = np.clip(rng.normal(0, 1, (*size.shape[:-1], 4)), -2.5, 2.5) * (0.02, 0.055, 0.02, 0.055)
    return np.asarray(share * np.concatenate([size, size], axis=-1))


def view(
    plate: Plate, rng: np.random.Generator | None = None, strength: float = 1.0, width: int = 2 * CROP_WIDTH
) -> Image:
    """Return a plate as it is cut out of a photo, BGR uint8.

    Args:
        plate: what to show.
        rng: source of the turn, the tilt and the error of the box; None for none of them.
        strength: of the turn and the tilt.
        width: of a plate on two lines, in pixels. One on a single line comes as the reader takes it, (24, 94, 3).
    """
    two_lines = len(plate.texts) == 2
    matrix = np.eye(3)
    corners = plate.corners
    if rng is not None:
        # A turn that takes a line out of its half of the box leaves nothing to be read.
        strength *= 0.6 if two_lines else 1.0
        matrix = degrade.projection(corners, rng, 2.5 * strength, 0.08 * strength, 0.06 * strength)
        corners = cv2.perspectiveTransform(corners[None], matrix)[0]
    low, high = corners.min(axis=0), corners.max(axis=0)
    size = high - low
    if rng is not None:
        error = box_error(rng, size)
        low, high = low + error[:2], high + error[2:]
        size = high - low
    margin = size * (CROP_MARGIN_X, CROP_MARGIN_Y)
    shape = np.array([width, round(width * size[1] / size[0])] if two_lines else [CROP_WIDTH, CROP_HEIGHT])
    scale = shape / (size + 2 * margin)
    # Pixels' centres are at whole numbers for OpenCV, their edges for boxes: hence the halves.
    offset = -(low - margin) * scale + 0.5 * scale - 0.5
    to_crop = np.array([[scale[0], 0, offset[0]], [0, scale[1], offset[1]], [0, 0, 1]])
    cut = cv2.warpPerspective(
        plate.image,
        to_crop @ matrix,
        (int(shape[0]), int(shape[1])),
        flags=cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return np.asarray(cut, np.uint8)


def two_line_width(rng: np.random.Generator) -> int:
    """Return a width at which a plate on two lines may have been photographed, in pixels."""
    return round(float(np.exp(rng.uniform(*np.log(_TWO_LINE_WIDTHS)))))


class ReadingSampler:
    """Draws training samples: real plates and drawn ones, each time seen differently."""

    def __init__(self, real: Sequence[Plate], real_share: float) -> None:
        if not real and real_share > 0:
            raise ValueError("a share of real plates is asked for, but there are none")
        self._real = real
        self._real_share = real_share
        weights = np.array([_weight(plate.text) for plate in real])
        self._cumulative = np.cumsum(weights) / max(weights.sum(), 1.0)

    def sample(self, rng: np.random.Generator) -> tuple[Image, str]:
        """Return a crop (24, 94, 3), BGR uint8, and its text: of a plate on two lines one of them."""
        if rng.random() < self._real_share:
            plate = self._real[int(np.searchsorted(self._cumulative, rng.random()))]
            strength = 1.0
        else:
            plate = draw_plate(rng)
            strength = 2.0
        photo = degrade.photograph(view(plate, rng, strength, two_line_width(rng)), rng)
        line = int(rng.integers(len(plate.texts)))
        return geometry.cut_lines(photo, len(plate.texts))[line], plate.texts[line]

    def batch(self, size: int, rng: np.random.Generator) -> tuple[Image, list[str]]:
        """Return crops (size, 24, 94, 3), BGR uint8, and their texts."""
        samples = [self.sample(rng) for _ in range(size)]
        return np.stack([image for image, _ in samples]), [text for _, text in samples]


def _weight(text: str) -> float:
    long = _LONG_WEIGHT if len(text) >= _LONG_TEXT else 1.0
    return long * (_REPEATED_WEIGHT if any(a == b for a, b in itertools.pairwise(text[-3:])) else 1.0)


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Plates to measure with, cut exactly as the service cuts them."""

    crops: Floats
    """(n, 3, 24, 94), as `plates.geometry.crop` returns them."""
    texts: list[str]


def held_out(images: Sequence[LabelledImage], jitter: bool, seed: int = 0) -> HeldOut:
    """Cut every plate with a known text by its true box, or by one that is off as a detector's is.

    Raises:
        OSError: a photo can't be read.
    """
    rng = np.random.default_rng(seed)
    crops, texts = [np.empty((0, 3, CROP_HEIGHT, CROP_WIDTH), np.float32)], []
    for labelled in images:
        readable = [plate for plate in labelled.plates if plate.text]
        if not readable:
            continue
        boxes = np.array([plate.box for plate in readable], np.float64)
        if jitter:
            boxes += box_error(rng, boxes[:, 2:] - boxes[:, :2])
        crops.append(geometry.crop(_read(labelled), boxes.astype(np.float32)))
        texts += [plate.text or "" for plate in readable]
    return HeldOut(np.concatenate(crops), texts)
