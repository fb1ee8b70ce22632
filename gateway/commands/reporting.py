"""Who is told how the service does: the log, or the parent of a worker."""

import logging
from typing import Protocol

from gateway.recognizer import Readiness

logger = logging.getLogger(__name__)


class Reporter(Protocol):
    """Is told how the service does."""

    def readiness(self, readiness: Readiness) -> None:
        """Take note of a state; called every second or more often, whether it has changed or not."""
        ...

    def stopping(self) -> None:
        """Take note that the service was asked to stop."""
        ...


class LogReporter:
    """Says in the log when the service becomes ready, when it isn't any more, and when it is again.

    Args:
        url: where it answers.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._ready = False
        self._was_ready = False

    def readiness(self, readiness: Readiness) -> None:
        """Log a change; that the service isn't ready yet is none."""
        if readiness.ready == self._ready:
            return
        self._ready = readiness.ready
        if readiness.ready:
            logger.info("Ready%s: %s (page at /, API at /docs)", " again" if self._was_ready else "", self._url)
            self._was_ready = True
        else:
            logger.warning("Not ready: %s", readiness.detail)

    def stopping(self) -> None:
        """Log it."""
        logger.info("Stopping; requests that are under way are answered first")
