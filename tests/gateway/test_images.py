"""Decoding, beside Pillow, and what is not decoded at all."""

import io
import struct
import tracemalloc
import zlib
from collections.abc import Callable

import cv2
import numpy as np
import pytest
import simplejpeg
from numpy.typing import NDArray
from PIL import Image, ImageOps

from gateway.errors import BadRequest, ContentTooLarge, UnprocessableImage
from gateway.images import MAX_SCANS, EncodedImage, inspect

Encode = Callable[..., bytes]
Pixels = NDArray[np.uint8]

LIMIT = 1_000_000


def decode(data: bytes) -> Pixels:
    """Return the RGB pixels."""
    return inspect(data, LIMIT).decode()[:, :, ::-1]


def by_pillow(data: bytes) -> Pixels:
    """Return the RGB pixels that Pillow shows."""
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))


def by_opencv(data: bytes) -> Pixels:
    """Return the BGR pixels that OpenCV decodes."""
    return np.asarray(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR), np.uint8)


def worst(a: Pixels, b: Pixels) -> int:
    assert a.shape == b.shape
    return int(np.abs(a.astype(int) - b).max())


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize(("name", "tolerance"), [("JPEG", 4), ("PNG", 0), ("WEBP", 0)])
def test_each_exif_orientation_is_applied(encode: Encode, name: str, tolerance: int, orientation: int) -> None:
    options = {"quality": 95} if name == "JPEG" else {"lossless": True}
    data = encode(name, orientation=orientation, **options)
    image = inspect(data, LIMIT)
    expected = by_pillow(data)
    assert (image.height, image.width) == expected.shape[:2]
    assert worst(image.decode()[:, :, ::-1], expected) <= tolerance


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("name", ["JPEG", "PNG"])
def test_decodes_into_a_given_buffer(encode: Encode, name: str, orientation: int) -> None:
    image = inspect(encode(name, orientation=orientation), LIMIT)
    memory = bytearray(image.height * image.width * 3 + 7)
    out = np.frombuffer(memory, np.uint8, offset=7).reshape(image.height, image.width, 3)
    image.decode_into(out)
    assert np.array_equal(out, image.decode())
    assert bytes(memory[:7]) == bytes(7)


@pytest.mark.parametrize(
    ("name", "options", "copied"),
    [
        ("JPEG", {}, False),
        ("JPEG", {"progressive": True}, False),
        ("JPEG", {"mode": "L"}, False),
        ("JPEG", {"orientation": 6}, True),
        ("PNG", {}, True),
    ],
)
def test_a_jpeg_stored_upright_is_decoded_without_a_copy(
    encode: Encode, name: str, options: dict[str, object], copied: bool
) -> None:
    image = inspect(encode(name, **options), LIMIT)
    out = np.empty((image.height, image.width, 3), np.uint8)
    image.decode()  # what is allocated once is allocated now
    tracemalloc.start()
    try:
        count = image.decode_into(out)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == (out.nbytes if copied else 0)
    assert (peak > out.nbytes) == copied


def test_a_buffer_of_another_shape_is_an_error_of_the_caller(jpeg: bytes) -> None:
    image = inspect(jpeg, LIMIT)
    with pytest.raises(ValueError, match="shape"):
        image.decode_into(np.empty((image.width, image.height, 3), np.uint8))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"subsampling": 0},
        {"subsampling": 1},
        {"subsampling": 2, "quality": 60},
        {"progressive": True},
        {"mode": "L"},
        {"mode": "CMYK"},
    ],
)
def test_a_jpeg_has_the_pixels_that_opencv_decodes(encode: Encode, options: dict[str, object]) -> None:
    data = encode("JPEG", **options)
    assert worst(inspect(data, LIMIT).decode(), by_opencv(data)) <= 1


def test_a_jpeg_in_ycck_has_the_pixels_that_opencv_decodes(encode: Encode) -> None:
    data = bytearray(encode("JPEG", mode="CMYK"))
    data[data.index(b"Adobe") + 11] = 2  # transform 2: YCCK (Adobe technical note 5116)
    assert worst(inspect(bytes(data), LIMIT).decode(), by_opencv(bytes(data))) <= 1


def test_a_jpeg_with_a_flaw_that_opencv_forgives_is_decoded(jpeg: bytes) -> None:
    middle = len(jpeg) * 3 // 4
    flawed = jpeg[:middle] + b"\xff\xd3" + jpeg[middle:]  # a restart marker where none belongs
    with pytest.raises(ValueError, match="Corrupt JPEG"):
        simplejpeg.decode_jpeg(flawed)
    assert np.array_equal(inspect(flawed, LIMIT).decode(), by_opencv(flawed))


@pytest.mark.parametrize(
    ("name", "options", "tolerance"),
    [
        ("JPEG", {"mode": "L", "quality": 95}, 2),
        ("JPEG", {"mode": "CMYK", "quality": 95}, 4),
        ("JPEG", {"progressive": True, "quality": 95}, 4),
        ("JPEG", {"subsampling": 0, "quality": 95}, 4),
        ("PNG", {"mode": "L"}, 0),
        ("PNG", {"mode": "LA"}, 0),
        ("PNG", {"mode": "RGBA"}, 0),
        ("PNG", {"mode": "P"}, 0),
        ("PNG", {"mode": "1"}, 0),
        ("WEBP", {"mode": "RGBA", "lossless": True}, 0),
        ("BMP", {}, 0),
        ("BMP", {"mode": "L"}, 0),
        ("BMP", {"mode": "P"}, 0),
        ("BMP", {"mode": "1"}, 0),
    ],
)
def test_colours_are_those_that_pillow_shows(
    encode: Encode, name: str, options: dict[str, object], tolerance: int
) -> None:
    data = encode(name, **options)
    assert worst(decode(data), by_pillow(data)) <= tolerance


