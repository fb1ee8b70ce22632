"""rapidocr-onnxruntime: PaddleOCR's networks, which read any text. Run by `python -m benchmarks.peers`."""

from pathlib import Path
from typing import Any

from rapidocr_onnxruntime import RapidOCR  # type: ignore[import-not-found]

from benchmarks.peers.ocr_text import as_plate
from benchmarks.peers.protocol import Box, Plates, serve

_engine = RapidOCR(intra_op_num_threads=1, inter_op_num_threads=1)


def read(photo: Path) -> Plates:
    """Return the lines of text that are plates; the region often is a line of its own, beside the number."""
    lines = [(_bounds(corners), str(text)) for corners, text, _ in _engine(str(photo))[0] or ()]
    pairs = [
        (_around(left, right), left_text + right_text)
        for left, left_text in lines
        for right, right_text in lines
        if _continues(left, right)
    ]
    # Pairs first: a number whose region stands beside it may look like a whole plate alone.
    found = ((box, as_plate(text)) for box, text in pairs + lines)
    return [(box, text) for box, text in found if text]


def _bounds(corners: list[list[Any]]) -> Box:
    xs, ys = zip(*corners, strict=True)
    return float(min(xs)), float(min(ys)), float(max(xs)), float(max(ys))


def _continues(left: Box, right: Box) -> bool:
    """Say whether one box goes on where the other ends, on the same line."""
    height = left[3] - left[1]
    overlap = min(left[3], right[3]) - max(left[1], right[1])
    return -0.5 * height < right[0] - left[2] < height and overlap > 0.5 * min(height, right[3] - right[1])


def _around(left: Box, right: Box) -> Box:
    return left[0], min(left[1], right[1]), right[2], max(left[3], right[3])


if __name__ == "__main__":
    serve(read)
