"""The application with a fake recognizer, called without a network."""

import io
from collections.abc import AsyncIterator, Callable

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from gateway.app import create_app
from gateway.fake import FakeRecognizer
from gateway.recognizer import Box, Candidate, Plate
from gateway.settings import Settings
from tests.gateway.support import serving

PLATE = Plate(
    Box(10.41, 20.0, 40.6, 32.26),
    "B840OK197",
    0.97123456,
    0.93,
    character_scores=(0.99,) * 8 + (0.98765,),
    candidates=(Candidate("B840OK197", 0.97123456), Candidate("B840OK797", 0.02), Candidate("B340OK197", 0.001)),
    format="civil",
    region="197",
)


@pytest.fixture(scope="session")
def pixels() -> NDArray[np.uint8]:
    """Smooth RGB pixels (48, 80, 3), no two corners alike: what is turned or mirrored is noticed."""
    y, x = np.mgrid[0:48, 0:80].astype(np.float32)
    return np.asarray(np.stack((x * 3, y * 5, 255 - x * 2 - y), axis=2), np.uint8)


@pytest.fixture(scope="session")
def encode(pixels: NDArray[np.uint8]) -> Callable[..., bytes]:
    """A function from a format, a mode and an EXIF orientation to the pixels as a file, written by Pillow."""

    def encoded(name: str, mode: str = "RGB", orientation: int | None = None, **options: object) -> bytes:
        if orientation is not None:
            exif = Image.Exif()
            exif[0x0112] = orientation
            options["exif"] = exif.tobytes()
        file = io.BytesIO()
        Image.fromarray(pixels).convert(mode).save(file, name, **options)
        return file.getvalue()

    return encoded


@pytest.fixture
def jpeg(encode: Callable[..., bytes]) -> bytes:
    return encode("JPEG")


@pytest.fixture
def settings() -> Settings:
    return Settings(max_body_bytes=200_000, max_pixels=1_000_000, upload_seconds=5)


@pytest.fixture
async def fake() -> FakeRecognizer:
    return FakeRecognizer([PLATE])


@pytest.fixture
async def client(settings: Settings, fake: FakeRecognizer) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(settings, fake))
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
        yield client


@pytest.fixture
async def url(settings: Settings, fake: FakeRecognizer) -> AsyncIterator[str]:
    """The address of the same application behind a real server."""
    async with serving(settings, fake) as address:
        yield address


@pytest.fixture
def port(url: str) -> int:
    """Its port on the loopback."""
    return int(url.rpartition(":")[2])
