"""Draw the example picture of README and page, and what the service reads in it: `python -m nets.example`."""

from pathlib import Path
from typing import Any, Final

import cv2
import httpx

from nets.data.plates import render_scene
from nets.service import service
from plates.geometry import Image

ROOT: Final = Path(__file__).resolve().parents[1]
DOCS: Final = ROOT / "docs"
PAGE: Final = ROOT / "gateway" / "web" / "page"
TEXT: Final = "B840OK197"
SEED: Final = 3
GREEN: Final = (80, 220, 60)
QUALITY: Final = [cv2.IMWRITE_JPEG_QUALITY, 88]
PAGE_QUALITY: Final = [cv2.IMWRITE_WEBP_QUALITY, 80]


def annotate(image: Image, plate: dict[str, Any]) -> None:
    """Draw a plate's box, text and score into the picture."""
    left, top, right, bottom = (round(plate["box"][edge]) for edge in ("x_min", "y_min", "x_max", "y_max"))
    cv2.rectangle(image, (left - 3, top - 3), (right + 3, bottom + 3), GREEN, 3, cv2.LINE_AA)
    caption = f"{plate['text']}  {plate['score']:.2f}"
    cv2.putText(image, caption, (left - 3, top - 16), cv2.FONT_HERSHEY_SIMPLEX, 1.1, GREEN, 3, cv2.LINE_AA)


def main() -> None:
    """Write docs/example.jpg, docs/example-read.jpg and the page's example.webp."""
    image, _, _ = render_scene(TEXT, SEED, 1280, 720, 200)
    path = DOCS / "example.jpg"
    cv2.imwrite(str(path), image, QUALITY)
    cv2.imwrite(str(PAGE / "example.webp"), image, PAGE_QUALITY)
    with service(None) as url, path.open("rb") as file:
        response = httpx.post(f"{url}/recognize", files={"image": file}, timeout=60)
    for plate in response.raise_for_status().json()["plates"]:
        annotate(image, plate)
    cv2.imwrite(str(DOCS / "example-read.jpg"), image, QUALITY)


if __name__ == "__main__":
    main()
