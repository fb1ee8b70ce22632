"""Many pictures in one request: worked on some at once, answered in their order."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from starlette.requests import ClientDisconnect

from gateway import problems
from gateway.errors import BadRequest, ContentTooLarge, GatewayError
from gateway.multipart import Part
from gateway.schemas import BatchEntry, RecognizeResponse

Result = TypeVar("Result")

Outcome: TypeAlias = "asyncio.Task[BatchEntry] | GatewayError | None"
"""The work on a file; or why there are no more of them: an error, or None after the last one."""

_HOW: Final = "curl -F image=@one.jpg -F image=@two.jpg URL"


@dataclass(frozen=True, slots=True)
class Batch:
    """The files of one form, and what is done with them.

    A file is taken from the connection only when there is a place to work on it: however many there are, few are in
    memory, and the client is slowed down instead.
    """

    parts: AsyncIterable[Part]
    """The form, as it arrives."""
    read: Callable[[int, Part], Awaitable[RecognizeResponse]]
    """Reads the plates of one file; the number tells which."""
    until_gone: Callable[[], Awaitable[None]]
    """Ends when the client has gone away. Waited for when the form is complete."""
    places: int
    """Files that are worked on at once."""
    max_files: int
    max_file_bytes: int

    async def entries(self) -> AsyncGenerator[BatchEntry, None]:
        """Yield what came of each file, in their order, the first ones while others are still arriving.

        Raises:
            GatewayError: the form is broken, or stops arriving; what was yielded before stands.
            ClientDisconnect: the client went away.
        """
        outcomes: asyncio.Queue[Outcome] = asyncio.Queue()
        receiving = asyncio.create_task(self._receive(outcomes), name="batch")
        try:
            while (outcome := await _unless_ended(asyncio.create_task(outcomes.get()), receiving)) is not None:
                if isinstance(outcome, GatewayError):
                    raise outcome
                yield await _unless_ended(outcome, receiving)
        finally:
            receiving.cancel()
            await asyncio.wait({receiving})

    async def _receive(self, outcomes: asyncio.Queue[Outcome]) -> None:
        """Start the work on each file that arrives; end all of it when the client goes away.

        Raises:
            ClientDisconnect: it did.
        """
        gone = False
        try:
            async with asyncio.TaskGroup() as working:
                try:
                    await self._start_all(working, outcomes)
                except GatewayError as error:
                    outcomes.put_nowait(error)
                else:
                    outcomes.put_nowait(None)
                    await self.until_gone()
                    raise ClientDisconnect
        except* ClientDisconnect:
            gone = True
        if gone:
            raise ClientDisconnect

    async def _start_all(self, working: asyncio.TaskGroup, outcomes: asyncio.Queue[Outcome]) -> None:
        places = asyncio.Semaphore(self.places)
        count = 0
        await places.acquire()
        async for part in self.parts:
            if part.filename is None:
                continue
            if count == self.max_files:
                raise ContentTooLarge(f"The form has more than {self.max_files} files. Send several forms.")
            outcomes.put_nowait(working.create_task(self._entry(count, part, places), name=f"batch-{count}"))
            count += 1
            await places.acquire()
        if count == 0:
            raise BadRequest(f"The form holds no files. Send some: {_HOW}")

    async def _entry(self, index: int, part: Part, places: asyncio.Semaphore) -> BatchEntry:
        try:
            if part.oversized:
                raise ContentTooLarge(
                    f"The file is larger than {self.max_file_bytes / 2**20:.3g} MiB. Send a smaller one."
                )
            result = await self.read(index, part)
        except GatewayError as error:
            return BatchEntry(index=index, filename=part.filename, result=None, error=problems.of(error))
        finally:
            places.release()
        return BatchEntry(index=index, filename=part.filename, result=result, error=None)


async def _unless_ended(work: "asyncio.Task[Result]", receiving: "asyncio.Task[None]") -> Result:
    """Return what the work returns; where the receiving fails before, and all work with it, raise why."""
    await asyncio.wait({work, receiving}, return_when=asyncio.FIRST_COMPLETED)
    if not work.done() or work.cancelled():
        try:
            await receiving
        except BaseException:
            work.cancel()
            raise
    return await work
