"""platerec: a detector (platedet) and reader of several countries' plates. Run by `python -m benchmarks.peers`."""

import re
from pathlib import Path

import onnxruntime
from PIL import Image
from platerec import Platerec  # type: ignore[import-not-found]

from benchmarks.peers.ocr_text import clean
from benchmarks.peers.protocol import Plates, serve

_options = onnxruntime.SessionOptions()
_options.intra_op_num_threads = 1
_reader = Platerec(sess_options=_options)


def read(photo: Path) -> Plates:
    """Return all plates; the country, which comes first in brackets, is left out."""
    answer = _reader.detect_read(Image.open(photo).convert("RGB"))
    return [
        ((float(box[0]), float(box[1]), float(box[2]), float(box[3])), clean(re.sub(r"\[\w+\]", "", word)))
        for box, word in zip(answer["boxes"], answer["words"], strict=True)
    ]


if __name__ == "__main__":
    serve(read)
