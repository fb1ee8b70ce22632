"""Bodies that are too large or too slow, sent to a real server over a socket."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from gateway import middleware
from gateway.fake import FakeRecognizer
from gateway.middleware import BodyLimit
from gateway.settings import Settings

LIMIT = 100_000
UPLOAD_SECONDS = 0.3

PART = b'--b\r\nContent-Disposition: form-data; name="image"; filename="car.jpg"\r\n\r\n'
CHUNK = b"2710\r\n" + b"-" * 10_000 + b"\r\n"


@pytest.fixture
def settings() -> Settings:
    """Small limits."""
    return Settings(max_body_bytes=LIMIT, upload_seconds=UPLOAD_SECONDS)


@contextlib.asynccontextmanager
async def connection(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def head(*headers: str) -> bytes:
    lines = ("POST /recognize HTTP/1.1", "Host: gateway", "Content-Type: multipart/form-data; boundary=b", *headers)
    return "\r\n".join((*lines, "", "")).encode()


async def forever(writer: asyncio.StreamWriter, data: bytes, pause: float) -> None:
    while True:
        writer.write(data)
        await writer.drain()
        await asyncio.sleep(pause)


async def answer(reader: asyncio.StreamReader) -> str:
    """Return the whole answer of a connection that the server closes."""
    async with asyncio.timeout(3):
        return (await reader.read()).decode()


async def logged(caplog: pytest.LogCaptureFixture, text: str) -> None:
    async with asyncio.timeout(3):
        while text not in caplog.text:  # noqa: ASYNC110 - logging has nothing to wait for
            await asyncio.sleep(0.01)


async def test_a_declared_size_over_the_limit_is_refused_before_the_body_is_sent(port: int) -> None:
    async with connection(port) as (reader, writer):
        writer.write(head(f"Content-Length: {LIMIT + 1}", "Expect: 100-continue"))
        text = (await reader.readuntil(b"}")).decode()
    assert text.startswith("HTTP/1.1 413 ")
    assert "application/problem+json" in text
    assert "connection: close" in text.lower()
    assert "100 Continue" not in text


async def test_a_client_that_sends_everything_before_it_reads_gets_the_answer(port: int) -> None:
    body = bytes(5_000_000)
    async with connection(port) as (reader, writer):
        writer.write(head(f"Content-Length: {len(body)}") + body)
        await writer.drain()
        assert (await answer(reader)).startswith("HTTP/1.1 413 ")


async def test_a_chunked_body_is_counted_as_it_arrives(port: int, fake: FakeRecognizer) -> None:
    async with connection(port) as (reader, writer):
        writer.write(head("Transfer-Encoding: chunked"))
        writer.write(b"%x\r\n%b\r\n" % (len(PART), PART))
        for _ in range(LIMIT // 10_000 + 1):
            writer.write(CHUNK)
        text = (await reader.readuntil(b"}")).decode()
    assert text.startswith("HTTP/1.1 413 ")
    assert fake.received == 0


@pytest.mark.parametrize("beginning", [PART, b"not multipart"], ids=["too large", "refused for its form"])
async def test_a_client_that_never_stops_sending_is_cut_off(
    port: int, beginning: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "LINGER_SECONDS", 0.2)
    async with connection(port) as (_, writer):
        writer.write(head("Transfer-Encoding: chunked"))
        writer.write(b"%x\r\n%b\r\n" % (len(beginning), beginning))
        async with asyncio.timeout(3):
            with pytest.raises(ConnectionError):
                await forever(writer, CHUNK, pause=0)


async def test_a_body_that_does_not_arrive_in_time_is_a_request_timeout(port: int) -> None:
    async with connection(port) as (reader, writer):
        writer.write(head("Content-Length: 1000") + b"--b\r\n")
        text = (await reader.readuntil(b"}")).decode()
    assert text.startswith("HTTP/1.1 408 ")
    assert "0.3 s" in text


async def test_a_body_that_drips_does_not_get_more_time(port: int) -> None:
    async with connection(port) as (reader, writer):
        writer.write(head("Content-Length: 100000") + PART)
        dripping = asyncio.create_task(forever(writer, b"-", pause=UPLOAD_SECONDS / 10))
        async with asyncio.timeout(3):
            text = (await reader.readuntil(b"}")).decode()
        dripping.cancel()
    assert text.startswith("HTTP/1.1 408 ")


async def test_waiting_for_triton_is_not_the_bodys_time(port: int, fake: FakeRecognizer, jpeg: bytes) -> None:
    fake.gate.clear()
    body = PART + jpeg + b"\r\n--b--\r\n"
    async with connection(port) as (reader, writer):
        writer.write(head(f"Content-Length: {len(body)}", "Connection: close") + body)
        await fake.entered.wait()
        await asyncio.sleep(2 * UPLOAD_SECONDS)
        fake.gate.set()
        assert (await answer(reader)).startswith("HTTP/1.1 200 ")


async def test_a_client_that_leaves_during_the_upload_is_no_error(
    port: int, fake: FakeRecognizer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with connection(port) as (_, writer):
        writer.write(head("Content-Length: 1000") + b"--b\r\n")
        await writer.drain()
    await logged(caplog, "recognize 499")
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


async def test_a_client_that_leaves_while_it_waits_cancels_its_request(
    port: int, fake: FakeRecognizer, jpeg: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    fake.gate.clear()
    body = PART + jpeg + b"\r\n--b--\r\n"
    async with connection(port) as (_, writer):
        writer.write(head(f"Content-Length: {len(body)}") + body)
        await fake.entered.wait()
    await logged(caplog, "recognize 499")
    assert fake.waiting == 0


class Body:
    """A body that arrives in pieces and doesn't end; the limit stands before a function that reads it."""

    def __init__(self, *pieces: bytes, read: Callable[[Receive], Awaitable[None]], **limits: Any) -> None:
        self._pieces = list(pieces)
        self._read = read
        self._limit = BodyLimit(self._app, **{"max_bytes": 10, "seconds": 0.2, **limits})
        self.sent: list[Message] = []

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._read(receive)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def _receive(self) -> Message:
        if not self._pieces:
            await asyncio.Event().wait()
        piece = self._pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": True}

    async def _send(self, message: Message) -> None:
        self.sent.append(message)

    async def status(self, path: str = "/recognize") -> int:
        """Send the body and return the answer's status."""
        headers = [(b"transfer-encoding", b"chunked")]
        await self._limit({"type": "http", "path": path, "headers": headers}, self._receive, self._send)
        status: int = self.sent[0]["status"]
        return status


