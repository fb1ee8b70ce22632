"""`plate-gateway serve`: Triton and the gateway, until SIGINT or SIGTERM."""

import asyncio
import contextlib
import difflib
import logging
import os
import signal
import socket
from collections.abc import Sequence
from typing import Annotated

import typer

from gateway import access, native_stderr, telemetry
from gateway.commands import listeners
from gateway.commands.common import fail, read_settings, running_triton, variable
from gateway.commands.interrupts import StopSignals
from gateway.commands.reporting import LogReporter
from gateway.commands.serving import serve_http
from gateway.commands.workers import WorkerError, Workers
from gateway.settings import Settings
from gateway.triton.embedded import EmbeddedTritonError
from gateway.triton.transports import TransportError

logger = logging.getLogger(__name__)


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; overrides GATEWAY_HOST.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; overrides GATEWAY_PORT.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes that answer; overrides GATEWAY_WORKERS.")] = None,
) -> None:
    """Start Triton and the gateway. All other settings come from the environment (GATEWAY_...)."""
    settings = read_settings(host=host, port=port, workers=workers)
    # Whoever decodes pictures.
    with native_stderr.relayed() if settings.workers == 1 else contextlib.nullcontext():
        _serve(settings)


def _serve(settings: Settings) -> None:
    telemetry.configure(settings)
    _warn_of_unknown_variables()
    sockets = listeners.listen(settings.host, settings.port)
    access.warn_if_open(settings)
    reporter = LogReporter(listeners.url(sockets))
    signals = StopSignals()
    logger.info(
        "Listening on %s; %s Triton",
        *(listeners.url(sockets), "starting" if settings.triton == "embedded" else "looking for"),
    )
    try:
        if settings.workers == 1:
            asyncio.run(serve_http(settings, sockets, running_triton(settings), reporter, signals))
        else:
            asyncio.run(_serve_with_workers(settings, sockets, reporter, signals))
    except (EmbeddedTritonError, TransportError, WorkerError) as error:
        fail(str(error))
    signals.ignore()
    logger.info("Stopped")


def _warn_of_unknown_variables() -> None:
    known = [variable(field) for field in Settings.model_fields]
    for name in sorted(os.environ):
        if name.startswith("GATEWAY_") and name not in known:
            similar = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {similar[0]}?" if similar else ""
            logger.warning("The environment holds %s, which is not a setting%s", name, hint)


async def _serve_with_workers(
    settings: Settings, sockets: Sequence[socket.socket], reporter: LogReporter, signals: StopSignals
) -> None:
    """Keep the workers and Triton until SIGINT or SIGTERM.

    Raises:
        EmbeddedTritonError: the embedded Triton can't start.
        WorkerError: the workers can't do their work with these settings.
    """
    stopping = asyncio.Event()
    async with Workers(settings, sockets, reporter) as workers:

        def stop(number: signal.Signals) -> None:
            if not stopping.is_set():
                reporter.stopping()
                stopping.set()
            elif number == signal.SIGINT:
                # A second Ctrl-C: somebody is in a hurry.
                workers.send_signal(signal.SIGKILL)

        signals.call(stop)
        backend = asyncio.create_task(_keep_triton(settings, workers), name="triton")
        stopped = asyncio.create_task(stopping.wait())
        await asyncio.wait({backend, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
    backend.cancel()
    await asyncio.wait({backend})
    if not backend.cancelled():
        backend.result()


async def _keep_triton(settings: Settings, workers: Workers) -> None:
    """Keep Triton until cancelled, or until the workers fail, and tell them where it is."""
    async with running_triton(settings) as endpoint:
        workers.use(endpoint)
        await workers.until_failure()
