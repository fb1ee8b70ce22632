"""One process that answers HTTP with a client of Triton: the whole gateway, or one of its workers."""

import asyncio
import signal
import socket
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

from gateway.app import create_app
from gateway.commands.http_server import HttpServer
from gateway.commands.interrupts import StopSignals
from gateway.commands.reporting import Reporter
from gateway.deferred import DeferredRecognizer
from gateway.recognizer import Recognizer
from gateway.settings import Settings
from gateway.triton.client import TritonRecognizer
from gateway.triton.endpoint import Endpoint

_UNREADY_POLL_SECONDS: Final = 0.2
_READY_POLL_SECONDS: Final = 1.0


async def serve_http(
    settings: Settings,
    listeners: Sequence[socket.socket],
    triton: AbstractAsyncContextManager[Endpoint],
    reporter: Reporter,
    signals: StopSignals,
) -> None:
    """Serve until SIGINT, SIGTERM or Triton's end, then let running requests end, then leave Triton.

    Args:
        settings: the settings.
        listeners: sockets to accept connections from; closed at the end.
        triton: entered in the background, while HTTP is answered already.
        reporter: is told how ready the service is, from the start.
        signals: those that stop it.

    Raises:
        EmbeddedTritonError: the embedded Triton can't start.
        TransportError: the transport that the settings force can't work here.
    """
    recognizer = DeferredRecognizer("The gateway is starting.")
    server = HttpServer(create_app(settings, recognizer), settings)

    def stop(number: signal.Signals) -> None:
        if not server.should_exit:
            reporter.stopping()
        server.handle_exit(number, None)

    signals.call(stop)
    serving = asyncio.create_task(server.serve(sockets=list(listeners)), name="http")
    backend = asyncio.create_task(_keep_client(settings, recognizer, triton), name="triton-client")
    watch = asyncio.create_task(_report(recognizer, reporter), name="readiness")
    await asyncio.wait({serving, backend}, return_when=asyncio.FIRST_COMPLETED)
    watch.cancel()
    server.should_exit = True
    await serving
    backend.cancel()
    await asyncio.wait({backend, watch})
    if not backend.cancelled():
        backend.result()


async def _keep_client(
    settings: Settings, deferred: DeferredRecognizer, triton: AbstractAsyncContextManager[Endpoint]
) -> None:
    """Keep Triton and its client until cancelled, or until the client fails."""
    async with triton as endpoint, TritonRecognizer(settings, endpoint) as recognizer:
        deferred.use(recognizer)
        await recognizer.until_failure()


async def _report(recognizer: Recognizer, reporter: Reporter) -> None:
    while True:
        readiness = await recognizer.readiness()
        reporter.readiness(readiness)
        await asyncio.sleep(_READY_POLL_SECONDS if readiness.ready else _UNREADY_POLL_SECONDS)
