"""Drawing in millimetres with OpenCV: what plates and cars are drawn on."""

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

Image = NDArray[np.uint8]
Colour = tuple[int, int, int]
"""Blue, green, red."""

_SHIFT: Final = 4
"""Fractional bits of the coordinates that OpenCV draws at."""


@dataclass(frozen=True, slots=True)
class Canvas:
    """An image (h, w, 3), BGR, and where its millimetres are. All lengths are millimetres, x right, y down."""

    image: Image
    scale: float
    """Pixels in a millimetre."""
    origin: tuple[float, float] = (0.0, 0.0)
    """Where 0, 0 is, in pixels."""

    def polyline(self, points: ArrayLike, width: float, colour: Colour) -> None:
        """Draw an open line through points (n, 2) with round joins."""
        # OpenCV draws smooth lines of an even thickness t about t + 1.4 pixels wide, odd ones like the next even one.
        thickness = max(1, 2 * round((width * self.scale - 1.4) / 2))
        cv2.polylines(self.image, [self._pixels(points)], False, colour, thickness, cv2.LINE_AA, _SHIFT)

    def polygon(self, points: ArrayLike, colour: Colour) -> None:
        """Fill a polygon with corners (n, 2)."""
        cv2.fillPoly(self.image, [self._pixels(points)], colour, cv2.LINE_AA, _SHIFT)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """Fill a circle."""
        ((centre_x, centre_y),) = self._pixels([(x, y)]).tolist()
        # Its smooth edge adds half a pixel.
        fixed = max(0, round((radius * self.scale - 0.5) * 2**_SHIFT))
        cv2.circle(self.image, (centre_x, centre_y), fixed, colour, -1, cv2.LINE_AA, _SHIFT)

    def part(self, left: float, top: float, width: float, height: float) -> "Canvas":
        """Return a rectangle of this canvas, to whole pixels: what is drawn on it ends at its edges.

        Its 0, 0 is its own top left corner.
        """
        low = np.rint(np.array([left, top]) * self.scale + self.origin).astype(int)
        high = low + np.rint(np.array([width, height]) * self.scale).astype(int)
        low, high = np.maximum(low, 0), np.maximum(high, 0)
        return Canvas(self.image[low[1] : high[1], low[0] : high[0]], self.scale)

    def _pixels(self, points: ArrayLike) -> NDArray[np.int32]:
        # A pixel's centre is at a whole number for OpenCV.
        pixels = np.asarray(points, np.float64) * self.scale + self.origin - 0.5
        return np.asarray(np.rint(pixels * 2**_SHIFT), np.int32)


def rounded_rectangle(left: float, top: float, right: float, bottom: float, radius: float) -> NDArray[np.float64]:
    """Return the corners (n, 2) of a polygon like a rectangle with round corners, clockwise."""
    quarter = np.radians(np.arange(0, 91, 15))
    corners = (
        (right - radius, bottom - radius),
        (left + radius, bottom - radius),
        (left + radius, top + radius),
        (right - radius, top + radius),
    )
    return np.concatenate(
        [
            centre + radius * np.stack([np.cos(quarter + turn), np.sin(quarter + turn)], axis=1)
            for centre, turn in zip(np.array(corners), np.arange(4) * np.pi / 2, strict=True)
        ]
    )
