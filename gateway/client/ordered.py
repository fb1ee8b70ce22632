"""Work on many items at once, results in the items' order, in bounded memory."""

import asyncio
import collections
import itertools
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine, Iterable
from typing import Any, Final, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_CHUNK: Final = 32


async def from_thread(items: Iterable[Item]) -> AsyncGenerator[Item, None]:
    """Yield items whose iteration blocks; a thread takes some at a time."""
    iterator = iter(items)
    while chunk := await asyncio.to_thread(lambda: list(itertools.islice(iterator, _CHUNK))):
        for item in chunk:
            yield item


async def in_order(
    items: AsyncIterable[Item], work: Callable[[Item], Coroutine[Any, Any, Result]], window: int, stop: asyncio.Event
) -> AsyncGenerator[Result, None]:
    """Yield what the work returns for each item, in the items' order.

    Args:
        items: taken as they are needed.
        work: runs for several items at once; an exception ends everything.
        window: items at most whose result hasn't been yielded yet.
        stop: once set, no item is taken any more; what is under way is finished and yielded.
    """
    pending: collections.deque[asyncio.Task[Result]] = collections.deque()
    try:
        async for item in items:
            if stop.is_set():
                break
            pending.append(asyncio.create_task(work(item)))
            while pending and (len(pending) >= window or pending[0].done()):
                yield await pending.popleft()
        while pending:
            yield await pending.popleft()
    finally:
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
