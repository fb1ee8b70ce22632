"""What the tests with the real networks share: one tritonserver for the whole session."""

from collections.abc import AsyncIterator

import pytest

from gateway.settings import Settings
from gateway.triton.embedded import EmbeddedTriton
from tests.triton.support import FREE_PORTS, require_platform


@pytest.fixture(scope="session")
async def triton() -> AsyncIterator[EmbeddedTriton]:
    """A tritonserver that serves the project's models."""
    require_platform()
    async with EmbeddedTriton(Settings(**FREE_PORTS)) as server:
        yield server
