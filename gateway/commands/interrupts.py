"""Ctrl-C and SIGTERM for commands that have something under way: the first one ends them in good order."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final, NoReturn

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """SIGINT and SIGTERM for a server, from before its event loop until the end of the process.

    A loop's own handlers begin and end with it: a Ctrl-C a moment earlier, or a second one a moment later, would kill a
    process that could end, or has ended, in good order.
    """

    def __init__(self) -> None:
        """Take the signals from now on."""
        self._early: list[signal.Signals] = []
        self._stop: Callable[[signal.Signals], object] = self._early.append
        for number in _SIGNALS:
            signal.signal(number, self._take)

    def call(self, stop: Callable[[signal.Signals], None]) -> None:
        """Call a function in the running event loop for each signal, those that came already included."""
        loop = asyncio.get_running_loop()
        self._stop = lambda number: loop.call_soon_threadsafe(stop, number)
        for number in self._early:
            self._stop(number)

    def ignore(self) -> None:
        """Let no signal change the exit status any more: the process is about to end."""
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def _take(self, number: int, frame: FrameType | None) -> None:
        # The loop may be closed already.
        with contextlib.suppress(RuntimeError):
            self._stop(signal.Signals(number))


class Interrupted(KeyboardInterrupt):
    """The command ends at once because of a signal.

    Attributes:
        status: its exit status, as shells have it: 128 and the signal's number.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.status = 128 + number


def interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Raise Interrupted in the main thread: a handler for a signal that comes before anything is under way."""
    raise Interrupted(number)


class Interrupt:
    """Whether the command was asked to end.

    Attributes:
        event: set by the first signal.
    """

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self._number = 0
        self._impatient = False

    @property
    def status(self) -> int:
        """Exit status of a command that ended because of the signal, as shells have it: 128 and its number."""
        return 128 + self._number

    @contextlib.contextmanager
    def caught(self) -> Iterator[None]:
        """Catch signals meanwhile; the second one cancels the running task.

        Raises:
            Interrupted: there was a second one.
        """
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - it is the one that runs this
        before = {number: signal.getsignal(number) for number in _SIGNALS}
        for number in before:
            loop.add_signal_handler(number, self._take, number, task)
        try:
            yield
        except asyncio.CancelledError:
            if not self._impatient:
                raise
            raise Interrupted(self._number) from None
        finally:
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)

    def _take(self, number: int, task: asyncio.Task[object]) -> None:
        if self.event.is_set():
            self._impatient = True
            task.cancel()
        self._number = number
        self.event.set()
