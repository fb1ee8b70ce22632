"""What a tritonserver and its stubs write, as log records of ours.

Triton writes its log to the standard error stream, each line and its line break in two writes; Python models print to
the standard output. In one pipe, what a model prints could fall between a line of the log and its end, so each stream
has a pipe of its own.
"""

import asyncio
import collections
import logging
import re
from typing import Final

SERVER_LOG: Final = logging.getLogger("gateway.triton.server")

LINE_LIMIT: Final = 2**20
"""Longer lines are left out."""

_TAIL_LINES: Final = 20
_LINE: Final = re.compile(r"(?P<level>[IWEF])\d{4} [\d:.]+ \d+ \S+\] ?(?P<text>.*)")
_LEVELS: Final = {
    # Triton's information tells of its inner steps, page after page.
    "I": logging.DEBUG,
    "W": logging.WARNING,
    "E": logging.ERROR,
    "F": logging.CRITICAL,
}
_HARMLESS: Final = (
    # Said as errors and warnings by every server without a GPU.
    "CudaDriverHelper has not been initialized",
    "failed to allocate pinned system memory",
    # Said by a server that is asked to stop: the gateway says so itself, and no request is under way any more.
    "Signal (15) received.",
    "failed to stop server: Internal - Exit timeout expired",
)


class ServerLog:
    """Relays both streams until the last process that holds them has ended.

    Args:
        output: the standard output of server and stubs.
        errors: their standard error stream.
    """

    def __init__(self, output: asyncio.StreamReader, errors: asyncio.StreamReader) -> None:
        self._tail: collections.deque[str] = collections.deque(maxlen=_TAIL_LINES)
        self._relays = {
            asyncio.create_task(self._relay(output), name="triton-output"),
            asyncio.create_task(self._relay(errors), name="triton-log"),
        }

    @property
    def ended(self) -> bool:
        """Whether every process that could write has ended."""
        return all(relay.done() for relay in self._relays)

    @property
    def tail(self) -> list[str]:
        """The last lines that tell more than Triton's inner steps."""
        return list(self._tail)

    async def wait_ended(self, seconds: float | None = None) -> None:
        """Wait until both streams have ended, that long at most."""
        await asyncio.wait(self._relays, timeout=seconds)

    async def _relay(self, stream: asyncio.StreamReader) -> None:
        while True:
            try:
                line = await stream.readline()
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
        # A Python model's traceback comes in many lines, the first "At:" and the others indented, and again in one.
        if text.startswith(_HARMLESS) or line == "At:" or line.startswith(" "):
            level = logging.DEBUG
        if level > logging.DEBUG:
            # The first words of the one line say what happened.
            self._tail.append(text.partition("\\n")[0])
        SERVER_LOG.log(level, "%s", text)
