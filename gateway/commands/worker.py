"""One of several processes that answer HTTP: `python -m gateway.commands.worker CONTROL LISTENER...`.

Started by `gateway.commands.workers` with descriptors of open sockets. On the control socket it is told, as a line of
JSON, where Triton listens as soon as that is known, and tells every second or so how ready it is.
"""

import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import AsyncIterator

from gateway import native_stderr, telemetry
from gateway.commands.interrupts import StopSignals
from gateway.commands.serving import serve_http
from gateway.recognizer import Readiness
from gateway.settings import Settings
from gateway.triton.endpoint import Endpoint
from gateway.triton.transports import TransportError


class Parent:
    """The other end of the control socket; a Reporter."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @contextlib.asynccontextmanager
    async def triton(self) -> AsyncIterator[Endpoint]:
        """Wait until the parent says where Triton listens.

        Raises:
            ConnectionError: the parent is gone.
        """
        line = await self._reader.readline()
        if not line:
            raise ConnectionError("the parent is gone")
        yield Endpoint(**json.loads(line))

    def readiness(self, readiness: Readiness) -> None:
        """Tell the parent."""
        if not self._writer.is_closing():
            state = {"ready": readiness.ready, "detail": readiness.detail}
            self._writer.write(json.dumps(state).encode() + b"\n")

    async def give_up(self, reason: str) -> None:
        """Tell the parent that no worker with these settings can do its work."""
        self._writer.write(json.dumps({"failure": reason}).encode() + b"\n")
        await self._writer.drain()

    def stopping(self) -> None:
        """Leave it to the parent to say so."""


async def _run(
    settings: Settings, control: socket.socket, listeners: list[socket.socket], signals: StopSignals
) -> None:
    parent = Parent(*await asyncio.open_unix_connection(sock=control))
    try:
        await serve_http(settings, listeners, parent.triton(), parent, signals)
    except TransportError as error:
        await parent.give_up(str(error))


def main() -> None:
    """Serve until SIGTERM."""
    signals = StopSignals()
    control, *listeners = (socket.socket(fileno=int(descriptor)) for descriptor in sys.argv[1:])
    settings = Settings()
    with native_stderr.relayed():
        telemetry.configure(settings)
        # The parent is gone: the kernel is about to kill this process.
        with contextlib.suppress(ConnectionError):
            asyncio.run(_run(settings, control, listeners, signals))


if __name__ == "__main__":
    main()
