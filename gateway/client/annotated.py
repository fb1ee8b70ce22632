"""Copies of photos with their plates drawn in."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from gateway import drawing, images
from gateway.client.errors import PhotoRefused
from gateway.client.photos import STANDARD_INPUT, Photo, is_folder
from gateway.errors import GatewayError
from gateway.recognizer import Box, Plate
from gateway.rendering import encode_jpeg

_MAX_PIXELS: Final = 2**30
"""OpenCV's own limit: the gateway has answered already, so its own let the photo pass."""
_JPEG_SUFFIXES: Final = frozenset({".jpg", ".jpeg"})


class Annotator:
    """Writes an annotated JPEG for each photo into a folder, in the tree in which the photos lie.

    Args:
        folder: where they go; made where there is none.
        sources: what the photos were found in: the tree begins at the folder that holds all of them.
    """

    def __init__(self, folder: Path, sources: Iterable[str]) -> None:
        self._folder = folder
        roots = [
            path if is_folder(str(path)) else path.parent
            for path in (Path(source).absolute() for source in sources if source != STANDARD_INPUT)
        ]
        self._root = os.path.commonpath(roots) if roots else ""

    def target(self, photo: Photo) -> Path:
        """Return where a photo's copy goes: no two photos share one."""
        if not photo.is_file:
            return self._folder / "stdin.jpg"
        copy = self._folder / os.path.relpath(Path(photo.path).absolute(), self._root)
        return copy if copy.suffix.lower() in _JPEG_SUFFIXES else copy.with_name(f"{copy.name}.jpg")

    def write(self, photo: Photo, data: bytes, answer: Mapping[str, Any]) -> None:
        """Write a photo's copy, whole or not at all. Blocks.

        Args:
            photo: whose copy it is.
            data: its bytes.
            answer: `gateway.schemas.RecognizeResponse`.

        Raises:
            PhotoRefused: it can't be decoded here, which the gateway could.
            OSError: it can't be written.
        """
        try:
            pixels = images.inspect(data, _MAX_PIXELS).decode()
        except GatewayError as error:
            raise PhotoRefused(error.detail, error.status) from error
        drawing.annotate(pixels, map(_plate, answer["plates"]))
        target = self.target(photo)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            partial.write_bytes(encode_jpeg(pixels))
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)


def _plate(plate: Mapping[str, Any]) -> Plate:
    return Plate(Box(**plate["box"]), plate["text"], plate["score"], plate["detection_score"])
