"""Ctrl-C and SIGTERM for commands that have something under way: the first one ends them in good order."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator


class Interrupt:
    """Whether the command was asked to end.

    Attributes:
        event: set by the first signal.
    """

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self._number = 0

    @property
    def status(self) -> int:
        """Exit status of a command that ended because of the signal, as shells have it: 128 and its number."""
        return 128 + self._number

    @contextlib.contextmanager
    def caught(self) -> Iterator[None]:
        """Catch signals meanwhile; the second one cancels the running task."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - it is the one that runs this
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        for number in before:
            loop.add_signal_handler(number, self._take, number, task)
        try:
            yield
        finally:
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)

    def _take(self, number: int, task: asyncio.Task[object]) -> None:
        if self.event.is_set():
            task.cancel()
        self._number = number
        self.event.set()
