"""Logs: for people on a terminal, JSON lines for machines; one line per request.

No line holds a plate's text, a file's name or a query string.
"""

import json
import logging
import logging.config
import re
import sys
import time
import uuid
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final

import cv2
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.settings import Settings

access_logger = logging.getLogger("gateway.access")

REQUEST_ID_HEADER: Final = "X-Request-ID"
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")
_MAX_PATH: Final = 200

_LEAST_LEVELS: Final = {
    # Its lines on starting and stopping say less than the command's own.
    "uvicorn": logging.WARNING,
    # Each poll of Triton's health, and each step of it.
    "httpx": logging.WARNING,
    "httpcore": logging.WARNING,
    # Each request to Triton.
    "grpc": logging.WARNING,
    # Each broken form, beside the answer that says so.
    "python_multipart": logging.ERROR,
}

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""Id of the request that the running task answers."""


def configure(settings: Settings) -> None:
    """Set up logging for the whole process, uvicorn's loggers included, on the standard error stream."""
    # It would report each broken upload, in a format of its own, beside the answer that says so.
    cv2.setLogLevel(0)
    as_text = settings.log_format == "text" or (settings.log_format == "auto" and sys.stderr.isatty())
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"line": {"()": TextFormatter if as_text else JsonFormatter}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "root": {"level": level, "handlers": ["stderr"]},
            "loggers": {name: {"level": max(level, least)} for name, least in _LEAST_LEVELS.items()},
        }
    )


class TextFormatter(logging.Formatter):
    """Time (UTC), level, logger, message."""

    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s  %(message)s", "%Y-%m-%d %H:%M:%SZ")


class JsonFormatter(logging.Formatter):
    """One JSON object per line; a record's `fields` become members of it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        entry: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": record.process,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (current := request_id.get()) is not None:
            entry["request_id"] = current
        entry |= getattr(record, "fields", {})
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


class AccessLog:
    """ASGI middleware: gives each request an id, tells it to the client, and logs a line when it was answered.

    An id that the client sends in X-Request-ID is kept where it is a plain word.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and log it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = time.perf_counter()
        sent = Headers(scope=scope).get(REQUEST_ID_HEADER, "")
        identity = sent if _REQUEST_ID.fullmatch(sent) else uuid.uuid4().hex
        token = request_id.set(identity)
        status, arrived = 500, 0

        async def counted_receive() -> Message:
            nonlocal arrived
            message = await receive()
            arrived += len(message.get("body", b""))
            return message

        async def named_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID_HEADER] = identity
            await send(message)

        try:
            await self._app(scope, counted_receive, named_send)
        finally:
            _log_access(scope, status, time.perf_counter() - begin, arrived)
            request_id.reset(token)


def _log_access(scope: Scope, status: int, seconds: float, arrived: int) -> None:
    fields = {
        "method": scope["method"],
        # As it was sent: still percent-encoded, so that no line break gets into the log.
        "path": scope["raw_path"].decode("ascii", "backslashreplace")[:_MAX_PATH],
        "status": status,
        "ms": round(seconds * 1000, 1),
        "bytes_received": arrived,
        "request_id": request_id.get(),
    }
    message = "%(method)s %(path)s %(status)d, %(ms).1f ms, %(bytes_received)d bytes, request %(request_id)s"
    if key := scope.get("state", {}).get("key"):
        fields["key"] = key
        message += ", key %(key)s"
    # Probes come every few seconds.
    level = logging.DEBUG if fields["path"].startswith("/health/") else logging.INFO
    access_logger.log(level, message, fields, extra={"fields": fields})
