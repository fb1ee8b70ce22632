"""The service as a client sees it."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from gateway.app import create_app
from gateway.settings import Settings
from gateway.triton.client import TritonRecognizer
from gateway.triton.embedded import EmbeddedTriton
from tests.triton.support import FREE_PORTS, until_ready


@pytest.fixture(scope="session")
async def application(triton: EmbeddedTriton) -> AsyncIterator[FastAPI]:
    """A gateway on the session's Triton, ready."""
    settings = Settings(**FREE_PORTS)
    recognizer = TritonRecognizer(settings, triton.endpoint)
    app = create_app(settings, recognizer)
    async with app.router.lifespan_context(app):
        await until_ready(recognizer)
        yield app


@pytest.fixture(scope="session")
async def service(application: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client of that gateway, without a network."""
    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway", timeout=60) as client:
        yield client


@pytest.fixture(scope="session")
async def url(application: FastAPI) -> AsyncIterator[str]:
    """Where that gateway listens."""
    config = uvicorn.Config(application, port=0, log_config=None, access_log=False, lifespan="off")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server._serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has nothing to wait for
        await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await serving
