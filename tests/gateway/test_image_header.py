"""The header reader, beside Pillow and against files made to hurt."""

import contextlib
import io
import struct
import time
import zlib
from collections.abc import Callable

import pytest
from PIL import Image

from gateway.errors import GatewayError, UnprocessableImage, UnsupportedImage
from gateway.image_header import ACCEPTED, ImageHeader, read_header

Encode = Callable[..., bytes]

FILES = [
    ("JPEG", {}),
    ("JPEG", {"progressive": True}),
    ("JPEG", {"mode": "CMYK"}),
    ("JPEG", {"mode": "L"}),
    ("JPEG", {"icc_profile": b"p" * 100_000, "comment": b"c" * 60_000}),
    ("PNG", {}),
    ("PNG", {"mode": "P"}),
    ("WEBP", {"quality": 80}),
    ("WEBP", {"lossless": True}),
    ("WEBP", {"mode": "RGBA", "quality": 80}),
    ("WEBP", {"icc_profile": b"p" * 1001}),
    ("BMP", {}),
    ("BMP", {"mode": "1"}),
]


@pytest.mark.parametrize(("name", "options"), FILES)
def test_reads_the_size_that_pillow_reads(encode: Encode, name: str, options: dict[str, object]) -> None:
    data = encode(name, **options)
    header = read_header(data)
    assert (header.width, header.height) == Image.open(io.BytesIO(data)).size
    assert (header.format.upper(), header.orientation) == (name, 1)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("name", ["JPEG", "PNG", "WEBP"])
def test_reads_the_exif_orientation(encode: Encode, name: str, orientation: int) -> None:
    assert read_header(encode(name, orientation=orientation)).orientation == orientation


def test_reads_the_orientation_of_big_endian_exif(encode: Encode) -> None:
    entry = struct.pack(">HHIHH", 0x0112, 3, 1, 6, 0)
    exif = b"MM\0*" + struct.pack(">IH", 8, 1) + entry + bytes(4)
    assert read_header(encode("JPEG", exif=b"Exif\0\0" + exif)).orientation == 6


def test_finds_exif_after_the_pixels_of_a_png(encode: Encode) -> None:
    exif = b"II*\0" + struct.pack("<IH", 8, 1) + struct.pack("<HHIHH", 0x0112, 3, 1, 8, 0) + bytes(4)
    chunk = struct.pack(">I", len(exif)) + b"eXIf" + exif + struct.pack(">I", zlib.crc32(b"eXIf" + exif))
    data = encode("PNG")
    end = data.index(b"IEND") - 4
    assert read_header(data[:end] + chunk + data[end:]).orientation == 8


def test_an_orientation_that_exif_does_not_know_is_as_stored(encode: Encode) -> None:
    assert read_header(encode("JPEG", orientation=9)).orientation == 1
    assert read_header(encode("JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")).orientation == 1


def test_a_top_down_bmp_has_a_positive_height(encode: Encode) -> None:
    data = bytearray(encode("BMP"))
    data[22:26] = struct.pack("<i", -48)
    assert read_header(bytes(data)) == ImageHeader("BMP", 80, 48)


@pytest.mark.parametrize("data", [b"", b"hello", b"%PDF-1.7", b"GIF89a" + bytes(20), b"BMW is a make of car.", b"\xff"])
def test_what_is_no_image_is_unsupported(data: bytes) -> None:
    with pytest.raises(UnsupportedImage, match=ACCEPTED):
        read_header(data)


@pytest.mark.parametrize("name", ["JPEG", "PNG", "WEBP", "BMP"])
def test_a_header_cut_anywhere_is_refused_or_read(encode: Encode, name: str) -> None:
    data = encode(name, orientation=6) if name != "BMP" else encode(name)
    for length in range(min(len(data), 700)):
        try:
            header = read_header(data[:length])
        except (UnsupportedImage, UnprocessableImage):
            continue
        assert (header.width, header.height) == (80, 48)


@pytest.mark.parametrize("name", ["JPEG", "PNG", "WEBP", "BMP"])
def test_a_header_with_any_byte_changed_raises_nothing_else(encode: Encode, name: str) -> None:
    data = encode(name, orientation=6) if name != "BMP" else encode(name)
    for position in range(min(len(data), 200)):
        for value in (0x00, 0x7F, 0xDA, 0xFF):
            changed = bytearray(data)
            changed[position] = value
            try:
                read_header(bytes(changed))
            except GatewayError as error:
                assert error.status in (415, 422)  # noqa: PT017 - most of them can be read


def test_a_size_of_zero_is_unprocessable(encode: Encode) -> None:
    data = bytearray(encode("PNG"))
    data[16:20] = bytes(4)
    with pytest.raises(UnprocessableImage, match="0 x 48"):
        read_header(bytes(data))


HOSTILE = {
    "a JPEG of empty segments": b"\xff\xd8\xff" + b"\xff\xfe\0\2" * 2_500_000,
    "a JPEG of fill bytes": b"\xff\xd8" + b"\xff" * 10_000_000,
    "a JPEG of restart markers": b"\xff\xd8\xff" + b"\xff\xd0" * 5_000_000,
    "a PNG of empty chunks": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1" + bytes(12_000_000),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_a_file_of_ten_megabytes_of_headers_does_not_keep_the_loop_busy(data: bytes) -> None:
    begin = time.thread_time()
    with contextlib.suppress(UnprocessableImage):
        read_header(data)
    assert time.thread_time() - begin < 0.5
