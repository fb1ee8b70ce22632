"""The HTTP server: uvicorn, with what it lacks for this service."""

import asyncio
import contextlib
import math
import socket
from collections.abc import Iterator
from typing import Any, Final

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from gateway import problems
from gateway.errors import BadRequest
from gateway.settings import Settings

KEEP_ALIVE_SECONDS: Final = 65
"""Longer than the 60 s after which load balancers usually close an idle connection: the one that closes first must
be the one that sends."""

HEADER_SECONDS: Final = 15.0
"""Time in which a request's headers have to arrive; the body has a time of its own (`GATEWAY_UPLOAD_SECONDS`)."""

HURRY_SECONDS: Final = 1.0
"""How long requests may take to notice that they are given up."""

_NOT_HTTP: Final = (
    "This is no valid HTTP/1.1 request: its first line, its headers or the chunks of its body are malformed, or the "
    "headers are too long. Send it with an HTTP client, or see what stands between it and the gateway."
)


class HttpServer(uvicorn.Server):
    """A server that whoever runs it stops: call `handle_exit` from a signal handler of the event loop."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=HeaderDeadlineProtocol,
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="on",
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                # By then every request that reached Triton has its answer or its 504.
                timeout_graceful_shutdown=math.ceil(settings.deadline_seconds),
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: uvicorn would raise them again when it is done, before Triton is stopped."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let running requests end; where somebody is in a hurry (a second Ctrl-C), end them as if their clients left.

        uvicorn would then leave requests and the application's lifespan as they are, to be cancelled with the event
        loop, and log that as an error.
        """
        await super().shutdown(sockets)
        if self.force_exit:
            for connection in list(self.server_state.connections):
                connection.transport.abort()
            if self.server_state.tasks:
                await asyncio.wait(list(self.server_state.tasks), timeout=HURRY_SECONDS)
            await self.lifespan.shutdown()


class HeaderDeadlineProtocol(H11Protocol):
    """Closes a connection whose next request's headers don't arrive in time.

    uvicorn waits for ever for the first byte and for the last header, so that a client that sends a byte now and then
    keeps a connection, and with enough of them all descriptors of the process.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time of the first request."""
        super().connection_made(transport)
        self._expect_headers()

    def data_received(self, data: bytes) -> None:
        """Stop the time when a request has begun; start it with the first byte of a further one."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._forget_deadline()
        elif self._deadline is None and self.timeout_keep_alive_task is None:
            self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time."""
        self._forget_deadline()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what isn't HTTP as any other error is answered; uvicorn would send a plain text."""
        # The body of a request whose answer has begun: there is no place for another one.
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            problem = problems.of(BadRequest(_NOT_HTTP)).model_dump_json().encode()
            headers = [
                ("Content-Type", problems.MEDIA_TYPE),
                ("Content-Length", f"{len(problem)}"),
                ("Connection", "close"),
            ]
            for event in (
                h11.Response(status_code=BadRequest.status, headers=headers, reason=b"Bad Request"),
                h11.Data(data=problem),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: a request for WebSocket is answered as any other, and nobody needs to install a library."""

    def _expect_headers(self) -> None:
        self._deadline = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
