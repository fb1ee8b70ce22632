"""Requests that nobody waits for end between two networks, in the real `plate_recognition`."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tritonclient.grpc.aio import InferenceServerClient

from gateway.errors import DeadlineExceeded
from gateway.settings import Settings
from gateway.triton.client import TritonRecognizer
from gateway.triton.embedded import EmbeddedTriton
from plates import contract
from tests.triton.support import FREE_PORTS, grey, real_recognition, require_platform, until, until_ready

SLOW = 10
"""The stand-in for the detector's network takes a second for an image of this colour."""


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedTriton]:
    """The real `plate_recognition` before stand-ins for the networks."""
    require_platform()
    repository = tmp_path_factory.mktemp("repository")
    real_recognition(repository)
    async with EmbeddedTriton(Settings(model_repository=repository, **FREE_PORTS)) as server:
        yield server


def begun(server: EmbeddedTriton) -> int:
    """How often the detector's network has begun."""
    return len((server._repository / contract.YOLO_NET.name / "begun").read_bytes())


async def straightened(server: EmbeddedTriton) -> int:
    """How often the network after the detector has run."""
    async with InferenceServerClient(server.endpoint.grpc_url) as client:
        statistics = await client.get_inference_statistics(contract.STN.name)
        return int(statistics.model_stats[0].inference_count)


async def ask(client: TritonRecognizer, tenths: int, seconds: float, name: str = "") -> None:
    deadline = asyncio.get_running_loop().time() + seconds
    await client.recognize(grey(tenths, 96, 160), deadline=deadline, client=name)


@pytest.fixture(params=["system", "grpc"])
async def client(request: pytest.FixtureRequest, server: EmbeddedTriton) -> AsyncIterator[TritonRecognizer]:
    settings = Settings(transport=request.param, slots=2, **FREE_PORTS)
    async with TritonRecognizer(settings, server.endpoint) as client:
        await until_ready(client)
        yield client


async def until_idle(server: EmbeddedTriton, client: TritonRecognizer) -> None:
    """Wait until nothing is under way: the slots are back, and the detector's only instance has answered later ones."""
    await until(lambda: client._pool.free == 2)
    await asyncio.gather(*(ask(client, 0, 10) for _ in range(2)))


async def test_a_request_that_is_waited_for_passes_all_networks(
    server: EmbeddedTriton, client: TritonRecognizer
) -> None:
    before = await straightened(server)
    await ask(client, SLOW, 10)
    assert await straightened(server) == before + 1


async def test_the_disconnect_of_a_client_ends_the_work(server: EmbeddedTriton, client: TritonRecognizer) -> None:
    before, detections = await straightened(server), begun(server)
    request = asyncio.create_task(ask(client, SLOW, 10))
    await until(lambda: begun(server) > detections)
    request.cancel()
    await asyncio.wait({request})
    assert request.cancelled()
    await until_idle(server, client)
    assert await straightened(server) == before + 2


async def test_the_deadline_ends_the_work(server: EmbeddedTriton, client: TritonRecognizer) -> None:
    before = await straightened(server)
    with pytest.raises(DeadlineExceeded):
        await ask(client, SLOW, 0.4)
    await until_idle(server, client)
    assert await straightened(server) == before + 2


async def test_what_waits_for_a_network_past_its_deadline_is_not_computed(
    server: EmbeddedTriton, client: TritonRecognizer, caplog: pytest.LogCaptureFixture
) -> None:
    detections, before = begun(server), await straightened(server)
    under_way = asyncio.create_task(ask(client, SLOW, 10))
    await until(lambda: begun(server) == detections + 1)
    with pytest.raises(DeadlineExceeded):
        await ask(client, 0, 0.4, "another")  # the detector's only instance is busy for longer
    await under_way
    await until(lambda: client._pool.free == 2)
    assert begun(server) == detections + 1
    assert await straightened(server) == before + 1
    assert "request failed" not in caplog.text  # nobody is alarmed
