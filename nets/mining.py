"""Hard negatives: where a half-trained detector sees plates in the training photos and there are none."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from nets.data.photos import Photo, bounds
from nets.evaluate_detector import as_detector
from nets.yolov5 import YOLOv5
from plates.geometry import Floats
from plates.pipeline import Options, detect

SEEN_FROM: Final = 0.2
"""Score from which a look-alike is worth learning."""

TOUCHES: Final = 0.2
"""Share of a detection that may lie on a labelled plate: more, and it is a bad box of that plate and no look-alike."""


def find_lookalikes(network: YOLOv5, scenes: Iterable[Photo]) -> list[tuple[int, Floats]]:
    """Return (index of the scene, box (4,) in its pixels) of each detection that is no labelled plate."""
    detector = as_detector(network)
    found = []
    for number, photo in enumerate(scenes):
        plates = bounds(photo.corners)
        boxes = detect(photo.image, detector, Options(detection_threshold=SEEN_FROM)).boxes
        found += [(number, box) for box in boxes if not touches(box, plates)]
    return found


def touches(box: Floats, plates: Floats) -> bool:
    """Say whether more than `TOUCHES` of a box (4,) lies on one of the plates (n, 4)."""
    size = np.minimum(box[2:], plates[:, 2:]) - np.maximum(box[:2], plates[:, :2])
    shared = np.prod(np.maximum(size, 0), axis=1)
    return bool(np.any(shared > TOUCHES * np.prod(box[2:] - box[:2])))
