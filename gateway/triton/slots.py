"""Slots: places for images on their way to Triton, in POSIX shared memory where the server takes it.

A pool bounds how many images are on their way at once. A slot is handed out by a context manager and comes back when
the last work on it has ended: a request that is given up by its waiter leaves its slot in quarantine until Triton has
answered or the connection is gone, because until then Triton may still be reading it.
"""

import asyncio
import collections
import contextlib
import functools
import logging
import math
import mmap
import os
import re
import secrets
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gateway.errors import Unavailable
from gateway.triton import shm

logger = logging.getLogger(__name__)

NAME: Final = re.compile(r"plate-gateway-\d+-[0-9a-f]{8}-\d+")
"""Every name that a region of any gateway can have."""


class Region:
    """One file of shared memory, under a name that no other region has.

    Its memory is taken from the system when it is first needed, and kept.
    """

    def __init__(self, name: str, nbytes: int) -> None:
        self.name = name
        self.nbytes = nbytes
        self.registered = False
        """Whether the server knows the region, as far as we know."""
        self._reserved = 0
        self._descriptor = shm.create(name)
        try:
            os.ftruncate(self._descriptor, nbytes)
            self._memory = mmap.mmap(self._descriptor, nbytes)
        except OSError:
            self.close()
            raise

    def reserve(self, nbytes: int) -> bool:
        """Make sure that the first `nbytes` can be written; False when they are too many or /dev/shm is full.

        Writing to a page that a full file system can't give would end the process with SIGBUS.
        """
        if nbytes > self.nbytes:
            return False
        if nbytes > self._reserved:
            try:
                os.posix_fallocate(self._descriptor, 0, nbytes)
            except OSError as error:
                logger.warning("No shared memory for %d bytes (%s): they travel inside the request", nbytes, error)
                return False
            self._reserved = nbytes
        return True

    def view(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """Return the start of the memory as a writable uint8 array of that shape."""
        return np.frombuffer(self._memory, np.uint8, math.prod(shape)).reshape(shape)

    def close(self) -> None:
        """Remove the file; the memory goes when the last array on it does."""
        (shm.ROOT / self.name).unlink(missing_ok=True)
        os.close(self._descriptor)


class Slot:
    """One request's hold on a place of the pool. Dead once it is released: every use raises RuntimeError then."""

    def __init__(self, region: Region | None) -> None:
        self._region = region
        self._work: set[asyncio.Future[Any]] = set()
        self._alive = True

    @property
    def region(self) -> Region | None:
        """The shared memory of the slot; None in a pool without."""
        self._check()
        return self._region

    def reserve(self, shape: tuple[int, ...]) -> bool:
        """Say whether the slot's shared memory has room for a uint8 array of that shape."""
        return self.region is not None and self.region.reserve(math.prod(shape))

    def view(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """Return an array on the slot's memory; only after `reserve`."""
        if self.region is None:
            raise RuntimeError("the slot has no shared memory")
        return self.region.view(shape)

    def hold(self, work: asyncio.Future[Any]) -> None:
        """Keep the slot from being used again before `work` has ended, whoever stops waiting for it."""
        self._check()
        self._work.add(work)

    def release(self, give_back: Callable[[], None]) -> None:
        """End the hold; `give_back` is called when the last work on the slot has ended, maybe at once."""
        self._check()
        self._alive = False
        self._work = {work for work in self._work if not work.done()}
        if not self._work:
            give_back()

        def ended(work: asyncio.Future[Any]) -> None:
            self._work.discard(work)
            if not work.cancelled():
                work.exception()  # its waiter is gone, and nobody else asks
            if not self._work:
                give_back()

        for work in self._work:
            work.add_done_callback(ended)

    def _check(self) -> None:
        if not self._alive:
            raise RuntimeError("the slot was released")


class SlotPool:
    """A fixed number of slots.

    Args:
        count: number of slots.
        nbytes: shared memory per slot; 0 makes slots without, which only bound the number of requests.

    Raises:
        OSError: there is no shared memory on this machine.
    """

    def __init__(self, count: int, nbytes: int) -> None:
        self.regions: list[Region] = []
        self._count = count
        self._closed = False
        self._waiters: collections.deque[asyncio.Future[Region | None]] = collections.deque()
        prefix = f"plate-gateway-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            for number in range(count if nbytes else 0):
                self.regions.append(Region(f"{prefix}-{number}", nbytes))
        except OSError:
            self.remove()
            raise
        # A stack: the memory of the slot that was used last is there already.
        self._free: list[Region | None] = [*self.regions] or [None] * count

    @property
    def free(self) -> int:
        """Slots that nobody holds."""
        return len(self._free)

    @contextlib.asynccontextmanager
    async def acquire(self, seconds: float) -> AsyncIterator[Slot]:
        """Wait for a slot, first come first served.

        Raises:
            Unavailable: none was free within that time, or the pool is closed.
        """
        if self._closed:
            raise Unavailable("The gateway is shutting down.")
        try:
            async with asyncio.timeout(seconds):
                region = await self._take()
        except TimeoutError:
            raise Unavailable(f"All {self._count} places for images are taken.") from None
        slot = Slot(region)
        try:
            yield slot
        finally:
            slot.release(functools.partial(self._give, region))

    async def drain(self, seconds: float) -> None:
        """Hand out no more slots, and wait until those in use are back, that long at most."""
        self._closed = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                for _ in range(self._count):
                    await self._take()

    def remove(self) -> None:
        """Remove the shared memory."""
        for region in self.regions:
            region.close()
        self.regions.clear()

    async def _take(self) -> Region | None:
        if self._free:
            return self._free.pop()
        waiter: asyncio.Future[Region | None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():  # it was given a slot in the same moment
                self._give(waiter.result())
            raise

    def _give(self, region: Region | None) -> None:
        """Hand a slot to the one who has waited longest; it never lies free while somebody waits."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(region)
                return
        self._free.append(region)


def sweep() -> None:
    """Remove the regions of gateways that are dead."""
    for name in shm.sweep(NAME):
        logger.info("Sweeping the dead region %s", name)
