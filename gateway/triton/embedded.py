"""A real tritonserver beside the gateway: started with it, kept alive, ended with it.

The server is the one inside the nvidia-pytriton wheel (Triton 2.51). That version has known holes in its Python
backend and its shared-memory protocol, so it listens on the loopback alone, and the protocols that change the server
(shared memory, model repository, logging, tracing) ask for a key that is drawn for each run.
"""

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from gateway.settings import Settings
from gateway.triton import installation, ports, runs
from gateway.triton.endpoint import KEY_NAME, Endpoint
from gateway.triton.installation import EmbeddedTritonError
from gateway.triton.process import ServerDiedError, ServerProcess
from gateway.triton.warm_up import warm_up
from plates import contract

__all__ = ["EmbeddedTriton", "EmbeddedTritonError"]

logger = logging.getLogger(__name__)

PROTOCOLS: Final = ("HTTP", "gRPC", "metrics")
"""What the three ports are for, in their order."""

MODELS: Final = tuple(model.name for model in contract.MODELS)
"""What the folder of models has to hold."""

REPOSITORY: Final = Path(__file__).resolve().parents[2] / "model_repository"
"""The project's models lie beside the package."""

_RESTRICTED: Final = "shared-memory,model-repository,logging,trace"
_EXIT_SECONDS: Final = 5
_PORT_ATTEMPTS: Final = 3
_WARM_UP_SECONDS: Final = 20.0
_BACK_OFF_SECONDS: Final = (0.2, 5.0)
_HEALTHY_SECONDS: Final = 3.0
"""A server that was ready this long starts the back-off anew."""

_PROTECT_SECONDS: Final = 0.05

_ON_CPU: Final = ("--model-config-name=cpu", "--pinned-memory-pool-byte-size=0", "--allow-gpu-metrics=false")
"""Arguments for a server that leaves a GPU alone, also where there is one."""

_GROWTH_BYTES: Final = 16 * 2**20
"""Added to the shared memory between the server and a Python model when it isn't enough. It is enough once: a Full HD
image has 6 MB, and the next one comes while a model still holds one."""


