"""POST /recognize/batch: many pictures in one request."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from gateway.batch import Batch
from gateway.errors import UnsupportedImage
from gateway.fake import FakeRecognizer
from gateway.multipart import Part
from gateway.schemas import RecognizeResponse
from gateway.settings import Settings
from tests.gateway.support import assert_problem

Encode = Callable[..., bytes]

NDJSON = {"Accept": "application/x-ndjson"}
BOUNDARY = b"boundary"
SLOTS = 6


@pytest.fixture
def settings() -> Settings:
    return Settings(max_body_bytes=50_000, max_batch_bytes=400_000, max_batch_files=20, slots=SLOTS, upload_seconds=5)


def files(*contents: bytes) -> list[tuple[str, tuple[str, bytes]]]:
    return [("image", (f"{index}.jpg", content)) for index, content in enumerate(contents)]


def part(index: int, content: bytes) -> bytes:
    head = f'Content-Disposition: form-data; name="image"; filename="{index}.jpg"'
    return b"--" + BOUNDARY + b"\r\n" + head.encode() + b"\r\n\r\n" + content + b"\r\n"


END = b"--" + BOUNDARY + b"--\r\n"


def entries(response: httpx.Response) -> list[dict[str, Any]]:
    assert response.status_code == 200, response.text
    if response.headers["Content-Type"] == NDJSON["Accept"]:
        return [json.loads(line) for line in response.text.splitlines()]
    answer = response.json()
    assert answer["id"] == response.headers["X-Request-ID"]
    results: list[dict[str, Any]] = answer["results"]
    return results


@pytest.mark.parametrize("headers", [{}, NDJSON], ids=["JSON", "NDJSON"])
async def test_a_file_that_cannot_be_read_is_an_entry_among_the_others(
    client: httpx.AsyncClient, encode: Encode, headers: dict[str, str]
) -> None:
    contents = [encode("JPEG"), b"text", encode("PNG"), b"", encode("JPEG")[:300], bytes(60_000), encode("JPEG")]
    response = await client.post(
        "/recognize/batch?candidates=1&min_score=0.5", files=files(*contents), data={"note": "x"}, headers=headers
    )
    answer = entries(response)
    assert [entry["index"] for entry in answer] == list(range(7))
    assert [entry["filename"] for entry in answer] == [f"{index}.jpg" for index in range(7)]
    statuses = [entry["error"]["status"] if entry["error"] else 200 for entry in answer]
    assert statuses == [200, 415, 200, 400, 422, 413, 200]
    for entry in answer:
        assert (entry["result"] is None) == (entry["error"] is not None)
        if entry["result"]:
            assert entry["result"]["id"] == response.headers["X-Request-ID"]
            assert [len(plate["candidates"]) for plate in entry["result"]["plates"]] == [1]


@pytest.mark.parametrize("headers", [{}, NDJSON], ids=["JSON", "NDJSON"])
@pytest.mark.parametrize(
    ("request_body", "status", "detail"),
    [
        ({"files": {"note": (None, "x")}}, 400, "holds no files"),
        ({"json": {}}, 415, "Send the pictures as files in a form"),
        (
            {"content": END[:-4], "headers": {"Content-Type": "multipart/form-data; boundary=boundary"}},
            400,
            "ends before",
        ),
    ],
)
async def test_a_form_without_files_is_refused(
    client: httpx.AsyncClient, headers: dict[str, str], request_body: dict[str, Any], status: int, detail: str
) -> None:
    request_body = request_body | {"headers": request_body.get("headers", {}) | headers}
    assert_problem(await client.post("/recognize/batch", **request_body), status, detail)


async def test_there_are_no_more_files_than_may_be(client: httpx.AsyncClient, jpeg: bytes) -> None:
    assert len(entries(await client.post("/recognize/batch", files=files(*[jpeg] * 20)))) == 20
    response = await client.post("/recognize/batch", files=files(*[jpeg] * 21))
    assert_problem(response, 413, "more than 20 files")


async def test_what_was_answered_stands_when_the_form_breaks(client: httpx.AsyncClient, jpeg: bytes) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=boundary"}
    broken = part(0, jpeg) + part(1, jpeg)[:-9]
    assert_problem(await client.post("/recognize/batch", content=broken, headers=headers), 400, "ends before")
    first, last = entries(await client.post("/recognize/batch", content=broken, headers=headers | NDJSON))
    assert (first["index"], first["error"]) == (0, None)
    assert (last["index"], last["filename"], last["error"]["status"]) == (1, None, 400)


async def test_an_unforeseen_error_of_one_file_is_the_request_s(
    client: httpx.AsyncClient, fake: FakeRecognizer, jpeg: bytes
) -> None:
    fake.error = KeyError("/secret")
    response = await client.post("/recognize/batch", files=files(*[jpeg] * 5))
    assert_problem(response, 500, "Something went wrong")
    assert fake.waiting == 0


async def test_half_of_the_places_are_used_at_once(
    client: httpx.AsyncClient, fake: FakeRecognizer, jpeg: bytes
) -> None:
    fake.gate.clear()
    answering = asyncio.create_task(client.post("/recognize/batch", files=files(*[jpeg] * 8)))
    async with asyncio.timeout(5):
        while fake.waiting < SLOTS // 2:  # noqa: ASYNC110 - the fake has nothing else to wait for
            await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
    assert fake.received == fake.waiting == SLOTS // 2
    fake.gate.set()
    assert len(entries(await answering)) == 8


async def forever() -> None:
    await asyncio.Event().wait()


async def test_answers_are_in_the_order_of_the_form() -> None:
    """The first file's answer is the last to be there, and stands first."""
    others_done = asyncio.Semaphore(0)

    async def form() -> AsyncIterator[Part]:
        for index in range(4):
            yield Part("image", f"{index}.jpg", b"")

    async def refuse(index: int, part: Part) -> RecognizeResponse:
        if index == 0:
            for _ in range(3):
                await others_done.acquire()
        others_done.release()
        raise UnsupportedImage(f"No image: {index}.")

    batch = Batch(form(), refuse, until_gone=forever, places=4, max_files=4, max_file_bytes=10)
    assert [entry.index async for entry in batch.entries()] == [0, 1, 2, 3]


