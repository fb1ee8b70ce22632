"""`plate-gateway serve`: Triton and the gateway, until SIGINT or SIGTERM."""

import asyncio
import contextlib
import difflib
import errno
import logging
import math
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, Final, NoReturn

import typer
import uvicorn
from pydantic import ValidationError

from gateway import telemetry
from gateway.app import create_app
from gateway.deferred import DeferredRecognizer
from gateway.settings import Settings
from gateway.triton.client import TritonRecognizer
from gateway.triton.embedded import EmbeddedTriton, EmbeddedTritonError
from gateway.triton.endpoint import Endpoint

logger = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS: Final = 65
"""Longer than the 60 s after which load balancers usually close an idle connection: the one that closes first must
be the one that sends."""

_READY_POLL_SECONDS: Final = 0.2

_FAILED: Final = 1
_MISUSED: Final = 2


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; overrides GATEWAY_HOST.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; overrides GATEWAY_PORT.")] = None,
) -> None:
    """Start Triton and the gateway. All other settings come from the environment (GATEWAY_...)."""
    settings = _read_settings(host, port)
    telemetry.configure(settings)
    _warn_of_unknown_variables()
    with _listen(settings.host, settings.port) as listener:
        try:
            asyncio.run(_serve(settings, listener))
        except EmbeddedTritonError as error:
            _fail(str(error), _FAILED)


def _read_settings(host: str | None, port: int | None) -> Settings:
    options: dict[str, Any] = {"host": host, "port": port}
    try:
        return Settings(**{name: value for name, value in options.items() if value is not None})
    except ValidationError as error:
        faults = (f"{_variable(str(fault['loc'][0]))}: {fault['msg']}." for fault in error.errors())
        _fail("\n".join(faults), _MISUSED)


def _variable(field: str) -> str:
    return f"GATEWAY_{field.upper()}"


def _warn_of_unknown_variables() -> None:
    known = [_variable(field) for field in Settings.model_fields]
    for name in sorted(os.environ):
        if name.startswith("GATEWAY_") and name not in known:
            similar = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {similar[0]}?" if similar else ""
            logger.warning("The environment holds %s, which is not a setting%s", name, hint)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    except socket.gaierror:
        _fail(f"There is no address {host!r} to listen on: set GATEWAY_HOST.", _FAILED)
    except OSError as error:
        match error.errno:
            case errno.EADDRINUSE:
                reason = f"Port {port} of {host} is taken: set GATEWAY_PORT to another one, or to 0 for a free one."
            case errno.EACCES:
                reason = f"Port {port} needs more rights than this process has: set GATEWAY_PORT above 1023."
            case _:
                reason = f"Can't listen on {host}, port {port}: {error.strerror}. See GATEWAY_HOST and GATEWAY_PORT."
        _fail(reason, _FAILED)


def _fail(reason: str, status: int) -> NoReturn:
    typer.echo(reason, err=True)
    raise typer.Exit(status)


async def _serve(settings: Settings, listener: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM, then let running requests end, then stop Triton.

    Raises:
        EmbeddedTritonError: the embedded Triton can't start.
    """
    recognizer = DeferredRecognizer("Triton is starting.")
    server = _Server(
        uvicorn.Config(
            create_app(settings, recognizer),
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="on",
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            # By then every request that reached Triton has its answer or its 504.
            timeout_graceful_shutdown=math.ceil(settings.deadline_seconds),
        )
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, server.handle_exit, number, None)
    url = _url(listener)
    logger.info("Listening on %s; %s Triton", url, "starting" if settings.triton == "embedded" else "looking for")
    serving = asyncio.create_task(server.serve(sockets=[listener]), name="http")
    backend = asyncio.create_task(_run_backend(settings, recognizer, url), name="backend")
    await asyncio.wait({serving, backend}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await serving
    backend.cancel()
    await asyncio.wait({backend})
    if not backend.cancelled():
        backend.result()
    logger.info("Stopped")


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: uvicorn would raise them again when it is done, before Triton is stopped."""
        yield


async def _run_backend(settings: Settings, deferred: DeferredRecognizer, url: str) -> None:
    """Keep Triton and its client until cancelled."""
    async with _triton(settings) as endpoint, TritonRecognizer(settings, endpoint) as recognizer:
        deferred.use(recognizer)
        while not (await recognizer.readiness()).ready:  # noqa: ASYNC110 - readiness has to be asked for
            await asyncio.sleep(_READY_POLL_SECONDS)
        logger.info(
            "Ready: %s (API at /docs); Triton on %s: HTTP %d, gRPC %d, metrics %d",
            *(url, endpoint.host, endpoint.http_port, endpoint.grpc_port, endpoint.metrics_port),
        )
        await asyncio.Event().wait()


@contextlib.asynccontextmanager
async def _triton(settings: Settings) -> AsyncIterator[Endpoint]:
    if settings.triton == "external":
        yield Endpoint.external(settings)
        return
    async with EmbeddedTriton(settings) as server:
        yield server.endpoint


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
