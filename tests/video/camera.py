"""A camera for tests: an RTSP server (RFC 2326) that sends JPEG frames (RFC 2435) over the RTSP connection."""

import asyncio
import contextlib
import itertools
import re
import struct
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Final, Self

import cv2

from plates.geometry import Image

_CLOCK: Final = 90_000
"""RTP timestamps per second of any video."""
_PAYLOAD_TYPE: Final = 26
_TYPE_420: Final = 1
_DYNAMIC_TABLES: Final = 255
_FRAGMENT: Final = 1400


class Camera:
    """Sends its frames one after the other, for ever, to whoever connects; an async context manager.

    Args:
        frames: (h, w, 3) BGR, sides of multiples of 16.
        fps: frames a second.

    Attributes:
        connections: how often somebody has begun to play.
        sent: frames sent to anybody.
    """

    def __init__(self, frames: Sequence[Image], fps: float = 25.0) -> None:
        self._height, self._width = frames[0].shape[:2]
        self._frames = [_split(cv2.imencode(".jpg", frame)[1].tobytes()) for frame in frames]
        self._fps = fps
        self._writers: set[asyncio.StreamWriter] = set()
        self.connections = 0
        self.sent = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.close()
        self.hang_up()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        """Its address, with a user and a password that it doesn't look at."""
        return f"rtsp://user:secret@127.0.0.1:{self._server.sockets[0].getsockname()[1]}/gate"

    def hang_up(self) -> None:
        """Break all connections."""
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        playing: asyncio.Task[None] | None = None
        try:
            while request := (await reader.readuntil(b"\r\n\r\n")).decode().lstrip("\r\n"):
                method = request.partition(" ")[0]
                writer.write(self._answer(method, request))
                if method == "PLAY":
                    self.connections += 1
                    playing = asyncio.create_task(self._play(writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            if playing is not None:
                playing.cancel()
                await asyncio.wait({playing})
            self._writers.discard(writer)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    def _answer(self, method: str, request: str) -> bytes:
        sequence = re.search(r"^CSeq: *(\d+)", request, re.MULTILINE | re.IGNORECASE)
        assert sequence is not None
        headers, body = [f"CSeq: {sequence[1]}", "Session: 1"], ""
        match method:
            case "OPTIONS":
                headers.append("Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN")
            case "DESCRIBE":
                body = (
                    "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=camera\r\nt=0 0\r\n"
                    f"m=video 0 RTP/AVP {_PAYLOAD_TYPE}\r\na=framerate:{self._fps}\r\na=control:video\r\n"
                )
                headers += ["Content-Type: application/sdp", f"Content-Length: {len(body)}"]
            case "SETUP" if "TCP" not in request:
                return f"RTSP/1.0 461 Unsupported transport\r\n{headers[0]}\r\n\r\n".encode()
            case "SETUP":
                headers.append("Transport: RTP/AVP/TCP;unicast;interleaved=0-1")
        return "\r\n".join(["RTSP/1.0 200 OK", *headers, "", body]).encode()

    async def _play(self, writer: asyncio.StreamWriter) -> None:
        sequence = itertools.count()
        for number, (tables, scan) in enumerate(itertools.cycle(self._frames)):
            timestamp = int(number * _CLOCK / self._fps)
            for packet in self._packets(tables, scan):
                last, payload = packet
                kind = _PAYLOAD_TYPE | (0x80 if last else 0)
                rtp = struct.pack("!BBHII", 0x80, kind, next(sequence) & 0xFFFF, timestamp & 0xFFFFFFFF, 1) + payload
                writer.write(struct.pack("!cBH", b"$", 0, len(rtp)) + rtp)
            self.sent += 1
            await writer.drain()
            await asyncio.sleep(1 / self._fps)

    def _packets(self, tables: bytes, scan: bytes) -> Iterator[tuple[bool, bytes]]:
        for offset in range(0, len(scan), _FRAGMENT):
            size = (_TYPE_420, _DYNAMIC_TABLES, self._width // 8, self._height // 8)
            header = struct.pack("!I4B", offset, *size)
            if offset == 0:
                header += struct.pack("!BBH", 0, 0, len(tables)) + tables
            yield offset + _FRAGMENT >= len(scan), header + scan[offset : offset + _FRAGMENT]


def _split(jpeg: bytes) -> tuple[bytes, bytes]:
    """Return a JPEG's quantisation tables and what comes after the header of its scan."""
    tables, position = b"", 2
    while True:
        marker, length = struct.unpack_from("!HH", jpeg, position)
        segment = jpeg[position + 4 : position + 2 + length]
        position += 2 + length
        if marker == 0xFFDB:
            # Each table follows a byte that says which one it is.
            tables += b"".join(segment[start + 1 : start + 65] for start in range(0, len(segment), 65))
        elif marker == 0xFFDA:
            return tables, jpeg[position:]
