"""Pictures that are answered with: decoded, painted on and encoded as JPEG, off the event loop."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import simplejpeg

from gateway.errors import DeadlineExceeded, UnprocessableImage
from gateway.images import EncodedImage, Image

DEFAULT_QUALITY: Final = 90
"""Of a JPEG."""

MAX_SIDE: Final = 65_500
"""Pixels; no JPEG is longer (libjpeg's JPEG_MAX_DIMENSION)."""

Paint = Callable[[Image], None]
"""Changes a picture, (h, w, 3) BGR uint8, in place. Blocks."""


class Renderer:
    """Makes pictures, as many at once as there are processors.

    A decoded picture takes much memory; one that waits for its turn is still a file.
    """

    def __init__(self) -> None:
        self._workers = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="render")

    def close(self) -> None:
        """Let go of the threads; what hasn't begun isn't done any more."""
        self._workers.shutdown(wait=False, cancel_futures=True)

    async def render(self, image: EncodedImage, paint: Paint, *, quality: int, deadline: float) -> bytes:
        """Return the picture as a JPEG, painted on, upright and without the file's metadata.

        Args:
            image: what is painted on.
            paint: changes the pixels.
            quality: of the JPEG, 1 to 100.
            deadline: time of the running event loop's clock.

        Raises:
            UnprocessableImage: the image can't be decoded, or is too long for a JPEG.
            DeadlineExceeded: not done before the deadline.
        """
        if max(image.height, image.width) > MAX_SIDE:
            raise UnprocessableImage(f"The picture is answered as a JPEG, which has {MAX_SIDE} pixels at most a side.")
        work = asyncio.get_running_loop().run_in_executor(self._workers, _render, image, paint, quality)
        try:
            async with asyncio.timeout_at(deadline):
                return await work
        except TimeoutError:
            raise DeadlineExceeded("Drawing the picture takes too long. Send a smaller one, or try again.") from None


def _render(image: EncodedImage, paint: Paint, quality: int) -> bytes:
    pixels = image.decode()
    paint(pixels)
    return encode_jpeg(pixels, quality)


def encode_jpeg(pixels: Image, quality: int = DEFAULT_QUALITY) -> bytes:
    """Return pixels (h, w, 3), BGR uint8, contiguous, as a JPEG of that quality, 1 to 100. Blocks."""
    encoded: bytes = simplejpeg.encode_jpeg(pixels, quality, "BGR", "420")
    return encoded
