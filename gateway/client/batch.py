"""Many photos through one gateway: each becomes an outcome, an answer or an error."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.client.errors import PhotoRefused
from gateway.client.http import GatewayClient
from gateway.client.journal import Journal
from gateway.client.ordered import from_thread, in_order
from gateway.client.photos import Photo

Keep = Callable[[Photo, bytes, Mapping[str, Any]], None]
"""Takes a photo, its bytes and the answer; blocks while it writes them somewhere."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one photo."""

    photo: Photo
    answer: Mapping[str, Any] = field(default_factory=dict)
    """`gateway.schemas.RecognizeResponse`; empty after an error."""
    error: PhotoRefused | None = None
    identity: tuple[int, int] | None = None
    """Size in bytes and time of the last change in nanoseconds, of a file that was answered."""

    @property
    def plates(self) -> list[dict[str, Any]]:
        """The plates of the answer: `gateway.schemas.RecognizedPlate`."""
        plates: list[dict[str, Any]] = self.answer.get("plates", [])
        return plates

    def entry(self) -> dict[str, Any]:
        """Return it as one JSON object, as `gateway.client.notations` wants it."""
        if self.error is not None:
            return {"path": self.photo.path, "error": {"status": self.error.status, "detail": self.error.detail}}
        entry: dict[str, Any] = {"path": self.photo.path}
        if self.identity is not None:
            entry["bytes"], entry["modified_ns"] = self.identity
        return entry | dict(self.answer)


async def recognize(
    client: GatewayClient,
    photos: Iterable[Photo],
    *,
    window: int,
    parameters: Mapping[str, str | float],
    stop: asyncio.Event,
    keep: Keep | None = None,
) -> AsyncGenerator[Outcome, None]:
    """Yield the outcome of each photo, in their order.

    Args:
        client: the gateway's.
        photos: taken as they are needed, in a thread.
        window: photos in memory at once.
        parameters: of each request.
        stop: once set, no further photo is taken.
        keep: is called for each answered photo, in a thread, before its outcome is told.

    Raises:
        GatewayUnusable: the rest can't be answered.
    """

    async def one(photo: Photo) -> Outcome:
        try:
            identity = photo.identity() if photo.is_file else None
            data = await asyncio.to_thread(photo.read)
            answer = await client.recognize(data, parameters)
            if keep is not None:
                await asyncio.to_thread(_kept, keep, photo, data, answer)
        except PhotoRefused as error:
            return Outcome(photo, error=error)
        except OSError as error:
            return Outcome(photo, error=PhotoRefused(f"{error.strerror or error}."))
        return Outcome(photo, answer, identity=identity)

    async with aclosing(in_order(from_thread(photos), one, window, stop)) as outcomes:
        async for outcome in outcomes:
            yield outcome


def _kept(keep: Keep, photo: Photo, data: bytes, answer: Mapping[str, Any]) -> None:
    try:
        keep(photo, data, answer)
    except OSError as error:
        raise PhotoRefused(f"Its copy can't be written: {error.strerror or error}.") from error


def left_over(
    photos: Iterable[Photo], journal: Journal, copy: Callable[[Photo], Path] | None, skip: Callable[[], None]
) -> Iterator[Photo]:
    """Yield the photos that are still to do.

    Args:
        photos: all of them.
        journal: holds those that are done; one that has changed since then isn't.
        copy: where a photo's annotated copy goes; without its copy it isn't done.
        skip: is called for each photo that is.
    """
    for photo in photos:
        if _is_done(photo, journal) and (copy is None or copy(photo).exists()):
            skip()
        else:
            yield photo


def _is_done(photo: Photo, journal: Journal) -> bool:
    try:
        return photo.is_file and journal.holds(photo.path, *photo.identity())
    except OSError:
        return False
