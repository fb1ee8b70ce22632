"""Memory that the gateway writes and Triton reads: what system and CUDA shared memory have in common.

Abandoned requests. A request that is cancelled or reaches its deadline is cancelled in Triton too, which learns it
between two networks (`is_cancelled()`); a lost connection cancels all of its requests in the same way. The call has
ended here then, but Triton may read the image until its request has ended *there*, and no call tells when. One refuses,
however: Triton unregisters no region that a request holds ("currently in use", Triton 2.51 and later; seen for requests
that wait, that run and whose connection is gone). So `settle` asks to unregister until it is granted. A server that has
been started again doesn't know the region and grants it at once. Until then the memory isn't used again.

Each registration has a name of its own: a request that was cancelled on its way and reaches Triton after that can't
find the region, whatever lies in it by then.
"""

import abc
import asyncio
import contextlib
import itertools
import logging
import os
import re
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import Any, ClassVar, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from gateway.errors import DeadlineExceeded, GatewayError
from gateway.triton import shm
from gateway.triton.errors import ConnectionLost, Refused, RegionInUse
from gateway.triton.rpc import Rpc, Sharing, pauses

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

SIZE_CLASSES: Final = tuple(mebibytes * 2**20 for mebibytes in (2, 6, 24, 72, 144))
"""Sizes that memory has: up to 832 x 832 pixels, Full HD (1920 x 1080), 4K (3840 x 2160), 25 and 50 megapixels. The
largest holds every picture that the default limits admit: inside a gRPC request one of that size would stop the event
loop for most of a second while it is copied. Multiples of 2 MiB, because CUDA shares allocations in pages of that
size."""

KEY: Final = re.compile(r"plate-gateway-([0-9a-f]+)-\d+-[0-9a-f]{8}-\d+")
"""Every key that memory of any gateway can have; its group tells the /dev/shm that the gateway sees."""

REGION: Final = re.compile(rf"({KEY.pattern})\.\d+")
"""Every name that a registration of a gateway can have: the key, and a number that grows."""

_SETTLE_SECONDS: Final = 0.005
"""First pause between two questions whether a region is still in use."""
_CLOSE_SECONDS: Final = 2.0
"""Longest wait for a server to let go of a region that nobody will use any more."""


def new_keys(count: int) -> list[str]:
    """Return keys that no other memory of any gateway has."""
    prefix = f"plate-gateway-{dev_shm():x}-{os.getpid()}-{secrets.token_hex(4)}"
    return [f"{prefix}-{number}" for number in range(count)]


def dev_shm() -> int:
    """Return a number for the /dev/shm that this process sees: containers that share it have the same.

    Raises:
        OSError: there is none.
    """
    return shm.ROOT.stat().st_dev


def size_class(nbytes: int, largest: int) -> int | None:
    """Return the size of memory for that many bytes, None where they are more than `largest`."""
    if nbytes > largest:
        return None
    return min((size for size in SIZE_CLASSES if nbytes <= size <= largest), default=largest)


