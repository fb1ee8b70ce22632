"""OpenCV's cascade of Russian plates and Tesseract: what tutorials build. Run by `python -m benchmarks.peers`."""

import subprocess
from pathlib import Path

import cv2
import numpy as np

from benchmarks.peers.ocr_text import as_plate, clean
from benchmarks.peers.protocol import Plates, serve

_cascade = cv2.CascadeClassifier(str(Path(cv2.__file__).parent / "data" / "haarcascade_russian_plate_number.xml"))

_TESSERACT = (
    *("tesseract", "stdin", "stdout", "--psm", "8", "-l", "eng"),
    *("-c", "tessedit_char_whitelist=ABEKMHOPCTYX0123456789"),
)
# The best of thirty ways to cut and to ask that were tried on training photos; thresholding makes it worse.
_INSIDE_X, _INSIDE_Y = 0.08, 0.2
"""Share of the cascade's boxes, which are larger than the plate, that is cut away on each side."""
_TEXT_HEIGHT = 80
"""Pixels to which the rest is enlarged."""


def read(photo: Path) -> Plates:
    """Return what the cascade finds, read as one word of a plate's characters."""
    image = cv2.imread(str(photo), cv2.IMREAD_GRAYSCALE | cv2.IMREAD_IGNORE_ORIENTATION)
    if image is None:
        raise ValueError(f"{photo} is not an image")
    plates: Plates = []
    for x, y, width, height in _cascade.detectMultiScale(image, scaleFactor=1.05, minNeighbors=4):
        aside, above = round(_INSIDE_X * width), round(_INSIDE_Y * height)
        text = _text(np.asarray(image[y + above : y + height - above, x + aside : x + width - aside]))
        plates.append(((float(x), float(y), float(x + width), float(y + height)), as_plate(text) or clean(text)))
    return plates


def _text(plate: np.ndarray) -> str:  # type: ignore[type-arg]
    scale = _TEXT_HEIGHT / plate.shape[0]
    larger = cv2.resize(plate, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
    _, png = cv2.imencode(".png", larger)
    answer = subprocess.run(_TESSERACT, input=png.tobytes(), capture_output=True, check=True)  # noqa: S603 - fixed
    return answer.stdout.decode()


if __name__ == "__main__":
    serve(read)
