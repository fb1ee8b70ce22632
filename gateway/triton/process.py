"""One run of a tritonserver process: its start, its log, its readiness, its end."""

import asyncio
import collections
import contextlib
import logging
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

import httpx

SERVER_LOG: Final = logging.getLogger("gateway.triton.server")

_LAUNCHER: Final = Path(__file__).with_name("launcher.py")
_POLL_SECONDS: Final = 0.05
_STUB_SECONDS: Final = 1.0
_TAIL_LINES: Final = 20
_LINE_LIMIT: Final = 2**20

_LINE: Final = re.compile(r"(?P<level>[IWEF])\d{4} [\d:.]+ \d+ \S+\] ?(?P<text>.*)")
_LEVELS: Final = {
    # Triton's information tells of its inner steps, page after page.
    "I": logging.DEBUG,
    "W": logging.WARNING,
    "E": logging.ERROR,
    "F": logging.CRITICAL,
}
_HARMLESS: Final = ("CudaDriverHelper has not been initialized", "failed to allocate pinned system memory")
"""Said as errors and warnings by every server without a GPU."""


class ServerDiedError(Exception):
    """The process ended; the message says how, and holds the end of its log."""


class ServerProcess:
    """A tritonserver and the stubs that run its Python models: one process group in a session of its own.

    In a session of its own it doesn't get a terminal's Ctrl-C, so that the gateway can first answer what is under way.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._tail: collections.deque[str] = collections.deque(maxlen=_TAIL_LINES)
        # Every stub holds the pipe as well: it ends when the last of them is gone.
        self._relay = asyncio.create_task(self._relay_log(), name="triton-log")
        self._stubs: list[int] = []
        self._stub_died = asyncio.Event()

    @classmethod
    async def start(cls, command: Sequence[str], environment: Mapping[str, str], folder: Path, lock: int) -> Self:
        """Start a server that ends with this process.

        Args:
            command: program and arguments.
            environment: environment variables.
            folder: working directory; the stubs look for modules there.
            lock: descriptor that the server and its stubs hold open.
        """
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), *command),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment,
            cwd=folder,
            pass_fds=[lock],
            start_new_session=True,
            limit=_LINE_LIMIT,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    async def wait_ready(self, url: str) -> None:
        """Return as soon as `url` answers with 200.

        Raises:
            ServerDiedError: the process ended before.
        """
        polling = asyncio.create_task(_poll(url))
        died = asyncio.create_task(self._process.wait())
        try:
            done, _ = await asyncio.wait({polling, died}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            polling.cancel()
            died.cancel()
        if died in done:
            # The log's end may be behind the process's.
            await asyncio.wait({self._relay}, timeout=_STUB_SECONDS)
            raise ServerDiedError(self.obituary())
        polling.result()
        self._watch_stubs()

    async def wait_broken(self) -> None:
        """Return when the server or one of its stubs has ended.

        Triton 2.51 doesn't replace a dead stub: it fails the model's requests from then on, and stays "ready".
        """
        ends = {asyncio.create_task(self._process.wait()), asyncio.create_task(self._stub_died.wait())}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()

    async def stop(self, grace_seconds: float) -> None:
        """End the server and its stubs: asked first, then killed. Harmless when they have ended."""
        self._forget_stubs()
        if grace_seconds and self._process.returncode is None:
            self._process.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_seconds):
                    await self._process.wait()
                    await asyncio.wait({self._relay}, timeout=_STUB_SECONDS)
        if not self._relay.done():
            # The group's number is still its own: someone in it holds the pipe.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        await self._relay

    def obituary(self) -> str:
        """Say how the server ended and what it said last."""
        code = self._process.returncode
        if code is None:
            how = "a process that ran one of Triton's models ended"
        elif code < 0:
            how = f"tritonserver ended with signal {signal.Signals(-code).name}"
        else:
            how = f"tritonserver ended with exit code {code}"
        return "\n".join([f"{how}; its last lines:", *self._tail] if self._tail else [how])

    def _watch_stubs(self) -> None:
        loop = asyncio.get_running_loop()
        for pid in _session_members(self.pid):
            with contextlib.suppress(OSError):  # it ended just now, or the kernel has no pidfd
                descriptor = os.pidfd_open(pid)
                loop.add_reader(descriptor, self._stub_died.set)
                self._stubs.append(descriptor)

    def _forget_stubs(self) -> None:
        for descriptor in self._stubs:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)
        self._stubs.clear()

    async def _relay_log(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        while True:
            try:
                line = await self._process.stdout.readline()
            except ValueError:
                continue  # longer than the limit
            if not line:
                return
            self._log(line.decode(errors="replace").rstrip())

    def _log(self, line: str) -> None:
        match = _LINE.fullmatch(line)
        text = match["text"].strip().strip('"') if match else line
        # Triton draws tables and leaves lines empty.
        if not text or text.startswith(("+-", "| ")):
            return
        level = _LEVELS[match["level"]] if match else logging.INFO
        if text.startswith(_HARMLESS):
            level = logging.DEBUG
        if level > logging.DEBUG and not line.startswith(" "):
            # A Python model's traceback comes in indented lines and in one line; its first words say what happened.
            self._tail.append(text.partition("\\n")[0])
        SERVER_LOG.log(level, "%s", text)


async def _poll(url: str) -> None:
    # A proxy of the environment is not for the loopback.
    async with httpx.AsyncClient(trust_env=False, timeout=2.0) as client:
        while True:
            with contextlib.suppress(httpx.HTTPError):
                if (await client.get(url)).status_code == httpx.codes.OK:
                    return
            await asyncio.sleep(_POLL_SECONDS)


def _session_members(session: int) -> list[int]:
    """Return the processes of a session without its leader."""
    members = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # proc(5): pid (name) state parent group session ...; the name may hold anything.
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
            pid = int(path.parent.name)
            if int(fields[3]) == session and pid != session:
                members.append(pid)
    return members
