"""The seam between HTTP and recognition: what the routes ask for, and what they get.

Two siblings implement it: `gateway.triton.client.TritonRecognizer` and, for tests, `gateway.fake.FakeRecognizer`.
"""

from dataclasses import dataclass
from typing import Protocol, Self

from gateway.images import EncodedImage


@dataclass(frozen=True, slots=True)
class Plate:
    """One plate: a box in pixels of the image as its viewer sees it, and what it says."""

    x_min: float
    y_min: float
    x_max: float
    y_max: float
    text: str
    """In Latin look-alikes; empty where the plate can't be read."""
    score: float
    """Probability of the text, 0 to 1."""
    detection_score: float
    """How sure the detector is that this is a plate, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether requests are answered now, why not, and how images travel."""

    ready: bool
    detail: str
    transport: str | None = None
    """"system" or "grpc" once Triton is connected."""


class Recognizer(Protocol):
    """Reads plates. Used as an async context manager; the methods may be called concurrently in between."""

    async def __aenter__(self) -> Self:
        """Connect in the background; a server that is away doesn't keep the gateway from starting."""
        ...

    async def __aexit__(self, *exc_info: object) -> None:
        """Let running requests end, then give everything back."""
        ...

    async def recognize(self, image: EncodedImage) -> list[Plate]:
        """Decode the image and read its plates, best detection first.

        Raises:
            UnprocessableImage: the image can't be decoded.
            Unavailable: Triton is away, not ready or full.
            DeadlineExceeded: no answer within the settings' deadline.
        """
        ...

    async def readiness(self) -> Readiness:
        """Say whether a request sent now would be answered. Never raises."""
        ...
