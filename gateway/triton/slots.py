"""Slots: places for images on their way to Triton, with memory that Triton reads too where it can be had.

A pool bounds how many images are on their way at once. A slot is handed out by a context manager; its memory goes to
the next one at once when nobody can be using it any more, and otherwise waits in quarantine until then: see
`gateway.triton.memory`.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from gateway.errors import TooManyRequests, Unavailable
from gateway.triton.memory import Memory
from gateway.triton.turns import Turns

logger = logging.getLogger(__name__)

WAITING_PER_SLOT: Final = 8
"""Requests that may wait, for each slot. More would only come to wait until their deadline."""

_SHARE_OF_ONE_CLIENT: Final = 0.5
"""Share of the requests that may wait which one client's can be."""


@dataclass(eq=False, slots=True)
class _Place:
    memory: Memory | None
    used: float = field(default_factory=time.monotonic)


class Slot:
    """One request's hold on a place of the pool. Dead once it is released: every use raises RuntimeError then."""

    def __init__(self, memory: Memory | None) -> None:
        self._memory = memory
        self._alive = True

    @property
    def memory(self) -> Memory | None:
        """Memory for the image; None in a pool without."""
        if not self._alive:
            raise RuntimeError("the slot was released")
        return self._memory

    def release(self) -> None:
        """End the hold."""
        self._alive = False


class SlotPool:
    """A fixed number of slots.

    One client has all but one of them at most, so that there is always one for another.

    Args:
        memories: one for each slot, closed with the pool; None for a slot without.
    """

    def __init__(self, memories: Sequence[Memory | None]) -> None:
        self.memories = [memory for memory in memories if memory is not None]
        self._count = len(memories)
        self._closed = False
        # A stack: the memory of the slot that was used last is there already.
        self._free = [_Place(memory) for memory in reversed(memories)]
        waiting = WAITING_PER_SLOT * self._count
        self._turns: Turns[_Place] = Turns(max(1, self._count - 1), waiting, int(waiting * _SHARE_OF_ONE_CLIENT))
        self._quarantine: set[asyncio.Task[None]] = set()
        self._whole = asyncio.Event()
        self._whole.set()

    @property
    def free(self) -> int:
        """Slots that nobody holds."""
        return len(self._free)

    @property
    def quarantined(self) -> int:
        """Slots that nobody holds and that can't be used yet."""
        return len(self._quarantine)

    @property
    def waiting(self) -> int:
        """Requests that wait for a slot."""
        return self._turns.waiting

    @contextlib.asynccontextmanager
    async def acquire(self, seconds: float, client: str = "") -> AsyncIterator[Slot]:
        """Wait for a slot. Clients take turns; the requests of one client are served first come first served.

        Raises:
            TooManyRequests: this client has all slots that it may have, or too many requests that wait.
            Unavailable: none was free within that time, too many requests wait, or the pool is closed.
        """
        place = await self._take(seconds, client)
        slot = Slot(place.memory)
        try:
            yield slot
        finally:
            slot.release()
            self._give_back(place, client)

    async def trim(self, idle_seconds: float) -> None:
        """Give the memory back that no image has been in for that long."""
        for place in list(self._free):
            memory = place.memory
            if memory is None or not memory.nbytes or time.monotonic() - place.used < idle_seconds:
                continue
            if place not in self._free:
                continue  # taken meanwhile
            self._free.remove(place)
            self._whole.clear()
            try:
                await memory.trim()
            finally:
                self._give_back(place)

    async def close(self, seconds: float) -> None:
        """Hand out no more slots, wait until those in use are back, that long at most, and close the memory."""
        self._closed = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._whole.wait()
        for task in self._quarantine:
            task.cancel()
        await asyncio.gather(*self._quarantine, return_exceptions=True)
        for memory in self.memories:
            await memory.close()
        self.memories.clear()

    async def _take(self, seconds: float, client: str) -> _Place:
        if self._closed:
            raise Unavailable("The gateway is shutting down.")
        if self._free and self._turns.admits(client):
            self._turns.take(client)
            self._whole.clear()
            return self._free.pop()
        waiter = self._turns.wait(client)
        try:
            async with asyncio.timeout(seconds):
                return await waiter
        except BaseException as error:
            if waiter.done() and not waiter.cancelled():  # it was given a slot in the same moment
                self._give_back(waiter.result(), client)
            self._turns.leave(client, waiter)
            if not isinstance(error, TimeoutError):
                raise
            if self._turns.admits(client):
                raise Unavailable(f"All {self._count} places for images are taken.") from None
            raise TooManyRequests("Your other requests have every place that you may have: send fewer.") from None

    def _give_back(self, place: _Place, client: str | None = None) -> None:
        """Take a place back, at once or when its memory is quiet; until then it counts as the client's."""
        if place.memory is None or place.memory.quiet:
            self._put(place, client)
            return
        task = asyncio.create_task(self._settle(place, place.memory, client), name="slot-quarantine")
        self._quarantine.add(task)
        task.add_done_callback(self._quarantine.discard)

    async def _settle(self, place: _Place, memory: Memory, client: str | None) -> None:
        await memory.settle()
        self._put(place, client)

    def _put(self, place: _Place, client: str | None) -> None:
        """Hand a place to whose turn it is; it never lies free while somebody waits that may have it."""
        if client is not None:
            self._turns.give_back(client)
            place.used = time.monotonic()
        self._free.append(place)
        while self._free and self._turns.serve(self._free[-1]):
            self._free.pop()
        if len(self._free) == self._count:
            self._whole.set()
