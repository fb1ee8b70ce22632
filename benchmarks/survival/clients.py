"""Clients that know what their pictures show, and judge every answer."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Self

import httpx

from benchmarks.survival import pictures
from benchmarks.survival.pictures import Picture

GRACE_SECONDS: Final = 3.0
"""What an answer may take beyond the deadline: it begins with the last byte that the gateway receives."""

_PAUSE_SECONDS: Final = 0.25
"""After a refusal. Clients should heed Retry-After; these press."""

_CANDIDATES: Final = 4
"""Pictures drawn for each one that is needed: not every drawn plate is read without a mistake."""


class Outcome(StrEnum):
    """What became of a request."""

    RIGHT = "right answer"
    REFUSED = "refused"
    """429, 503 or 504, as problem+json, with Retry-After."""
    RESET = "connection lost"
    WRONG = "wrong answer"
    FAULT = "another status or form"
    HANG = "no answer in time"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request; times are those of `time.monotonic`."""

    outcome: Outcome
    begin: float
    end: float
    detail: str


@dataclass(slots=True)
class Tally:
    """What became of all requests."""

    counts: Counter[Outcome] = field(default_factory=Counter)
    lost: list[Attempt] = field(default_factory=list)
    """The attempts that ended with a lost connection."""
    bad: list[Attempt] = field(default_factory=list)
    """Those that must not be: wrong, of another form, without an answer."""
    last_right: float = 0.0
    """When the last right answer came."""
    longest: float = 0.0
    """Seconds of the longest attempt."""

    def add(self, attempt: Attempt) -> None:
        """Count an attempt."""
        self.counts[attempt.outcome] += 1
        self.longest = max(self.longest, attempt.end - attempt.begin)
        match attempt.outcome:
            case Outcome.RIGHT:
                self.last_right = attempt.end
            case Outcome.RESET:
                self.lost.append(attempt)
            case Outcome.WRONG | Outcome.FAULT | Outcome.HANG:
                self.bad.append(attempt)


class Clients:
    """Concurrent clients, each with a connection and a picture of its own, as an async context manager.

    Args:
        url: of the gateway.
        count: number of clients.
        deadline_seconds: the gateway's.
    """

    def __init__(self, url: str, count: int, deadline_seconds: float) -> None:
        self.tally = Tally()
        self._url = url
        self._count = count
        self._patience = deadline_seconds + GRACE_SECONDS

    async def __aenter__(self) -> Self:
        """Connect, and find pictures that the gateway reads as they were drawn.

        Raises:
            RuntimeError: it reads too few of them.
        """
        async with AsyncExitStack() as stack:
            self._connections = [
                await stack.enter_async_context(httpx.AsyncClient(base_url=self._url, timeout=None, trust_env=False))  # noqa: S113 - every request has a deadline here
                for _ in range(self._count)
            ]
            self._pictures = await self._readable(self._connections[0])
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Disconnect."""
        await self._stack.aclose()

    async def run(self, going_on: Callable[[], bool]) -> None:
        """Send requests, one after the other on each connection, as long as `going_on` says so before each."""

        async def work(connection: httpx.AsyncClient, picture: Picture) -> None:
            while going_on():
                attempt = await self.ask(connection, picture)
                self.tally.add(attempt)
                if attempt.outcome is not Outcome.RIGHT:
                    await asyncio.sleep(_PAUSE_SECONDS)

        await asyncio.gather(*map(work, self._connections, self._pictures))

    async def ask(self, connection: httpx.AsyncClient, picture: Picture) -> Attempt:
        """Send a picture and judge what comes."""
        begin = time.monotonic()
        try:
            async with asyncio.timeout(self._patience):
                response = await connection.post("/recognize", files={"image": ("car.jpg", picture.data)})
        except TimeoutError:
            outcome, detail = Outcome.HANG, "nothing came"
        except httpx.TransportError as error:
            outcome, detail = Outcome.RESET, f"{type(error).__name__}: {error}"
        else:
            outcome, detail = _judge(response, picture)
        return Attempt(outcome, begin, time.monotonic(), detail)

    async def _readable(self, connection: httpx.AsyncClient) -> Sequence[Picture]:
        found: list[Picture] = []
        for seed in range(_CANDIDATES * self._count):
            picture = await asyncio.to_thread(pictures.draw, seed)
            attempt = await self.ask(connection, picture)
            if attempt.outcome is Outcome.RIGHT and picture.text not in {other.text for other in found}:
                found.append(picture)
            if len(found) == self._count:
                return found
        raise RuntimeError(f"the gateway reads only {len(found)} of {_CANDIDATES * self._count} drawn plates")


def _judge(response: httpx.Response, picture: Picture) -> tuple[Outcome, str]:
    if response.status_code == httpx.codes.OK:
        answer: dict[str, Any] = response.json()
        size = (answer["image"]["width"], answer["image"]["height"])
        texts = [plate["text"] for plate in answer["plates"]]
        if (size, texts) == ((picture.width, picture.height), [picture.text]):
            return Outcome.RIGHT, ""
        return Outcome.WRONG, f"{texts} in {size} instead of {picture.text}"
    is_problem = response.headers.get("Content-Type") == "application/problem+json"
    if response.status_code in (429, 503, 504) and is_problem and "Retry-After" in response.headers:
        return Outcome.REFUSED, response.json()["detail"]
    return Outcome.FAULT, f"{response.status_code} {response.text[:200]}"