class Connection:
    """A connection on which a batch is sent piece by piece."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def begin(self) -> None:
        """Send the head of the request."""
        self.writer.write(
            f"POST /recognize/batch HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\nAccept: {NDJSON['Accept']}\r\n"
            f"Content-Type: multipart/form-data; boundary={BOUNDARY.decode()}\r\n\r\n".encode()
        )

    async def send(self, data: bytes) -> None:
        """Send one chunk of the body; an empty one is the last."""
        self.writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self.writer.drain()

    async def head(self) -> str:
        return (await self.reader.readuntil(b"\r\n\r\n")).decode()

    async def entry(self) -> dict[str, Any]:
        """Return the next line of the chunked answer."""
        size = int(await self.reader.readline(), 16)
        line = await self.reader.readexactly(size + 2)
        entry: dict[str, Any] = json.loads(line)
        return entry


@contextlib.asynccontextmanager
async def connection(port: int) -> AsyncIterator[Connection]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(10):
            yield Connection(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def test_lines_come_before_the_last_file_is_sent(port: int, jpeg: bytes) -> None:
    async with connection(port) as sender:
        await sender.begin()
        await sender.send(part(0, jpeg) + part(1, b"text"))
        # The boundary after a file says that it is complete.
        await sender.send(b"--" + BOUNDARY + b"\r\n")
        assert "200 OK" in await sender.head()
        assert (await sender.entry())["result"]["plates"][0]["text"] == "B840OK197"
        assert (await sender.entry())["error"]["status"] == 415
        await sender.send(part(2, jpeg).removeprefix(b"--" + BOUNDARY + b"\r\n") + END)
        await sender.send(b"")
        assert (await sender.entry())["index"] == 2
        assert await sender.reader.readline() == b"0\r\n"


async def test_a_body_that_grows_too_large_ends_with_an_error(port: int, jpeg: bytes) -> None:
    async with connection(port) as sender:
        await sender.begin()
        await sender.send(part(0, jpeg) + part(1, b""))
        await sender.head()
        assert (await sender.entry())["error"] is None
        await sender.send(part(2, bytes(450_000)))
        assert (await sender.entry())["index"] == 1
        assert (await sender.entry())["error"]["status"] == 413


async def test_a_file_is_taken_only_when_there_is_a_place_for_it() -> None:
    """However long the form is, few files are in memory; the client has to wait."""
    taken = 0
    gate = asyncio.Event()

    async def form() -> AsyncIterator[Part]:
        nonlocal taken
        for index in range(10):
            taken += 1
            yield Part("image", f"{index}.jpg", b"")

    async def refuse(index: int, part: Part) -> RecognizeResponse:
        await gate.wait()
        raise UnsupportedImage("No image.")

    batch = Batch(form(), refuse, until_gone=forever, places=3, max_files=10, max_file_bytes=10)
    async with contextlib.aclosing(batch.entries()) as entries:
        first = asyncio.create_task(anext(entries))
        for _ in range(100):
            await asyncio.sleep(0)
        assert taken == 3
        gate.set()
        await first
        assert len([entry async for entry in entries]) == 9


async def test_work_ends_when_the_client_goes_away(port: int, fake: FakeRecognizer, jpeg: bytes) -> None:
    fake.gate.clear()
    async with connection(port) as sender:
        await sender.begin()
        await sender.send(b"".join(part(index, jpeg) for index in range(2)) + END)
        await sender.send(b"")
        while fake.waiting < 2:  # noqa: ASYNC110 - the fake has nothing else to wait for
            await asyncio.sleep(0.01)
    async with asyncio.timeout(5):
        while fake.waiting:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)
