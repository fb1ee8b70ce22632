"""How many requests a client keeps under way: as many as the gateway takes without refusing one.

Additive increase, multiplicative decrease, as TCP finds the capacity of a path that it doesn't know (RFC 5681, section
3.1): each answer widens the window by 1/window, so by one request per round, and a refusal halves it. Requests that
were sent before a halving say nothing about the narrower window: their refusals don't halve it again.
"""

import asyncio
import collections
import contextlib
from collections.abc import AsyncIterator


class Pace:
    """A window of requests under way that adapts to refusals, and a pause that the gateway asks for.

    Args:
        limit: requests under way at most.
    """

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"the limit is {limit}; at least one request has to be under way")
        self._limit = limit
        self._window = float(limit)
        self._running = 0
        self._waiting: collections.deque[asyncio.Future[None]] = collections.deque()
        self._epoch = 0
        self._resume_at = 0.0

    @property
    def window(self) -> int:
        """Requests that may be under way now."""
        return int(self._window)

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[int]:
        """Wait for a place and for the end of a pause, and hold the place; gives what `refused` wants to know."""
        while self._running >= self.window:
            freed = asyncio.get_running_loop().create_future()
            self._waiting.append(freed)
            try:
                await freed
            except asyncio.CancelledError:
                # It may have been told already: the place goes on to the next one.
                if freed.done() and not freed.cancelled():
                    self._wake()
                raise
        self._running += 1
        try:
            await self._pause()
            yield self._epoch
        finally:
            self._running -= 1
            self._wake()

    def answered(self) -> None:
        """Take note that a request was answered: the window grows, up to the limit."""
        self._window = min(self._window + 1 / self._window, self._limit)
        self._wake()

    def refused(self, epoch: int, seconds: float) -> None:
        """Take note that a request was refused: the window is halved, and nothing is sent for some seconds.

        Args:
            epoch: what the request's `turn` gave.
            seconds: the pause, as in Retry-After.
        """
        if epoch == self._epoch:
            self._epoch += 1
            self._window = max(self._window / 2, 1.0)
        self._resume_at = max(self._resume_at, asyncio.get_running_loop().time() + seconds)

    def _wake(self) -> None:
        free = self.window - self._running
        while free > 0 and self._waiting:
            freed = self._waiting.popleft()
            if not freed.done():
                freed.set_result(None)
                free -= 1

    async def _pause(self) -> None:
        loop = asyncio.get_running_loop()
        # The pause may have become longer meanwhile.
        while (seconds := self._resume_at - loop.time()) > 0:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(seconds)