def test_a_cmyk_jpeg_has_the_colours_of_its_original(encode: Encode, pixels: Pixels) -> None:
    assert worst(decode(encode("JPEG", mode="CMYK", quality=95)), pixels) <= 8


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_sixteen_bits_are_cut_to_eight(pixels: Pixels, channels: int) -> None:
    wide = np.repeat(pixels[:, :, :1], channels, axis=2).astype(np.uint16) * 257
    _, data = cv2.imencode(".png", wide)
    assert worst(decode(data.tobytes()), np.repeat(pixels[:, :, :1], 3, axis=2)) == 0


@pytest.mark.parametrize("name", ["PNG", "WEBP"])
def test_of_an_animation_the_first_frame_is_taken(pixels: Pixels, name: str) -> None:
    file = io.BytesIO()
    frames = [Image.fromarray(pixels), Image.fromarray(255 - pixels)]
    frames[0].save(file, name, save_all=True, append_images=frames[1:], lossless=True, duration=100)
    assert worst(decode(file.getvalue()), pixels) == 0


@pytest.mark.parametrize(("width", "height"), [(1, 1), (12_000, 200), (65_500, 1), (1, 65_500)])
@pytest.mark.parametrize("name", ["JPEG", "PNG", "BMP"])
def test_extreme_shapes_are_decoded(name: str, width: int, height: int) -> None:
    file = io.BytesIO()
    Image.new("RGB", (width, height), (10, 200, 30)).save(file, name, quality=95)
    image = inspect(file.getvalue(), 3_000_000)
    decoded = image.decode()
    assert decoded.shape == (height, width, 3)
    assert worst(decoded[:1, :1], np.array([[[30, 200, 10]]], np.uint8)) <= 3


def test_no_bytes_are_a_bad_request() -> None:
    with pytest.raises(BadRequest, match="empty"):
        inspect(b"", LIMIT)


@pytest.mark.parametrize("side", [30_000, 2**31 - 1])
def test_too_many_pixels_are_refused_from_the_header_alone(side: int) -> None:
    header = b"IHDR" + struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    with pytest.raises(ContentTooLarge, match=f"{side} x {side}"):
        inspect(data, 50_000_000)


def test_the_limit_itself_is_admitted(jpeg: bytes) -> None:
    assert inspect(jpeg, 80 * 48).width == 80
    with pytest.raises(ContentTooLarge):
        inspect(jpeg, 80 * 48 - 1)


@pytest.mark.parametrize("options", [{}, {"progressive": True}])
@pytest.mark.parametrize("name", ["JPEG", "PNG", "WEBP", "BMP"])
def test_a_file_cut_short_is_not_decoded_half(encode: Encode, name: str, options: dict[str, object]) -> None:
    data = encode(name, **options)
    for share in (0.5, 0.9, 0.99):
        image = inspect(data[: int(len(data) * share)], LIMIT)
        with pytest.raises(UnprocessableImage, match="cut short"):
            image.decode()


def test_broken_pixels_are_unprocessable(encode: Encode) -> None:
    data = bytearray(encode("PNG"))
    data[100:140] = bytes(40)
    with pytest.raises(UnprocessableImage):
        inspect(bytes(data), LIMIT).decode()


def test_pixels_of_another_size_than_the_header_says_are_unprocessable(jpeg: bytes) -> None:
    image = EncodedImage(jpeg, "JPEG", height=48, width=81)
    with pytest.raises(UnprocessableImage, match="size"):
        image.decode()


@pytest.mark.parametrize("length", [20, 21])
def test_a_jpeg_of_very_many_scans_is_not_decoded(encode: Encode, length: int) -> None:
    data = encode("JPEG", progressive=True)
    scan = data[data.index(b"\xff\xda") : data.index(b"\xff\xda") + length]
    image = inspect(data[:-2] + scan * MAX_SCANS + data[-2:], LIMIT)
    with pytest.raises(UnprocessableImage, match="scans"):
        image.decode()


@pytest.mark.parametrize("progressive", [False, True])
def test_what_follows_a_jpeg_is_not_counted_as_scans(encode: Encode, progressive: bool) -> None:
    """A phone's moving photo is a JPEG with a film behind it."""
    data = encode("JPEG", progressive=progressive)
    image = inspect(data + b"\xff\xda\x00\x02" * (2 * MAX_SCANS), LIMIT)
    assert np.array_equal(image.decode(), inspect(data, LIMIT).decode())


def test_a_thumbnail_in_a_segment_is_not_counted_as_scans(encode: Encode) -> None:
    data = encode("JPEG")
    body = b"\xff\xda" * (2 * MAX_SCANS) + b"\xff\xd9"
    segment = b"\xff\xe5" + (len(body) + 2).to_bytes(2, "big") + body
    assert inspect(data[:2] + segment + data[2:], LIMIT).decode().shape == inspect(data, LIMIT).decode().shape
