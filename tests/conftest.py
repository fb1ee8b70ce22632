"""What the tests with the real networks share: one tritonserver for the whole session."""

import signal
from collections.abc import AsyncIterator

import pytest

from gateway.settings import Settings
from gateway.triton.embedded import EmbeddedTriton
from tests.triton.support import FREE_PORTS, require_platform

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts its background jobs so, and the programs under test, which inherit it, would never see a Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
async def triton() -> AsyncIterator[EmbeddedTriton]:
    """A tritonserver that serves the project's models."""
    require_platform()
    async with EmbeddedTriton(Settings(**FREE_PORTS)) as server:
        yield server