class EmbeddedTriton:
    """A tritonserver on the loopback, as an async context manager that returns when every model is ready.

    A server that dies or hangs, or of which a process that runs a model does, is started again on the same ports until
    the context is left.

    Args:
        settings: the wanted ports, the folder of models, the time to become ready.
        models: names that the folder has to hold.

    Raises:
        EmbeddedTritonError: on entering; it can't run here, or didn't become ready. One sentence says what to do.
    """

    def __init__(self, settings: Settings, models: Sequence[str] = MODELS) -> None:
        self._settings = settings
        self._repository = (settings.model_repository or REPOSITORY).resolve()
        self._models = models
        self._wanted = (
            settings.triton_http_port,
            settings.triton_grpc_port,
            settings.triton_metrics_port,
        )
        self._key = secrets.token_urlsafe(24)
        self._server: ServerProcess | None = None
        self._cleanup = contextlib.AsyncExitStack()

    @property
    def endpoint(self) -> Endpoint:
        """Where the server listens, the same after a restart."""
        http, grpc, metrics = self._ports
        return Endpoint(ports.LOOPBACK, http, grpc, metrics, self._key)

    @property
    def pid(self) -> int:
        """Process id of the server that runs now, or ran last."""
        if self._server is None:
            raise RuntimeError("no server was started")
        return self._server.pid

    async def __aenter__(self) -> Self:
        async with self._cleanup:
            self._installation = await asyncio.to_thread(installation.find)
            installation.check_repository(self._repository, self._models, self._settings.triton_device)
            try:
                runs.sweep()
                self._run = runs.Run.begin()
                self._cleanup.callback(self._run.end)
                self._environment = await asyncio.to_thread(self._installation.prepare, self._run.folder)
            except OSError as error:
                raise EmbeddedTritonError(
                    f"The embedded Triton needs /dev/shm and a temporary folder: {error}"
                ) from error
            await self._start_on_free_ports()
            self._cleanup.push_async_callback(self._end_server)
            self._warn_of_taken_ports()
            http, grpc, metrics = self._ports
            logger.info(
                "Triton is ready after %.1f s on %s: HTTP %d, gRPC %d, metrics %d",
                *(self._seconds, ports.LOOPBACK, http, grpc, metrics),
            )
            supervisor = asyncio.create_task(self._supervise(), name="triton-supervisor")
            self._cleanup.push_async_callback(_cancel, supervisor)
            self._cleanup = self._cleanup.pop_all()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._cleanup.aclose()

    async def _start_on_free_ports(self) -> None:
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            self._ports = ports.choose(self._wanted)
            try:
                await self._start()
            except EmbeddedTritonError:
                # Between the choice and the server's start someone else may have taken a port.
                if attempt == _PORT_ATTEMPTS or all(map(ports.is_free, self._ports)):
                    raise
            else:
                return

    def _warn_of_taken_ports(self) -> None:
        chosen = zip(PROTOCOLS, self._wanted, self._ports, strict=True)
        taken = [f"{wanted} ({protocol})" for protocol, wanted, port in chosen if wanted not in (0, port)]
        if taken:
            logger.warning("These ports are taken, so that Triton gets others: %s", ", ".join(taken))

    async def _start(self) -> None:
        """Start a server and wait until it is ready; nothing is left of it when that fails.

        Raises:
            EmbeddedTritonError: it can't be started, died or took too long.
        """
        begin = time.monotonic()
        try:
            server = await ServerProcess.start(self._command(), self._environment, self._run.folder, self._run.locks)
        except OSError as error:
            raise EmbeddedTritonError(f"The embedded Triton can't be started: {error}") from error
        self._server = server
        async with contextlib.AsyncExitStack() as undo:
            undo.push_async_callback(self._end_server, grace_seconds=0)
            await self._wait_ready(server)
            if contract.PLATE_RECOGNITION.name in self._models:
                await warm_up(self.endpoint, contract.PLATE_RECOGNITION, _WARM_UP_SECONDS)
            undo.pop_all()
        self._seconds = time.monotonic() - begin

    async def _wait_ready(self, server: ServerProcess) -> None:
        seconds = self._settings.triton_startup_seconds
        protecting = asyncio.create_task(_keep_regions_private(self._run), name="triton-regions")
        try:
            async with asyncio.timeout(seconds):
                await server.wait_ready(self._health("ready"))
        except ServerDiedError as error:
            raise EmbeddedTritonError(f"The embedded Triton didn't start: {error}") from error
        except TimeoutError as error:
            raise EmbeddedTritonError(
                f"The embedded Triton wasn't ready within {seconds:g} s: look at its log (GATEWAY_LOG_LEVEL=debug) "
                "or raise GATEWAY_TRITON_STARTUP_SECONDS."
            ) from error
        finally:
            await _cancel(protecting)
        self._run.make_regions_private()

    def _health(self, state: str) -> str:
        return f"http://{ports.LOOPBACK}:{self._ports[0]}/v2/health/{state}"

    async def _supervise(self) -> None:
        first, longest = _BACK_OFF_SECONDS
        delay = first
        while self._server is not None:
            ready = time.monotonic()
            await self._server.wait_broken(self._health("live"), f"http://{ports.LOOPBACK}:{self._ports[2]}/metrics")
            logger.error("Triton broke down: %s", self._server.obituary())
            await self._end_server(grace_seconds=0)
            if time.monotonic() - ready > _HEALTHY_SECONDS:
                delay = first
            started = False
            while not started:
                logger.info("Triton starts again in %.1f s", delay)
                await asyncio.sleep(delay)
                delay = min(2 * delay, longest)
                try:
                    await self._start()
                    started = True
                except EmbeddedTritonError as error:
                    logger.error("%s", error)  # noqa: TRY400 - the message says it all
            logger.info("Triton is ready again after %.1f s", self._seconds)

    async def _end_server(self, grace_seconds: float = _EXIT_SECONDS + 3) -> None:
        """End the server, its stubs, and what they left in shared memory."""
        if self._server is not None:
            await self._server.stop(grace_seconds)
        self._run.remove_regions()

    def _command(self) -> list[str]:
        http, grpc, metrics = self._ports
        restricted = f"{_RESTRICTED}:{KEY_NAME}={self._key}"
        return [
            str(self._installation.server),
            f"--model-repository={self._repository}",
            f"--backend-directory={self._run.folder / 'backends'}",
            # The configurations are complete; completing them would start each Python model twice.
            "--disable-auto-complete-config",
            f"--http-address={ports.LOOPBACK}",
            f"--http-port={http}",
            f"--grpc-address={ports.LOOPBACK}",
            f"--grpc-port={grpc}",
            f"--metrics-address={ports.LOOPBACK}",
            f"--metrics-port={metrics}",
            f"--http-restricted-api={restricted}",
            f"--grpc-restricted-protocol={restricted}",
            f"--exit-timeout-secs={_EXIT_SECONDS}",
            f"--backend-config=python,shm-region-prefix-name={self._run.name}-",
            f"--backend-config=python,shm-growth-byte-size={_GROWTH_BYTES}",
            "--allow-vertex-ai=false",
            "--allow-sagemaker=false",
            *(_ON_CPU if self._settings.triton_device == "cpu" else ()),
        ]


async def _keep_regions_private(run: runs.Run) -> None:
    """Let nobody else open the regions while the models load, before a picture is in one."""
    while True:
        run.make_regions_private()
        await asyncio.sleep(_PROTECT_SECONDS)


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})
