"""This project's own networks, or others in its model repository. Run by `python -m benchmarks.peers`.

A third argument is the model repository. With a fourth, "greedy", whatever the reader's best path says is given out, as
in the original pipeline: no grammar, no threshold.
"""

import sys
from pathlib import Path

import cv2
import numpy as np

from benchmarks.peers.protocol import Plates, serve
from nets import repository
from nets.given_boxes import as_boxes
from plates import decoding, geometry, pipeline

_folder = Path(sys.argv[3])
_greedy = "greedy" in sys.argv[4:]
_detector, _reader, _options = repository.detector(_folder), repository.reader(_folder), repository.options(_folder)


def read(photo: Path) -> Plates:
    """Return all plates, those without a text included."""
    image = np.asarray(cv2.imread(str(photo), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION), np.uint8)
    if not _greedy:
        found = pipeline.recognize(image, _detector, _reader, _options)
        return list(zip(as_boxes(found.detections.boxes), found.texts, strict=True))
    boxes = pipeline.detect(image, _detector, _options).boxes
    texts, _ = decoding.decode(_reader(geometry.crop(image, boxes))) if len(boxes) else ([], None)
    return list(zip(as_boxes(boxes), texts, strict=True))


if __name__ == "__main__":
    serve(read)
