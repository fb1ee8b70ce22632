"""Whether the answer that is being worked out is still waited for: asked between two networks, inside Triton.

A request tells it in two ways, both of Triton's own: it can be cancelled, and it can come with a `timeout`, which
counts from here, since a model doesn't learn how long the request has waited for it.
"""

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol


class Abandoned(Exception):
    """Nobody waits for the answer any more."""


class Request(Protocol):
    """What is asked of a `pb_utils.InferenceRequest`."""

    def is_cancelled(self) -> bool:
        """Say whether the client has cancelled the request, or is gone."""
        ...

    def timeout(self) -> int:
        """Return the microseconds that the client gives it, 0 for as many as it takes."""
        ...


@dataclass(frozen=True, slots=True)
class _Waiting:
    request: Request
    end: float | None
    """Time of the monotonic clock."""


_WAITING: ContextVar[_Waiting | None] = ContextVar("waiting", default=None)


@contextlib.contextmanager
def answering(request: Request) -> Iterator[None]:
    """Mark the time in which this request is being answered."""
    timeout = request.timeout()
    token = _WAITING.set(_Waiting(request, time.monotonic() + timeout / 1e6 if timeout else None))
    try:
        yield
    finally:
        _WAITING.reset(token)


def remaining() -> int:
    """Return the microseconds that are left for the request being answered, 0 for as many as it takes.

    Raises:
        Abandoned: it was cancelled, or none are left.
    """
    waiting = _WAITING.get()
    if waiting is None:
        return 0
    if waiting.request.is_cancelled():
        raise Abandoned("The request was cancelled.")
    if waiting.end is None:
        return 0
    left = int(1e6 * (waiting.end - time.monotonic()))
    if left <= 0:
        raise Abandoned("The request's time is over.")
    return left
