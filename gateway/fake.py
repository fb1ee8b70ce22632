"""A Recognizer without Triton, for tests of the HTTP layer and for clients that are developed against it."""

import asyncio
from collections.abc import Sequence
from typing import Final, Self

from gateway.errors import Unavailable
from gateway.images import EncodedImage
from gateway.recognizer import Detection, Detections, Plate, Readiness, Recognition, Timing

_TIMING: Final = Timing("fake", {"queue": 0.0, "decode": 1.0, "triton": 20.0, "detect": 15.0, "read": 4.0})


class FakeRecognizer:
    """Decodes each image, as the real one does, and returns the plates that it was given.

    Attributes:
        plates: what every image is answered with.
        error: raised instead, where set.
        gate: a request waits until this event is set; set from the start.
        ready: what `readiness` says.
        received: number of images that it was given so far.
        clients: whom each of them came from.
        deadlines: until when each of them had to be answered.
        waiting: number of those that aren't answered yet.
        entered: set when a request has come in.
    """

    def __init__(self, plates: Sequence[Plate] = (), *, error: Exception | None = None) -> None:
        self.plates = list(plates)
        self.error = error
        self.gate = asyncio.Event()
        self.gate.set()
        self.ready = True
        self.received = 0
        self.clients: list[str] = []
        self.deadlines: list[float] = []
        self.waiting = 0
        self.entered = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Return itself: there is nothing to connect to."""
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Turn away what comes later."""
        self.ready = False

    async def recognize(self, image: EncodedImage, *, deadline: float, client: str = "") -> Recognition:
        """Wait for the gate, then decode and return the plates, or raise the error."""
        await self._answer(image, deadline, client)
        return Recognition(list(self.plates), _TIMING)

    async def detect(self, image: EncodedImage, *, deadline: float, client: str = "") -> Detections:
        """Do the same, and return where the plates are."""
        await self._answer(image, deadline, client)
        return Detections([Detection(plate.box, plate.detection_score) for plate in self.plates], _TIMING)

    async def _answer(self, image: EncodedImage, deadline: float, client: str) -> None:
        self.received += 1
        self.clients.append(client)
        self.deadlines.append(deadline)
        self.waiting += 1
        self.entered.set()
        try:
            await self.gate.wait()
            if self.error is not None:
                raise self.error
            if not self.ready:
                raise Unavailable("The models are not ready yet.")
            await asyncio.to_thread(image.decode)
        finally:
            self.waiting -= 1

    async def readiness(self) -> Readiness:
        """Return `ready`."""
        if self.ready:
            return Readiness(ready=True, detail="Ready.", transport="fake")
        return Readiness(ready=False, detail="The models are not ready yet.")
