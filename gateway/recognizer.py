"""The seam between HTTP and recognition: what the routes ask for, and what they get.

Two siblings implement it: `gateway.triton.client.TritonRecognizer` and, for tests, `gateway.fake.FakeRecognizer`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self

from gateway.images import EncodedImage


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels of the image as its viewer sees it; x goes right, y goes down, from the top left."""

    x_min: float
    y_min: float
    x_max: float
    y_max: float


@dataclass(frozen=True, slots=True)
class Detection:
    """A plate that was found and not read."""

    box: Box
    score: float
    """How sure the detector is that this is a plate, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a plate may say."""

    text: str
    """In Latin look-alikes."""
    score: float
    """Calibrated probability of the text, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Plate:
    """One plate: where it is and what it says."""

    box: Box
    text: str
    """In Latin look-alikes; empty where the plate can't be read."""
    score: float
    """Calibrated probability of the text, 0 to 1; of the best candidate where the text is empty."""
    detection_score: float
    """How sure the detector is that this is a plate, 0 to 1."""
    character_scores: tuple[float, ...] = ()
    """Probability of each character of the best candidate, 0 to 1."""
    candidates: tuple[Candidate, ...] = ()
    """What the plate may say, most probable first, `plates.contract.CANDIDATES` at most."""
    format: str = "unknown"
    """Type of the plate: a value of `plates.formats.Format`."""
    region: str = ""
    """Region code of the best candidate; empty where it holds none."""
    lines: int = 1
    """Lines of text on the plate: 1 or 2."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How one image went through."""

    transport: str
    """How it reached Triton: "cuda", "system" or "grpc"."""
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    """Time by stage: "queue" (waiting for a slot), "decode", "triton" (the whole request there), and of the latter
    the stages of `plates.contract.STAGES`, where the model tells them."""


@dataclass(frozen=True, slots=True)
class Recognition:
    """The plates of one image, best score first, equal ones from left to right."""

    plates: list[Plate]
    timing: Timing


@dataclass(frozen=True, slots=True)
class Detections:
    """The plates found in one image, best score first, equal ones from left to right."""

    detections: list[Detection]
    timing: Timing


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether requests are answered now, why not, and how images travel."""

    ready: bool
    detail: str
    transport: str | None = None
    """"cuda", "system" or "grpc" once Triton is connected."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Why not a faster one: the reason for each transport that was tried and can't be had."""


class Recognizer(Protocol):
    """Reads plates. Used as an async context manager; the methods may be called concurrently in between.

    `deadline` is a time of the running event loop's clock; `client` tells clients apart, so that one that sends much
    doesn't take every place from the others.
    """

    async def __aenter__(self) -> Self:
        """Connect in the background; a server that is away doesn't keep the gateway from starting."""
        ...

    async def __aexit__(self, *exc_info: object) -> None:
        """Let running requests end, then give everything back."""
        ...

    async def recognize(self, image: EncodedImage, *, deadline: float, client: str = "") -> Recognition:
        """Decode the image and read its plates.

        Raises:
            UnprocessableImage: the image can't be decoded.
            TooManyRequests: this client has every place that it may have.
            Unavailable: Triton is away, not ready or full.
            DeadlineExceeded: no answer before the deadline.
        """
        ...

    async def detect(self, image: EncodedImage, *, deadline: float, client: str = "") -> Detections:
        """Decode the image and find its plates, without reading them.

        Raises:
            Exception: the same as `recognize`.
        """
        ...

    async def readiness(self) -> Readiness:
        """Say whether a request sent now would be answered. Never raises."""
        ...
