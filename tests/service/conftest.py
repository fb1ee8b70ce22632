"""The service as a client sees it."""

from collections.abc import AsyncIterator

import httpx
import pytest

from gateway.app import create_app
from gateway.settings import Settings
from gateway.triton.client import TritonRecognizer
from gateway.triton.embedded import EmbeddedTriton
from tests.triton.support import FREE_PORTS, until_ready


@pytest.fixture(scope="session")
async def service(triton: EmbeddedTriton) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a gateway on the session's Triton, ready."""
    settings = Settings(**FREE_PORTS)
    recognizer = TritonRecognizer(settings, triton.endpoint)
    app = create_app(settings, recognizer)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway", timeout=60) as client,
    ):
        await until_ready(recognizer)
        yield client
