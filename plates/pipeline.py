"""The algorithm of the service: find plates, cut them out, read them. Networks come in as functions on arrays."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from plates import contract, decoding, geometry
from plates.geometry import Floats, Image

DetectorNet = Callable[[NDArray[np.uint8]], Floats]
"""(1, h, w, 3) uint8 BGR, letterboxed -> (1, n, 6) float32: see `contract.YOLO_NET`."""

ReaderNet = Callable[[Floats], Floats]
"""(n, 3, 24, 94) float32 crops, n <= 32 -> (n, 23, 18) float32 logits."""

SUPPRESSED_AT_MOST: Final = 1000
"""Candidates that go into non-maximum suppression, whose cost grows with their square."""


@dataclass(frozen=True, slots=True)
class Options:
    """What can be set per model in its config.pbtxt (`parameters`)."""

    input_size: int = 640
    """Longer side of the detector's input, pixels."""
    detection_threshold: float = 0.3
    """Least score of a plate."""
    iou_threshold: float = 0.45
    """Two plates that overlap more than this are one."""
    max_plates: int = 300
    """Plates given back per image."""
    text_threshold: float = 0.5
    """A text that is less probable than this is given back as "": it is wrong more often than right."""
    blank_threshold: float = 0.05
    """A plate whose text is less probable than this looks blank to the reader."""
    blank_detection_threshold: float = 0.8
    """Least score of a plate that looks blank: lamps, signs and fences do, and plates seldom."""

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, str]) -> Self:
        """Read options from a model's parameters, whose values are strings. Others are Triton's and are left alone.

        Raises:
            ValueError: a value is not a number.
        """
        known = {option.name: int if option.type is int else float for option in fields(cls)}
        return cls(**{name: known[name](value) for name, value in parameters.items() if name in known})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Detections:
    """Plates found in an image, best first."""

    boxes: Floats
    """(n, 4) x_min, y_min, x_max, y_max in pixels of the image."""
    scores: Floats
    """(n,), 0 to 1."""


@dataclass(frozen=True, slots=True)
class Readings:
    """Plates found and read, best detection first."""

    detections: Detections
    texts: list[str] = field(default_factory=list)
    """Latin; "" where the plate can't be read."""
    scores: Floats = field(default_factory=lambda: np.empty(0, np.float32))
    """(n,) probability of the text that was read, rejected or not."""


def detect(image: Image, detector: DetectorNet, options: Options) -> Detections:
    """Find the plates of an image (h, w, 3), BGR, of any size."""
    height, width = image.shape[:2]
    boxed, transform = geometry.letterbox(image, options.input_size)
    rows = detector(boxed[None])[0]
    scores = rows[:, 4] * rows[:, 5]
    likely = np.flatnonzero(scores >= options.detection_threshold)
    if likely.size > SUPPRESSED_AT_MOST:
        likely = likely[np.argpartition(scores[likely], -SUPPRESSED_AT_MOST)[-SUPPRESSED_AT_MOST:]]
    centres, halves = rows[likely, 0:2], rows[likely, 2:4] / 2
    boxes = transform.to_original(np.hstack([centres - halves, centres + halves]), height, width)
    # The network may place a box in the padding; nothing of it is left in the image then.
    visible = np.all(boxes[:, 2:] - boxes[:, :2] >= 1, axis=1)
    boxes, scores = boxes[visible], scores[likely][visible]
    kept = geometry.suppress(boxes, scores, options.iou_threshold, options.max_plates)
    return Detections(boxes[kept], scores[kept])


def read(crops: Floats, reader: ReaderNet) -> tuple[list[str], Floats]:
    """Read crops (n, 3, 24, 94), in chunks that the network takes; returns texts and their probabilities (n,)."""
    chunks = [
        reader(crops[start : start + contract.READER_BATCH]) for start in range(0, len(crops), contract.READER_BATCH)
    ]
    return decoding.decode(np.concatenate(chunks))


def recognize(image: Image, detector: DetectorNet, reader: ReaderNet, options: Options) -> Readings:
    """Find and read the plates of an image (h, w, 3), BGR; the reader isn't asked when there are none."""
    found = detect(image, detector, options)
    if not found.scores.size:
        return Readings(found)
    texts, scores = read(geometry.crop(image, found.boxes), reader)
    kept = (scores >= options.blank_threshold) | (found.scores >= options.blank_detection_threshold)
    found = Detections(found.boxes[kept], found.scores[kept])
    texts, scores = [text for text, keep in zip(texts, kept, strict=True) if keep], scores[kept]
    given = [text if score >= options.text_threshold else "" for text, score in zip(texts, scores, strict=True)]
    return Readings(found, given, scores)
