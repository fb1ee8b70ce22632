"""The probes."""

import httpx
import pytest

from gateway.app import create_app
from gateway.deferred import DeferredRecognizer
from gateway.fake import FakeRecognizer
from gateway.recognizer import Readiness
from gateway.settings import Settings


async def test_ready_says_how_images_travel(client: httpx.AsyncClient) -> None:
    response = await client.get("/health/ready")
    assert response.status_code == 200
    assert response.json() == {"status": "ready", "detail": "Ready.", "transport": "fake", "refused": {}}


async def test_not_ready_is_503_and_says_why(client: httpx.AsyncClient, fake: FakeRecognizer) -> None:
    fake.ready = False
    response = await client.get("/health/ready")
    assert response.status_code == 503
    assert response.json() == {
        "status": "not ready",
        "detail": "The models are not ready yet.",
        "transport": None,
        "refused": {},
    }


async def test_ready_says_why_images_do_not_travel_faster(
    client: httpx.AsyncClient, fake: FakeRecognizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def readiness() -> Readiness:
        return Readiness(ready=True, detail="Ready.", transport="grpc", refused={"system": "another machine"})

    monkeypatch.setattr(fake, "readiness", readiness)
    assert (await client.get("/health/ready")).json()["refused"] == {"system": "another machine"}


@pytest.mark.parametrize("path", ["/health/live", "/health/ready"])
async def test_the_head_alone_may_be_asked_for(client: httpx.AsyncClient, fake: FakeRecognizer, path: str) -> None:
    fake.ready = False
    response = await client.head(path)
    assert (response.status_code, response.content) == (200 if path == "/health/live" else 503, b"")


async def test_live_does_not_ask_triton(client: httpx.AsyncClient, fake: FakeRecognizer) -> None:
    fake.ready = False
    assert (await client.get("/health/live")).status_code == 200


async def test_while_triton_starts_the_gateway_lives_and_turns_requests_away(fake: FakeRecognizer, jpeg: bytes) -> None:
    deferred = DeferredRecognizer("Triton is starting.")
    transport = httpx.ASGITransport(create_app(Settings(), deferred))
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
        assert (await client.get("/health/live")).status_code == 200
        assert (await client.get("/health/ready")).json()["detail"] == "Triton is starting."
        response = await client.post("/recognize", files={"image": jpeg})
        assert (response.status_code, response.json()["detail"]) == (503, "Triton is starting.")
        deferred.use(fake)
        assert (await client.get("/health/ready")).status_code == 200
        assert (await client.post("/recognize", files={"image": jpeg})).status_code == 200
