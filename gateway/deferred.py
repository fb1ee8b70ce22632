"""A Recognizer for the time in which the real one still starts."""

from typing import Self

from gateway.errors import Unavailable
from gateway.images import EncodedImage
from gateway.recognizer import Detections, Readiness, Recognition, Recognizer


class DeferredRecognizer:
    """Answers "not ready" until it is given the recognizer that does the work.

    With it the gateway listens, and says that it lives, while Triton loads its models.
    """

    def __init__(self, reason: str) -> None:
        self._reason = reason
        self._recognizer: Recognizer | None = None

    def use(self, recognizer: Recognizer) -> None:
        """Hand everything to this recognizer from now on; who calls enters and leaves it."""
        self._recognizer = recognizer

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Do nothing."""

    async def recognize(self, image: EncodedImage, *, deadline: float, client: str = "") -> Recognition:
        """Read the plates, or raise Unavailable."""
        return await self._chosen().recognize(image, deadline=deadline, client=client)

    async def detect(self, image: EncodedImage, *, deadline: float, client: str = "") -> Detections:
        """Find the plates, or raise Unavailable."""
        return await self._chosen().detect(image, deadline=deadline, client=client)

    def _chosen(self) -> Recognizer:
        if self._recognizer is None:
            raise Unavailable(self._reason)
        return self._recognizer

    async def readiness(self) -> Readiness:
        """Say what the recognizer says; not ready without one."""
        if self._recognizer is None:
            return Readiness(ready=False, detail=self._reason)
        return await self._recognizer.readiness()
