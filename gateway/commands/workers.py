"""Several processes that answer HTTP from the same sockets, kept alive by their parent, which owns Triton.

A worker that dies or hangs is replaced: only its own connections are reset, and what it left in shared memory is swept
at once. Its successor makes Triton let go of the dead regions. When the parent dies, however it does, the kernel kills
the workers (see `gateway.triton.launcher`): a gentler signal would leave one that is stopped, and the port with it.
"""

import asyncio
import contextlib
import dataclasses
import functools
import json
import logging
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final, NoReturn, Self

from gateway.commands.reporting import Reporter
from gateway.recognizer import Readiness
from gateway.settings import Settings
from gateway.triton import launcher, memory
from gateway.triton.endpoint import Endpoint

logger = logging.getLogger(__name__)

_BACK_OFF_SECONDS: Final = (0.1, 5.0)
_HEALTHY_SECONDS: Final = 3.0
"""A worker that lived this long starts the back-off anew."""

_SILENCE_SECONDS: Final = 5.0
_SILENCES: Final = 4
"""A worker hangs when it said nothing during so many silences in a row; it speaks every second or so. Counted, not
timed, because a parent that was itself stopped for a while has heard nothing either."""

_STOP_SECONDS: Final = 5.0
"""How much longer than the deadline of its requests a worker may take to stop."""

_STARTING: Final = Readiness(ready=False, detail="starting.")


class WorkerError(Exception):
    """The workers can't do their work with these settings; one sentence says why."""


class Worker:
    """One process.

    Args:
        process: the running worker.
        reader: what it says.
        writer: what it is told.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._hung = False

    @classmethod
    async def start(cls, listeners: Sequence[socket.socket]) -> Self:
        """Start a worker that ends with this process.

        Raises:
            OSError: no process can be started.
        """
        ours, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as undo:
            undo.enter_context(ours)
            descriptors = [theirs.fileno(), *(listener.fileno() for listener in listeners)]
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", launcher.__file__, str(os.getpid()), signal.SIGKILL.name, ""),
                *(sys.executable, "-m", "gateway.commands.worker", *map(str, descriptors)),
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=descriptors,
                # Not to get a terminal's Ctrl-C: the parent tells it when to stop.
                start_new_session=True,
            )
            undo.pop_all()
        return cls(process, *await asyncio.open_unix_connection(sock=ours))

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def use(self, endpoint: Endpoint) -> None:
        """Tell it where Triton listens."""
        self._writer.write(json.dumps(dataclasses.asdict(endpoint)).encode() + b"\n")

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal; harmless when it has ended."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def wait_ended(self, report: Callable[[Readiness], None]) -> None:
        """Pass on what it says until it has ended; one that hangs is killed.

        Raises:
            WorkerError: it says that no other worker would do better.
        """
        try:
            failure = await self._relay(report)
            await self._process.wait()
        finally:
            self._writer.close()
        if failure is not None:
            raise WorkerError(failure)

    async def _relay(self, report: Callable[[Readiness], None]) -> str | None:
        """Pass on its states until it says no more; return why it gives up, if it does."""
        silences = 0
        while True:
            try:
                async with asyncio.timeout(_SILENCE_SECONDS):
                    line = await self._reader.readline()
            except TimeoutError:
                silences += 1
                if silences == _SILENCES:
                    self._hung = True
                    self.send_signal(signal.SIGKILL)
            except ConnectionError:
                return None
            else:
                if not line:
                    return None
                silences = 0
                said = json.loads(line)
                if "failure" in said:
                    return str(said["failure"])
                report(Readiness(**said))

    def obituary(self) -> str:
        """Say how it ended."""
        code = self._process.returncode
        if self._hung:
            return f"said nothing for {_SILENCES * _SILENCE_SECONDS:g} s and was killed"
        if code is not None and code < 0:
            return f"ended with signal {signal.Signals(-code).name}"
        return f"ended with exit code {code}"


class Workers:
    """A fixed number of workers, as an async context manager that stops them when it is left.

    Args:
        settings: how many, and how long their requests may take.
        listeners: sockets to accept connections from; closed here when the workers are asked to stop.
        reporter: is told how ready all of them are together.
    """

    def __init__(self, settings: Settings, listeners: Sequence[socket.socket], reporter: Reporter) -> None:
        self._listeners = listeners
        self._reporter = reporter
        self._patience = math.ceil(settings.deadline_seconds) + _STOP_SECONDS
        self._endpoint: Endpoint | None = None
        self._stopping = asyncio.Event()
        self._running: dict[int, Worker] = {}
        self._states = dict.fromkeys(range(1, settings.workers + 1), _STARTING)

    async def __aenter__(self) -> Self:
        """Start them."""
        self._keepers = [asyncio.create_task(self._keep(number), name=f"worker-{number}") for number in self._states]
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Let running requests end, then stop all; kill those that don't."""
        self._stopping.set()
        # Otherwise new connections would be taken into the queue and never be answered.
        for listener in self._listeners:
            listener.close()
        self.send_signal(signal.SIGTERM)
        _, late = await asyncio.wait(self._keepers, timeout=self._patience)
        if late:
            logger.error("%d workers don't stop: they are killed", len(late))
            self.send_signal(signal.SIGKILL)
        # Whether they failed is told by `until_failure`.
        await asyncio.gather(*self._keepers, return_exceptions=True)

    async def until_failure(self) -> NoReturn:
        """Wait until they can't go on; that one dies is no such failure.

        Raises:
            WorkerError: they can't do their work with these settings.
        """
        done, _ = await asyncio.wait(self._keepers, return_when=asyncio.FIRST_EXCEPTION)
        await asyncio.gather(*done)
        # They were stopped, and whoever waits here is about to be.
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    def use(self, endpoint: Endpoint) -> None:
        """Tell them, and those to come, where Triton listens."""
        self._endpoint = endpoint
        for worker in self._running.values():
            worker.use(endpoint)

    def send_signal(self, number: signal.Signals) -> None:
        """Send all of them a signal."""
        for worker in self._running.values():
            worker.send_signal(number)

    async def _keep(self, number: int) -> None:
        """Run a worker, and another one in its place when it has ended.

        Raises:
            WorkerError: no worker would do better.
        """
        first, longest = _BACK_OFF_SECONDS
        delay = first
        while not self._stopping.is_set():
            begin = time.monotonic()
            how = await self._run(number)
            if self._stopping.is_set():
                return
            if time.monotonic() - begin > _HEALTHY_SECONDS:
                delay = first
            logger.error("Worker %d %s; another one starts in %.1f s", number, how, delay)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._stopping.wait()
            delay = min(2 * delay, longest)

    async def _run(self, number: int) -> str:
        """Run a worker to its end, and say how that came."""
        try:
            worker = await Worker.start(self._listeners)
        except OSError as error:
            return f"can't be started: {error}"
        self._running[number] = worker
        try:
            if self._endpoint is not None:
                worker.use(self._endpoint)
            if self._stopping.is_set():
                worker.send_signal(signal.SIGTERM)
            await worker.wait_ended(functools.partial(self._note, number))
        finally:
            del self._running[number]
        self._note(number, _STARTING)
        await asyncio.to_thread(memory.sweep)
        return f"(process {worker.pid}) {worker.obituary()}"

    def _note(self, number: int, readiness: Readiness) -> None:
        self._states[number] = readiness
        unready = [state for state in self._states.values() if not state.ready]
        if unready:
            detail = f"{len(unready)} of {len(self._states)} workers: {unready[0].detail}"
            readiness = dataclasses.replace(unready[0], detail=detail)
        if not self._stopping.is_set():
            self._reporter.readiness(readiness)
