"""POSIX shared memory: Triton maps the same pages, on the same machine, in the same /dev/shm."""

import logging
import math
import mmap
import os

import numpy as np
from numpy.typing import NDArray

from gateway.triton.memory import Memory, size_class
from gateway.triton.rpc import Rpc

logger = logging.getLogger(__name__)


class SystemMemory(Memory):
    """A file of /dev/shm, as long as the largest image from the start, so that it is registered once.

    Length costs nothing: the system gives pages when they are reserved, one size class after the other, and takes them
    back from the middle of a file that stays mapped and registered.
    """

    transport = "system"

    def __init__(self, rpc: Rpc, key: str, largest: int) -> None:
        super().__init__(rpc, key, largest)
        self._reserved = 0
        try:
            os.ftruncate(self._descriptor, largest)
            self._mapping = mmap.mmap(self._descriptor, largest)
        except OSError:
            self._remove()
            raise

    @property
    def nbytes(self) -> int:
        """Bytes whose pages it has."""
        return self._reserved

    async def reserve(self, nbytes: int) -> bool:
        """Make room. Writing to a page that a full /dev/shm can't give would end the process with SIGBUS."""
        size = size_class(nbytes, self._largest)
        if size is None:
            return False
        if size > self._reserved:
            try:
                # In a thread: the system fills the pages with zeros.
                await self.run(lambda: self._allocate(size))
            except OSError as error:
                logger.warning("No shared memory for %d bytes (%s): they travel inside the request", nbytes, error)
                return False
        return True

    def view(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """Return the start of the memory as a writable uint8 array."""
        return np.frombuffer(self._mapping, np.uint8, math.prod(shape)).reshape(shape)

    async def flush(self, nbytes: int) -> int:
        """Do nothing: Triton reads the pages that were written."""
        return 0

    async def _register(self, region: str) -> None:
        await self._rpc.register_system(region, f"/{self.key}", self._largest)

    async def _trim(self) -> None:
        await self.run(self._free)

    async def _release(self) -> None:
        """Do nothing: the pages go with the file and the last array on them."""

    def _allocate(self, size: int) -> None:
        os.posix_fallocate(self._descriptor, 0, size)
        self._reserved = size

    def _free(self) -> None:
        self._reserved = 0
        self._mapping.madvise(mmap.MADV_REMOVE)
