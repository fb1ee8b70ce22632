"""What stands between the server and the application: pure ASGI, so that bodies and answers aren't copied."""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Final, NoReturn

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway import problems
from gateway.errors import BadRequest, ContentTooLarge, GatewayError, RequestTimeout

LINGER_SECONDS: Final = 5.0
"""How long a client that has its answer already may go on sending. A connection that is closed while its client sends
would be reset, and the client would see that instead of the answer."""


class BodyLimit:
    """Answers 413 to bodies over a size and 408 to those that take too long to arrive.

    What counts is the time in which the client lets the application wait, and every `max_bytes` of a body have
    `seconds` of it: a batch may be larger, and is read as fast as it is worked on.

    A declared size is refused at once; what arrives is counted all the same. The application doesn't get to see the
    rest of a refused body, and what it makes of that is replaced by the answer. After any answer that comes before
    the body's end, the rest is thrown away for a while and the connection closed: servers would read it without end.
    """

    def __init__(
        self, app: ASGIApp, *, max_bytes: int, seconds: float, max_bytes_of: Mapping[str, int] | None = None
    ) -> None:
        """Make the middleware.

        Args:
            app: what it stands before.
            max_bytes: size of a body.
            seconds: time for each `max_bytes` of it.
            max_bytes_of: size of a body for these paths.
        """
        self._app = app
        self._max_bytes = max_bytes
        self._seconds = seconds
        self._max_bytes_of = max_bytes_of or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        largest = self._max_bytes_of.get(scope["path"], self._max_bytes)
        exchange = _Exchange(Headers(scope=scope), receive, send, largest, self._max_bytes, self._seconds)
        try:
            exchange.check_declared_size()
            await self._app(scope, exchange.receive, exchange.send)
        except GatewayError as error:
            if error is not exchange.refusal:
                raise
        if exchange.refusal is not None and not exchange.answered:
            await problems.from_error(exchange.refusal, scope["path"])(scope, receive, exchange.answer)


class _Exchange:
    """One request's body on its way to the application, and the answer on its way back."""

    def __init__(
        self, headers: Headers, receive: Receive, send: Send, max_bytes: int, part_bytes: int, seconds: float
    ) -> None:
        self._receive = receive
        self._send = send
        self._max_bytes = max_bytes
        self._part_bytes = part_bytes
        self._seconds = seconds
        self._waited = 0.0
        self._declared = int(headers.get("Content-Length", 0))
        self._arrived = 0
        self._complete = self._declared == 0 and "Transfer-Encoding" not in headers
        self.refusal: GatewayError | None = None
        self.answered = False

    def check_declared_size(self) -> None:
        self._check_size(self._declared)

    async def receive(self) -> Message:
        if self.refusal is not None:
            raise self.refusal
        if self._complete:
            return await self._receive()
        clock = asyncio.get_running_loop().time
        begin = clock()
        allowed = self._seconds * (1 + self._arrived // self._part_bytes) - self._waited
        try:
            async with asyncio.timeout_at(begin + allowed):
                message = await self._receive()
        except TimeoutError:
            limit = f"{self._seconds:g} s for each {self._part_bytes / 2**20:.3g} MiB"
            self._refuse(RequestTimeout(f"The request body didn't arrive in time: {limit}. Send a smaller image."))
        self._waited += clock() - begin
        if message["type"] == "http.request":
            self._arrived += len(message.get("body", b""))
            self._check_size(self._arrived)
            self._complete = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if self.refusal is None or self.answered:
            await self.answer(message)

    async def answer(self, message: Message) -> None:
        self.answered = True
        if not self._complete:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Connection"] = "close"
            elif not message.get("more_body", False):
                await self._send({**message, "more_body": True})
                await self._linger()
                message = {"type": "http.response.body"}
        await self._send(message)

    async def _linger(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while (await self._receive()).get("more_body", False):
                    pass

    def _check_size(self, size: int) -> None:
        if size > self._max_bytes:
            limit = f"{self._max_bytes / 2**20:.3g} MiB"
            self._refuse(ContentTooLarge(f"The request body is larger than {limit}. Send less."))

    def _refuse(self, refusal: GatewayError) -> NoReturn:
        self.refusal = refusal
        raise refusal


class SecurityHeaders:
    """Tells browsers not to guess content types."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["X-Content-Type-Options"] = "nosniff"
            await send(message)

        await self._app(scope, receive, send_with_headers)


class Cors(CORSMiddleware):
    """Starlette's; what it refuses is a problem, as everything else that is refused."""

    def preflight_response(self, request_headers: Headers) -> Response:
        """Return the answer to a browser that asks whether a page may send a request."""
        response = super().preflight_response(request_headers)
        if response.status_code != BadRequest.status:
            return response
        refusal = BadRequest(
            "Pages of this origin may not send such a request here. Whoever runs the gateway names origins in "
            "GATEWAY_CORS_ORIGINS; methods are GET and POST."
        )
        kept = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
        return problems.response(problems.of(refusal), "", kept)


class Spellings:
    """Takes a path for another one where clients write it in several ways: with or without a slash at its end.

    A redirect would make them send the picture twice, and those that follow none would get nothing.
    """

    def __init__(self, app: ASGIApp, *, paths: Mapping[str, str]) -> None:
        """Make the middleware.

        Args:
            app: what it stands before.
            paths: from a spelling to the path that it stands for.
        """
        self._app = app
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on under the path that has a route; the log tells the one that was sent."""
        if scope["type"] == "http" and (path := self._paths.get(scope["path"])):
            scope = {**scope, "path": path}
        await self._app(scope, receive, send)
