"""Work that ends when nobody waits for it any more."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

Result = TypeVar("Result")


async def while_connected(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """Return what the work returns; cancel it when the client goes away, which FastAPI doesn't do.

    The request's body must have been read.

    Raises:
        ClientDisconnect: the client went away.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(disconnected(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def disconnected(request: Request) -> None:
    """Wait until the client goes away. The request's body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
