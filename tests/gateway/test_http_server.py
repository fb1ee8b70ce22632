"""The HTTP server's own limits, with a real socket."""

import asyncio
import contextlib
import json
import re
import signal
import socket
from collections.abc import AsyncIterator

import pytest

from gateway import problems
from gateway.app import create_app
from gateway.commands import http_server
from gateway.commands.http_server import HttpServer
from gateway.fake import FakeRecognizer
from gateway.settings import Settings

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]

LIVE = b"GET /health/live HTTP/1.1\r\nHost: gateway\r\n"
PATIENCE_SECONDS = 20.0
HEADER_SECONDS = 1.0
"""Short for a test, and long enough for a busy machine to take in a request that is there."""


@pytest.fixture
async def port(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    """Where a server listens that waits for headers a moment only."""
    monkeypatch.setattr(http_server, "HEADER_SECONDS", HEADER_SECONDS)
    settings = Settings()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        server = HttpServer(create_app(settings, FakeRecognizer()), settings)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        yield port
        server.should_exit = True
        await serving


@pytest.fixture
async def connection(port: int) -> AsyncIterator[Connection]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        yield reader, writer
        writer.close()


@pytest.mark.parametrize("begun", [b"", b"GET", LIVE])
async def test_a_connection_whose_headers_do_not_arrive_is_closed(connection: Connection, begun: bytes) -> None:
    reader, writer = connection
    writer.write(begun)
    assert await reader.read() == b""


async def test_headers_that_trickle_in_are_not_waited_for(connection: Connection) -> None:
    reader, writer = connection

    async def trickle() -> None:
        writer.write(LIVE)
        while True:
            await asyncio.sleep(HEADER_SECONDS / 10)
            writer.write(b"X-More: 1\r\n")

    trickling = asyncio.create_task(trickle())
    try:
        # A line that crosses the closing is answered with a reset.
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
    finally:
        trickling.cancel()


async def test_the_time_starts_anew_with_the_next_request(connection: Connection) -> None:
    reader, writer = connection
    for _ in range(2):
        writer.write(LIVE + b"\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None
        assert b"The gateway runs" in await reader.readexactly(int(length[1]))
        # Longer than the time for headers: between requests the connection may rest.
        await asyncio.sleep(1.5 * HEADER_SECONDS)
    writer.write(LIVE)
    assert await reader.read() == b""


async def test_a_slow_body_has_a_time_of_its_own(connection: Connection) -> None:
    reader, writer = connection
    writer.write(b"POST /recognize HTTP/1.1\r\nHost: gateway\r\nContent-Type: image/png\r\nContent-Length: 4\r\n\r\n")
    for byte in b"nope":
        await asyncio.sleep(HEADER_SECONDS / 2)
        writer.write(bytes([byte]))
    assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 4")


async def test_a_request_for_websocket_is_answered_without_a_warning(
    connection: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    reader, writer = connection
    writer.write(LIVE + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200")
    assert not [record for record in caplog.records if record.levelname == "WARNING" and "uvicorn" in record.name]


async def test_a_server_in_a_hurry_gives_requests_up_and_still_ends_the_application(
    fake: FakeRecognizer, jpeg: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings()
    fake.gate.clear()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = HttpServer(create_app(settings, fake), settings)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        _, writer = await asyncio.open_connection(*listener.getsockname())
        head = f"POST /recognize HTTP/1.1\r\nHost: gateway\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}"
        writer.write(head.encode() + b"\r\n\r\n" + jpeg)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not fake.received:  # noqa: ASYNC110 - the server's work is awaited
                await asyncio.sleep(0.01)
            for _ in range(2):
                server.handle_exit(signal.SIGINT, None)
            await serving
        writer.close()
    assert server.lifespan.shutdown_event.is_set()
    assert not [record for record in caplog.records if record.exc_info]


BODY_BEGINS = b"POST /recognize HTTP/1.1\r\nHost: g\r\nContent-Type: image/png\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"GARBAGE\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        LIVE + b"no colon\r\n\r\n",
        b"POST /recognize HTTP/1.1\r\nHost: g\r\nContent-Length: many\r\n\r\n",
        LIVE + b"X-Long: " + b"x" * 100_000,
        BODY_BEGINS + b"zz\r\n",
    ],
)
async def test_what_is_no_http_is_told_as_every_other_error(connection: Connection, sent: bytes) -> None:
    reader, writer = connection
    writer.write(sent)
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert f"content-type: {problems.MEDIA_TYPE}".encode() in head.lower()
    problem = json.loads(body)
    assert (problem["status"], problem["title"]) == (400, "Bad request")
    assert "HTTP client" in problem["detail"]


async def test_a_body_that_breaks_after_its_answer_gets_no_second_one(connection: Connection) -> None:
    reader, writer = connection
    writer.write(BODY_BEGINS.replace(b"image/png", b"text/plain"))
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 415")
    writer.write(b"zz\r\n")
    assert b"HTTP/1.1" not in await reader.read()
