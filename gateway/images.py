"""From the bytes of an upload to BGR pixels, in two steps.

`inspect` reads the header, which is cheap and decides whether the image is admitted at all. `EncodedImage.decode` is
the expensive step: it blocks, so it runs in a worker thread, and it writes straight into shared memory where it can.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from gateway.errors import BadRequest, ContentTooLarge, UnprocessableImage
from gateway.image_header import read_header

Image = NDArray[np.uint8]

MAX_SCANS: Final = 100
"""Scans of a progressive JPEG. Encoders write about ten; each costs a pass over the whole picture, so that a small
file with very many would keep a processor busy for minutes."""

_SIDEWAYS: Final = frozenset({5, 6, 7, 8})
"""EXIF orientations that swap width and height."""

_ORIENT: Final[dict[int, Callable[[Image, Image], object]]] = {
    1: lambda stored, target: np.copyto(target, stored),
    2: lambda stored, target: cv2.flip(stored, 1, dst=target),
    3: lambda stored, target: cv2.rotate(stored, cv2.ROTATE_180, dst=target),
    4: lambda stored, target: cv2.flip(stored, 0, dst=target),
    5: lambda stored, target: cv2.transpose(stored, dst=target),
    6: lambda stored, target: cv2.rotate(stored, cv2.ROTATE_90_CLOCKWISE, dst=target),
    7: lambda stored, target: cv2.transpose(cv2.rotate(stored, cv2.ROTATE_180), dst=target),
    8: lambda stored, target: cv2.rotate(stored, cv2.ROTATE_90_COUNTERCLOCKWISE, dst=target),
}
"""From the pixels as stored to those that a viewer shows, for each EXIF orientation (Exif 2.32, tag 0x0112)."""

_DECODE_FLAGS: Final = cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION


@dataclass(frozen=True, slots=True)
class EncodedImage:
    """An image file whose header was found good; the pixels are still encoded."""

    data: bytes
    format: str
    height: int
    width: int
    """Height and width in pixels as a viewer shows the image, that is, with the EXIF orientation applied."""
    orientation: int = 1
    """EXIF orientation, 1 to 8."""

    def decode(self, out: Image | None = None) -> Image:
        """Decode to BGR uint8 of shape (height, width, 3), the EXIF orientation applied. Blocks.

        16-bit channels are cut to 8 bits, an alpha channel is dropped, grey becomes three equal channels, of an
        animation the first frame is taken.

        Args:
            out: where the pixels go (C-contiguous, of that shape); a new array without it.

        Returns:
            `out`, or the new array.

        Raises:
            UnprocessableImage: the pixels are broken, cut short or of another size than the header says.
        """
        shape = (self.height, self.width, 3)
        if out is not None and out.shape != shape:
            raise ValueError(f"out has shape {out.shape}, the image {shape}")
        stored = self._decode_stored()
        if out is None and self.orientation == 1:
            return stored
        target = np.empty(shape, np.uint8) if out is None else out
        _ORIENT[self.orientation](stored, target)
        return target

    def _decode_stored(self) -> Image:
        if self.format == "JPEG" and self.data.count(b"\xff\xda") > MAX_SCANS:
            raise UnprocessableImage(f"The JPEG has more than {MAX_SCANS} scans.")
        try:
            stored: Image | None = cv2.imdecode(np.frombuffer(self.data, np.uint8), _DECODE_FLAGS)  # type: ignore[assignment]
        except cv2.error:
            stored = None
        if stored is None:
            raise UnprocessableImage(f"The {self.format} can't be decoded: it is broken or cut short.")
        sideways = self.orientation in _SIDEWAYS
        size = (self.width, self.height) if sideways else (self.height, self.width)
        if stored.shape != (*size, 3):
            raise UnprocessableImage(f"The {self.format}'s pixels don't have the size that its header says.")
        return stored


def inspect(data: bytes, max_pixels: int) -> EncodedImage:
    """Read an image's header and decide whether it is admitted; nothing is decoded.

    Raises:
        BadRequest: no bytes at all.
        UnsupportedImage: not a JPEG, PNG, WebP or BMP.
        UnprocessableImage: the header is broken.
        ContentTooLarge: more than `max_pixels`.
    """
    if not data:
        raise BadRequest("The image is empty: it has no bytes.")
    header = read_header(data)
    if header.width * header.height > max_pixels:
        raise ContentTooLarge(
            f"The image has {header.width} x {header.height} pixels; {max_pixels / 1e6:.3g} million are accepted. "
            "Send a smaller one."
        )
    sideways = header.orientation in _SIDEWAYS
    height, width = (header.width, header.height) if sideways else (header.height, header.width)
    return EncodedImage(data, header.format, height, width, header.orientation)
