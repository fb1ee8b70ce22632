"""From the bytes of an upload to BGR pixels, in two steps.

`inspect` reads the header, which is cheap and decides whether the image is admitted at all. `EncodedImage.decode` is
the expensive step: it blocks, so it runs in a worker thread. `EncodedImage.decode_into` is the same into memory that
exists already, and says how much it had to copy: nothing for a JPEG that is stored upright.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
import simplejpeg
from numpy.typing import NDArray

from gateway.errors import BadRequest, ContentTooLarge, UnprocessableImage
from gateway.image_header import has_more_scans, read_header

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

    def decode(self) -> Image:
        """Decode to BGR uint8 of shape (height, width, 3), the EXIF orientation applied. Blocks.

        16-bit channels are cut to 8 bits, an alpha channel is dropped, grey becomes three equal channels, of an
        animation the first frame is taken.

        Raises:
            UnprocessableImage: the pixels are broken, cut short or of another size than the header says.
        """
        out = np.empty((self.height, self.width, 3), np.uint8)
        self.decode_into(out)
        return out

    def decode_into(self, out: Image) -> int:
        """Do as `decode`, into an array of that shape (C-contiguous).

        Returns:
            How many bytes were copied: 0 where the decoder itself wrote into `out`.

        Raises:
            UnprocessableImage: the same; `out` may hold anything then.
        """
        shape = (self.height, self.width, 3)
        if out.shape != shape:
            raise ValueError(f"out has shape {out.shape}, the image {shape}")
        upright = self.orientation == 1
        stored = out if upright else np.empty(self._stored_shape, np.uint8)
        if self._decode_jpeg(stored):
            if upright:
                return 0
        else:
            stored = self._decode_any()
        _ORIENT[self.orientation](stored, out)
        return out.nbytes

    @property
    def _stored_shape(self) -> tuple[int, int, int]:
        sideways = self.orientation in _SIDEWAYS
        return (self.width, self.height, 3) if sideways else (self.height, self.width, 3)

    def _decode_jpeg(self, stored: Image) -> bool:
        """Decode a flawless JPEG; False for all else, about which the other decoder has to say.

        Both decoders are libjpeg-turbo with its exact DCT and its smooth ("fancy") upsampling: the same pixels.
        """
        if self.format != "JPEG":
            return False
        if has_more_scans(self.data, MAX_SCANS):
            raise UnprocessableImage(f"The JPEG has more than {MAX_SCANS} scans.")
        try:
            decoded = simplejpeg.decode_jpeg(self.data, "BGR", buffer=stored)
        except ValueError:
            return False
        self._check_size(decoded)
        return True

    def _decode_any(self) -> Image:
        try:
            stored: Image | None = cv2.imdecode(np.frombuffer(self.data, np.uint8), _DECODE_FLAGS)  # type: ignore[assignment]
        except cv2.error:
            stored = None
        if stored is None:
            raise UnprocessableImage(f"The {self.format} can't be decoded: it is broken or cut short.")
        self._check_size(stored)
        return stored

    def _check_size(self, stored: Image) -> None:
        if stored.shape != self._stored_shape:
            raise UnprocessableImage(f"The {self.format}'s pixels don't have the size that its header says.")


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
