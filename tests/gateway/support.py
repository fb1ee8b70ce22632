"""What the tests of the HTTP layer share."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import uvicorn

from gateway import problems
from gateway.app import create_app
from gateway.fake import FakeRecognizer
from gateway.settings import Settings


@asynccontextmanager
async def serving(settings: Settings, fake: FakeRecognizer) -> AsyncIterator[str]:
    """Serve a gateway on a free port and give its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(create_app(settings, fake), log_config=None, lifespan="on")
        server = uvicorn.Server(config)
        # Signals are pytest's.
        running = asyncio.create_task(server._serve(sockets=[listener]))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        fake.gate.set()
        await running


def assert_problem(response: httpx.Response, status: int, detail: str) -> None:
    """Check that a response is a problem with this status, whose detail holds this text."""
    assert response.status_code == status, response.text
    assert response.headers["Content-Type"] == problems.MEDIA_TYPE
    body = response.json()
    assert body.keys() == {"type", "title", "status", "detail"}
    assert body["status"] == status
    assert detail in body["detail"]
