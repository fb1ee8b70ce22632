"""Requests that are given up at random moments, and what a gateway has left afterwards."""

import asyncio
import random
import socket
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from benchmarks.survival import pictures
from gateway.app import create_app
from gateway.commands.http_server import HttpServer
from gateway.settings import Settings
from gateway.triton.client import TritonRecognizer
from gateway.triton.endpoint import Endpoint
from gateway.triton.rpc import Rpc
from gateway.triton.slots import SlotPool

CLIENTS: Final = 12
"""Requests at once: more than there are slots by default, so that some are given up while they wait for one."""

GIVEN_UP: Final = "given up"

_PATIENCE_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.05
_LATEST: Final = 1.5
"""The latest moment to give up, as a multiple of the time that an answer usually takes."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a gateway works with."""

    free_slots: int
    regions: int
    """Registrations of its memory at Triton."""
    descriptors: int
    """Open files of this process."""


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What a storm did."""

    ends: Counter[str]
    """How the requests ended: given up, or with a status."""
    slots: int
    before: Means
    after: Means
    same_answer: bool
    """Whether a picture is answered as it was before."""


async def storm(settings: Settings, endpoint: Endpoint, count: int, seed: int = 0) -> Aftermath:
    """Start a gateway in this process, give up requests that are under way there, and look what is left.

    Args:
        settings: of the gateway.
        endpoint: where Triton listens.
        count: number of requests; those that are answered before their moment comes count too.
        seed: of the moments.

    Raises:
        TimeoutError: the gateway doesn't become ready, or isn't whole again.
    """
    rng = random.Random(seed)  # noqa: S311 - repeatable moments
    picture = pictures.draw(seed).data
    rpc = Rpc(endpoint)
    try:
        async with _gateway(settings, endpoint) as (url, pool):
            first = await _plates(url, picture)
            # The same load without a storm: what is opened once is open then.
            calm = await _flood(url, picture, 4 * CLIENTS, lambda: None)
            usual = statistics.median(seconds for _, seconds in calm)
            before = await _settled(pool, rpc, settings.slots)
            ends = await _flood(url, picture, count, lambda: rng.uniform(0, _LATEST * usual))
            after = await _settled(pool, rpc, settings.slots, before.descriptors)
            last = await _plates(url, picture)
    finally:
        await rpc.close()
    return Aftermath(Counter(end for end, _ in ends), settings.slots, before, after, first == last)


@asynccontextmanager
async def _gateway(settings: Settings, endpoint: Endpoint) -> AsyncIterator[tuple[str, SlotPool]]:
    recognizer = TritonRecognizer(settings, endpoint)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = HttpServer(create_app(settings, recognizer), settings)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while not server.started or not (await recognizer.readiness()).ready:  # noqa: ASYNC110 - to be asked for
                    await asyncio.sleep(_POLL_SECONDS)
            yield url, recognizer.pool
        finally:
            server.should_exit = True
            await serving


async def _flood(url: str, picture: bytes, count: int, moment: Callable[[], float | None]) -> list[tuple[str, float]]:
    """Send requests, a few at a time, and give each up after `moment()` seconds; return how and when each ended."""
    places = asyncio.Semaphore(CLIENTS)
    async with _client(url) as client:

        async def request() -> tuple[str, float]:
            async with places:
                begin = time.monotonic()
                try:
                    async with asyncio.timeout(moment()):
                        end = str((await _post(client, picture)).status_code)
                except TimeoutError:
                    end = GIVEN_UP
                return end, time.monotonic() - begin

        return await asyncio.gather(*(request() for _ in range(count)))


async def _settled(pool: SlotPool, rpc: Rpc, slots: int, descriptors: int | None = None) -> Means:
    """Return what there is when every slot is free again, and no more files are open than there were.

    Raises:
        TimeoutError: that doesn't happen.
    """
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while pool.free < slots or (descriptors is not None and _descriptors() > descriptors):  # noqa: ASYNC110
            await asyncio.sleep(_POLL_SECONDS)
    keys = tuple(f"{memory.key}." for memory in pool.memories)
    regions = [region for region in await rpc.regions("system") if region.startswith(keys)] if keys else []
    return Means(pool.free, len(regions), _descriptors())


async def _plates(url: str, picture: bytes) -> Any:
    async with _client(url) as client:
        response = await _post(client, picture)
        return response.raise_for_status().json()["plates"]


async def _post(client: httpx.AsyncClient, picture: bytes) -> httpx.Response:
    return await client.post("/recognize", files={"image": ("car.jpg", picture)})


def _client(url: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, timeout=_PATIENCE_SECONDS, trust_env=False)


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