class Memory(abc.ABC):
    """A place for one image at a time. One request has it, from `reserve` to `quiet` or the end of `settle`.

    Args:
        rpc: the server that shall read it.
        key: names the memory, and the file in /dev/shm that tells whether its owner lives; see `new_keys`.
        largest: bytes that it may grow to.

    Raises:
        OSError: there is no /dev/shm, or it is full.
    """

    transport: ClassVar[Sharing]

    def __init__(self, rpc: Rpc, key: str, largest: int) -> None:
        self.key = key
        self._rpc = rpc
        self._largest = largest
        self._descriptor = shm.create(key)
        self._generations = itertools.count(1)
        self._region: str | None = None
        """The last registration's name, as long as the server may know it."""
        self._registered = False
        """Whether it does know it, as far as we know."""
        self._lent = False
        self._working: set[asyncio.Future[Any]] = set()

    @property
    def quiet(self) -> bool:
        """Whether nobody can be writing or reading the memory, so that it may be used again."""
        return not self._lent and not self._working

    @property
    @abc.abstractmethod
    def nbytes(self) -> int:
        """Bytes that it has now."""

    @abc.abstractmethod
    async def reserve(self, nbytes: int) -> bool:
        """Make room; False where that many bytes can't be had."""

    @abc.abstractmethod
    def view(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """Return a writable uint8 array on the memory, for which there must be room."""

    @abc.abstractmethod
    async def flush(self, nbytes: int) -> int | None:
        """Bring the first bytes written to where Triton reads them; return how many were copied, None on failure."""

    async def publish(self) -> str:
        """Make sure that the server knows the memory; return the region's name there. After a RegionLost, once more.

        Raises:
            Refused: the server doesn't take it.
            GatewayError: the server doesn't answer.
        """
        if self._registered and self._region is not None:
            return self._region
        await self._forget()
        # The server may know it even where the call fails.
        self._region = region = f"{self.key}.{next(self._generations)}"
        await self._register(region)
        self._registered = True
        return region

    def lost(self) -> None:
        """Take note that the server doesn't know the region any more."""
        self._registered = False

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Mark the time in which Triton may read the memory; it ends with an answer, and with that alone."""
        before, self._lent = self._lent, True
        try:
            yield
        except (ConnectionLost, DeadlineExceeded):
            raise
        except GatewayError:
            self._lent = before
            raise
        else:
            self._lent = before

    async def run(self, work: Callable[[], Result], executor: Executor | None = None) -> Result:
        """Run work on the memory in a thread. A thread can't be stopped: the memory isn't quiet until its end."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().run_in_executor(executor, work)
        self._working.add(future)
        future.add_done_callback(self._ended)
        result: Result = await asyncio.shield(future)
        return result

    async def settle(self) -> None:
        """Return when nobody can be writing or reading the memory. Takes as long as it takes."""
        if self._working:
            await asyncio.wait(self._working)
        if self._lent:
            await self._forget(patient=True)
            self._lent = False

    async def trim(self) -> None:
        """Give memory back to the system; only while it is quiet and nobody's."""
        if self.nbytes:
            await self._trim()

    async def close(self) -> None:
        """Give everything back. What isn't quiet loses its name alone, and goes with the processes that use it."""
        if self.quiet:
            # A server that is gone has forgotten it already; one that has just answered lets go a moment later.
            with contextlib.suppress(GatewayError, TimeoutError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await self._forget()
            await self._release()
        self._remove()

    def _remove(self) -> None:
        (shm.ROOT / self.key).unlink(missing_ok=True)
        os.close(self._descriptor)

    @abc.abstractmethod
    async def _register(self, region: str) -> None: ...

    @abc.abstractmethod
    async def _trim(self) -> None: ...

    @abc.abstractmethod
    async def _release(self) -> None: ...

    async def _forget(self, *, patient: bool = False) -> None:
        """Return when the server has no registration of this memory, and with it no request that reads it.

        Raises:
            GatewayError: the server doesn't answer; who is patient waits until it does.
        """
        if self._region is None:
            return
        self._registered = False
        for pause in pauses(_SETTLE_SECONDS):
            try:
                await self._rpc.unregister(self.transport, self._region)
            except Refused:
                break  # it shares no memory: not the process that did
            except GatewayError as error:
                if not patient and not isinstance(error, RegionInUse):
                    raise
                logger.debug("%s isn't free yet: %s", self._region, error)
            else:
                break
            await asyncio.sleep(pause)
        self._region = None

    def _ended(self, future: asyncio.Future[Any]) -> None:
        self._working.discard(future)
        if not future.cancelled():
            future.exception()  # its waiter may be gone, and nobody else asks


def sweep() -> None:
    """Remove the files of gateways that are dead."""
    for key in shm.sweep(KEY):
        logger.info("Sweeping the dead gateway's memory %s", key)


async def unregister_dead(rpc: Rpc, sharing: Sharing) -> None:
    """Make the server let go of the memory of gateways that are dead, which it would keep until its end.

    Raises:
        GatewayError: the server doesn't answer, or shares no memory with us.
    """
    for region in await rpc.regions(sharing):
        match = REGION.fullmatch(region)
        # A gateway that sees another /dev/shm can live without a file here.
        if match is None or int(match[2], 16) != dev_shm() or shm.alive(match[1]):
            continue
        logger.info("Triton lets go of the dead region %s", region)
        # Another gateway may have been faster, and what a dead one's request still reads goes the next time.
        with contextlib.suppress(GatewayError):
            await rpc.unregister(sharing, region)