async def test_the_time_in_which_nothing_is_asked_for_is_not_the_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is read as fast as it is worked on."""
    monkeypatch.setattr(middleware, "LINGER_SECONDS", 0)

    async def read(receive: Receive) -> None:
        for _ in range(3):
            await receive()
            await asyncio.sleep(0.25)

    assert await Body(b"1", b"2", b"3", read=read).status() == 200


@pytest.mark.parametrize(
    ("path", "size", "status"), [("/one", 10, 408), ("/one", 11, 413), ("/many", 30, 408), ("/many", 41, 413)]
)
async def test_a_path_may_have_a_limit_of_its_own(
    monkeypatch: pytest.MonkeyPatch, path: str, size: int, status: int
) -> None:
    monkeypatch.setattr(middleware, "LINGER_SECONDS", 0)

    async def read(receive: Receive) -> None:
        while True:
            await receive()

    body = Body(*[b"-"] * size, read=read, max_bytes_of={"/many": 40}, seconds=0.01)
    assert await body.status(path) == status


async def test_each_part_of_a_large_body_has_the_time_of_a_whole_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "LINGER_SECONDS", 0)
    allowed: list[float] = []
    timeout_at = asyncio.timeout_at

    def watched(when: float) -> asyncio.Timeout:
        allowed.append(when - asyncio.get_running_loop().time())
        return timeout_at(when)

    async def read(receive: Receive) -> None:
        for _ in range(4):
            await receive()

    monkeypatch.setattr(asyncio, "timeout_at", watched)
    body = Body(*[b"-" * 5] * 4, read=read, seconds=100, max_bytes_of={"/many": 40})
    assert await body.status("/many") == 200
    assert allowed == [pytest.approx(seconds, abs=5) for seconds in (100, 100, 200, 200)]
