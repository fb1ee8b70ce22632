"""The streaming form parser."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from gateway.errors import BadRequest
from gateway.multipart import Part, parts

BOUNDARY = b"--boundary"
CONTENT_TYPE = "multipart/form-data; boundary=boundary"

EXPECTED = [
    Part("image", "car.jpg", b"\xff\xd8\r\n--bound\r\n\r\n--boundar\r\n" + bytes(range(256))),
    Part("note", None, b"gate 3"),
    Part("image", "\u043c\u0430\u0448\u0438\u043d\u0430.png", b""),
    Part("image", "car", b"--"),
]


def form() -> bytes:
    files = [(part.name, (part.filename, part.data)) for part in EXPECTED]
    return httpx.Request("POST", "http://g", files=files, headers={"Content-Type": CONTENT_TYPE}).read()


async def in_chunks(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def parse(data: bytes, size: int = 4096, *, max_parts: int = 9, max_part_bytes: int = 10**6) -> list[Part]:
    return [
        part
        async for part in parts(CONTENT_TYPE, in_chunks(data, size), max_parts=max_parts, max_part_bytes=max_part_bytes)
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 11, 64, 100, 10_000])
async def test_the_parts_are_the_same_however_the_body_is_cut(size: int) -> None:
    assert await parse(form(), size) == EXPECTED


async def test_each_part_is_handed_on_before_the_next_one_arrives() -> None:
    arrived: asyncio.Queue[bytes] = asyncio.Queue()

    async def chunks() -> AsyncIterator[bytes]:
        while chunk := await arrived.get():
            yield chunk

    body = form()
    cut = body.index(BOUNDARY, 10) + len(BOUNDARY) + 2
    reading = parts(CONTENT_TYPE, chunks(), max_parts=9, max_part_bytes=10**6)
    arrived.put_nowait(body[:cut])
    assert await anext(reading) == EXPECTED[0]
    assert arrived.empty()
    arrived.put_nowait(body[cut:])
    arrived.put_nowait(b"")
    assert [part async for part in reading] == EXPECTED[1:]


async def test_a_part_that_is_too_large_is_told_without_its_bytes() -> None:
    large, *others = await parse(form(), 16, max_part_bytes=100)
    assert (large.filename, large.data, large.oversized) == ("car.jpg", b"", True)
    assert others == EXPECTED[1:]


async def test_there_are_no_more_parts_than_may_be() -> None:
    assert len(await parse(form(), max_parts=4)) == 4
    with pytest.raises(BadRequest, match="more than 3 parts"):
        await parse(form(), max_parts=3)


@pytest.mark.parametrize("end", [-3, -20, 30])
async def test_a_form_that_ends_early_is_refused(end: int) -> None:
    with pytest.raises(BadRequest, match="ends before its last boundary"):
        await parse(form()[:end].removesuffix(b"--"))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"x", "can't be told apart"),
        (b"", "ends before"),
        (BOUNDARY + b"\r\n\r\nx\r\n" + BOUNDARY + b"--\r\n", "has no name"),
        (BOUNDARY + b"\r\nContent-Disposition: form-data\r\n\r\nx\r\n" + BOUNDARY + b"--\r\n", "has no name"),
    ],
)
async def test_what_is_no_form_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(BadRequest, match=reason):
        await parse(body)


@pytest.mark.parametrize("content_type", ["multipart/form-data", "multipart/form-data; boundary="])
async def test_without_a_boundary_there_is_no_form(content_type: str) -> None:
    with pytest.raises(BadRequest, match="no boundary"):
        await anext(parts(content_type, in_chunks(form(), 10), max_parts=9, max_part_bytes=9))
