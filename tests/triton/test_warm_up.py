"""A server's clients don't get its first images."""

import asyncio
import logging
from collections.abc import Callable

import psutil
import pytest

from gateway.settings import Settings
from gateway.triton import embedded, ports, shm
from gateway.triton.client import TritonRecognizer
from gateway.triton.embedded import EmbeddedTriton
from gateway.triton.endpoint import Endpoint
from gateway.triton.warm_up import warm_up
from nets.data.plates import render_scene
from plates import contract
from tests.triton.support import encoded, lives, require_platform, until_ready


def sizes(names: set[str]) -> dict[str, int]:
    """How large the memory is that Triton shares with the models in Python."""
    return {name: (shm.ROOT / name).stat().st_size for name in names if name.startswith("plate-triton-")}


async def test_the_memory_of_the_models_has_grown_before_the_first_request(
    settings: Settings, leftovers: Callable[[], set[str]]
) -> None:
    require_platform()
    image = encoded(render_scene("B840OK197", 3, 1920, 1080, 260)[0])
    async with EmbeddedTriton(settings) as triton, TritonRecognizer(settings, triton.endpoint) as client:
        await until_ready(client)
        before = sizes(leftovers())
        deadline = asyncio.get_running_loop().time() + 60
        answers = await asyncio.gather(*(client.recognize(image, deadline=deadline) for _ in range(12)))
        assert {plate.text for answer in answers for plate in answer.plates} == {"B840OK197"}
        assert sizes(leftovers()) == before


async def test_a_server_that_has_no_answer_may_be_used_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    http, grpc, metrics = ports.choose([0, 0, 0])
    await warm_up(Endpoint(ports.LOOPBACK, http, grpc, metrics), contract.PLATE_RECOGNITION, 5)
    (told,) = (record for record in caplog.records if record.name == "gateway.triton.warm_up")
    assert told.levelno == logging.WARNING


async def test_a_start_that_is_given_up_in_it_leaves_nothing(
    stand_in: Settings, leftovers: Callable[[], set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def endless(*_: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(embedded, "warm_up", endless)
    triton = EmbeddedTriton(stand_in)
    start = asyncio.create_task(triton.__aenter__())
    await begun.wait()
    server = psutil.Process(triton.pid)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert not lives(server)
    assert not leftovers()
