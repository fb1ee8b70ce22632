"""One run of a tritonserver process: its start, its readiness, its health, its end."""

import asyncio
import contextlib
import os
import signal
import ssl
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import httpx

from gateway.triton import procfs, watch
from gateway.triton.server_log import LINE_LIMIT, ServerLog

_LAUNCHER: Final = Path(__file__).with_name("launcher.py")
_READY_POLL_SECONDS: Final = 0.05
_STUB_SECONDS: Final = 1.0

_HEALTH_POLL_SECONDS: Final = 1.0
_HEALTH_TIMEOUT_SECONDS: Final = 2.0
_HEALTH_FAILURES: Final = 4
"""A server is hung after so many polls in a row without an answer: some 12 s. Counted, not timed: the polls of a
gateway that was itself stopped for a while, or of a machine that slept, don't add up."""


class ServerDiedError(Exception):
    """The process ended; the message says how, and holds the end of its log."""


class ServerProcess:
    """A tritonserver and the stubs that run its Python models: one process group in a session of its own.

    In a session of its own it doesn't get a terminal's Ctrl-C, so that the gateway can first answer what is under way.

    Args:
        process: the running server.
        log: the relay of its output, which ends when the last stub is gone too.
        leash: descriptor that keeps them alive as long as it is open; closed with them.
    """

    def __init__(self, process: asyncio.subprocess.Process, log: ServerLog, leash: int) -> None:
        self._process = process
        self._log = log
        self._leash: int | None = leash
        self._stubs: dict[int, int] = {}
        """Their pidfds, by process id."""
        self._stub_died = asyncio.Event()
        self._complaint: str | None = None
        """Why it is no good although it runs."""

    @classmethod
    async def start(
        cls, command: Sequence[str], environment: Mapping[str, str], folder: Path, locks: Sequence[int]
    ) -> Self:
        """Start a server that is killed with its stubs when this process ends, however it ends.

        Args:
            command: program and arguments.
            environment: environment variables.
            folder: working directory; the stubs look for modules there.
            locks: descriptors that the server and its stubs hold open.

        Raises:
            OSError: no process can be started.
        """
        with contextlib.ExitStack() as stack:
            # Stubs don't notice each time that the server is gone: one may wait for a lock which it held.
            held, leash = os.pipe()
            stack.callback(os.close, held)
            undo = stack.enter_context(contextlib.ExitStack())
            undo.callback(os.close, leash)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), signal.SIGKILL.name, str(held)),
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment,
                cwd=folder,
                pass_fds=[*locks, held],
                start_new_session=True,
                limit=LINE_LIMIT,
            )
            undo.pop_all()
        assert process.stdout is not None  # noqa: S101 - both were asked for
        assert process.stderr is not None  # noqa: S101
        return cls(process, ServerLog(process.stdout, process.stderr), leash)

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    async def wait_ready(self, url: str) -> None:
        """Return as soon as `url` answers with 200.

        Raises:
            ServerDiedError: the process ended before.
        """
        ready, died = asyncio.create_task(_poll_until_ok(url)), asyncio.create_task(self._process.wait())
        done = await _first(ready, died)
        if died in done:
            # The log's end may be behind the process's.
            await self._log.wait_ended(_STUB_SECONDS)
            raise ServerDiedError(self.obituary())
        ready.result()
        self._watch_stubs()

    async def wait_broken(self, health: str, metrics: str) -> None:
        """Return when the server or one of its stubs has ended, or when one of them hangs.

        Triton 2.51 doesn't replace a dead stub: it fails the model's requests from then on, and stays "ready".

        Args:
            health: URL that a living server answers at once, however busy its models are.
            metrics: URL of its metrics.
        """
        async with _health_client() as client:
            watches = {
                asyncio.create_task(_poll_until_silent(client, health)),
                asyncio.create_task(watch.until_stopped(self._stubs)),
                asyncio.create_task(watch.until_stuck(client, metrics)),
            }
            ended = asyncio.create_task(self._process.wait())
            done = await _first(*watches, ended, asyncio.create_task(self._stub_died.wait()))
            if done <= watches:
                self._complaint = "; ".join(complaint.result() for complaint in watches & done)

    async def stop(self, grace_seconds: float) -> None:
        """End the server and its stubs: asked first, then killed. Harmless when they have ended."""
        self._forget_stubs()
        if grace_seconds and self._process.returncode is None:
            self._process.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_seconds):
                    await self._process.wait()
                    await self._log.wait_ended(_STUB_SECONDS)
        if not self._log.ended:
            # The group's number is still its own: someone in it holds the pipes.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        await self._log.wait_ended()
        if self._leash is not None:
            os.close(self._leash)
            self._leash = None

    def obituary(self) -> str:
        """Say how the server ended and what it said last."""
        code = self._process.returncode
        if self._complaint is not None:
            how = self._complaint
        elif code is None:
            how = "a process that ran one of Triton's models ended"
        elif code < 0:
            how = f"tritonserver ended with signal {signal.Signals(-code).name}"
        else:
            how = f"tritonserver ended with exit code {code}"
        return "\n".join([f"{how}; its last lines:", *self._log.tail] if self._log.tail else [how])

    def _watch_stubs(self) -> None:
        loop = asyncio.get_running_loop()
        stubs = [found.pid for found in procfs.processes() if found.session == self.pid and found.pid != self.pid]
        for pid in stubs:
            with contextlib.suppress(OSError):  # it ended just now, or the kernel has no pidfd
                descriptor = os.pidfd_open(pid)
                loop.add_reader(descriptor, self._stub_died.set)
                self._stubs[pid] = descriptor

    def _forget_stubs(self) -> None:
        for descriptor in self._stubs.values():
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)
        self._stubs.clear()


async def _first(*tasks: asyncio.Task[Any]) -> set[asyncio.Task[Any]]:
    """Return those that ended first; the others are cancelled."""
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    return done


async def _poll_until_ok(url: str) -> None:
    async with _health_client() as client:
        while not await _answers_ok(client, url):  # noqa: ASYNC110 - it has to be asked for
            await asyncio.sleep(_READY_POLL_SECONDS)


async def _poll_until_silent(client: httpx.AsyncClient, url: str) -> str:
    failures = 0
    while failures < _HEALTH_FAILURES:
        await asyncio.sleep(_HEALTH_POLL_SECONDS)
        failures = 0 if await _answers_ok(client, url) else failures + 1
    return f"tritonserver left {_HEALTH_FAILURES} health checks in a row unanswered"


def _health_client() -> httpx.AsyncClient:
    # A proxy of the environment is not for the loopback, and neither are certificates: httpx would load all that there
    # are, 0.7 MB for each client, and keep them until the garbage is collected.
    no_certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.AsyncClient(trust_env=False, verify=no_certificates, timeout=_HEALTH_TIMEOUT_SECONDS)


async def _answers_ok(client: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await client.get(url)).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False
