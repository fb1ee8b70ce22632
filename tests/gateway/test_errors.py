"""The table of errors in docs/api.md: each row is provoked, and answered as it says."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway import problems
from gateway.access import new_key
from gateway.app import create_app
from gateway.errors import DeadlineExceeded, GatewayError, Unavailable
from gateway.fake import FakeRecognizer
from gateway.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text()

ROWS = [
    (int(status), title, advice)
    for status, title, advice in re.findall(r"^\| (\d{3}) \| ([^|]+) \| [^|]+ \| ([^|]+) \|$", PAGE, re.MULTILINE)
]

Provoke = Callable[["Situation"], Awaitable[httpx.Response]]


class Situation:
    """A picture, and gateways to send it to."""

    def __init__(self, jpeg: bytes) -> None:
        self.jpeg = jpeg

    @asynccontextmanager
    async def gateway(self, error: Exception | None = None, **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
        transport = httpx.ASGITransport(create_app(Settings(**settings), FakeRecognizer(error=error)))
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
            yield client

    async def send(self, data: bytes | None = None, times: int = 1, **options: Any) -> httpx.Response:
        async with self.gateway(**options) as client:
            for _ in range(times):
                response = await client.post("/recognize", files={"image": self.jpeg if data is None else data})
        return response

    async def get(self, path: str) -> httpx.Response:
        async with self.gateway() as client:
            return await client.get(path)

    async def late(self) -> httpx.Response:
        """Send a body that stops."""

        async def body() -> AsyncIterator[bytes]:
            yield b"--b"
            raise TimeoutError

        async with self.gateway() as client:
            return await client.post(
                "/recognize", content=body(), headers={"Content-Type": "multipart/form-data; boundary=b"}
            )

    async def unreachable(self) -> httpx.Response:
        async with self.gateway(url_input=True, url_networks="127.0.0.0/8") as client:
            # Nobody listens on port 1.
            return await client.post("/recognize", json={"url": "http://127.0.0.1:1/car.jpg"})


PROVOKE: dict[tuple[int, str], Provoke] = {
    (400, "Bad request"): lambda it: it.send(b""),
    (401, "Unauthorized"): lambda it: it.send(api_keys=(new_key("gate")[1],)),
    (404, "Not Found"): lambda it: it.get("/nothing"),
    (405, "Method Not Allowed"): lambda it: it.get("/recognize"),
    (408, "Request timeout"): lambda it: it.late(),
    (413, "Content too large"): lambda it: it.send(max_pixels=100),
    (415, "Unsupported media type"): lambda it: it.send(b"text"),
    (422, "Unprocessable image"): lambda it: it.send(it.jpeg[:300]),
    (422, "Unreachable image"): lambda it: it.unreachable(),
    (429, "Too many requests"): lambda it: it.send(times=2, rate_limit="1/hour"),
    (500, "Internal error"): lambda it: it.send(error=KeyError("/secret")),
    (503, "Service unavailable"): lambda it: it.send(error=Unavailable("Triton is away. Try again.")),
    (504, "Deadline exceeded"): lambda it: it.send(error=DeadlineExceeded("Too slow. Try again.")),
}


@pytest.mark.parametrize(("status", "title", "advice"), ROWS)
async def test_each_error_of_the_table_is_answered_as_it_says(
    jpeg: bytes, status: int, title: str, advice: str
) -> None:
    response = await PROVOKE[status, title](Situation(jpeg))
    assert response.status_code == status
    assert response.headers["Content-Type"] == problems.MEDIA_TYPE
    body = response.json()
    assert body.keys() == {"type", "title", "status", "detail"}
    assert (body["title"], body["status"]) == (title, status)
    assert len(body["detail"].split()) >= 3
    assert ("Retry-After" in response.headers) == ("`Retry-After`" in advice)
    assert ("Allow" in response.headers) == ("`Allow`" in advice)
    assert "X-Request-ID" in response.headers


def test_the_table_is_complete() -> None:
    def subclasses(error: type[GatewayError]) -> set[type[GatewayError]]:
        return {error}.union(*(subclasses(each) for each in error.__subclasses__()))

    known = {(error.status, error.title) for error in subclasses(GatewayError) if error.__module__ == "gateway.errors"}
    told = {(status, title) for status, title, _ in ROWS}
    assert told == known | {(404, "Not Found"), (405, "Method Not Allowed")}
    assert told == PROVOKE.keys()


@pytest.mark.parametrize(
    "name",
    [
        "MAX_BODY_BYTES",
        "MAX_PIXELS",
        "MAX_PARTS",
        "MAX_BATCH_FILES",
        "MAX_BATCH_BYTES",
        "UPLOAD_SECONDS",
        "DEADLINE_SECONDS",
    ],
)
def test_the_table_of_limits_tells_the_defaults(name: str) -> None:
    told = re.search(rf"\| `GATEWAY_{name}` \| (\S+)(?: (\S+))? \|", PAGE)
    assert told is not None
    unit = {None: 1, "MiB": 2**20, "million": 10**6, "s": 1}[told[2]]
    assert int(told[1]) * unit == Settings.model_fields[name.lower()].default
