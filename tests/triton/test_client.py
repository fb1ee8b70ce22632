"""TritonRecognizer and a real server: transports, deadlines, faults, the end."""

import asyncio
import dataclasses
import errno
import logging
import os
import secrets
import signal
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
import tritonclient.grpc

from gateway.errors import DeadlineExceeded, Unavailable, UnprocessableImage
from gateway.images import EncodedImage
from gateway.recognizer import Plate
from gateway.settings import Settings
from gateway.triton import ports, shm
from gateway.triton.client import TritonRecognizer
from gateway.triton.embedded import EmbeddedTriton
from gateway.triton.endpoint import Endpoint
from gateway.triton.slots import SlotPool
from tests.triton.support import encoded, grey, until, until_ready

STAND_IN_ANSWER = [Plate(0, 0, 0, 0, "X", 0, 0)]


def registered(endpoint: Endpoint) -> set[str]:
    """Names of the regions that the server knows."""
    with tritonclient.grpc.InferenceServerClient(endpoint.grpc_url) as client:
        return set(client.get_system_shared_memory_status(headers=endpoint.grpc_headers).regions)


def pool_of(client: TritonRecognizer) -> SlotPool:
    assert client._pool is not None
    return client._pool


def slow(tenths: int) -> EncodedImage:
    """An image that the stand-in answers after that many tenths of a second."""
    return grey(tenths)


def is_asking() -> bool:
    """Whether a request is on its way to Triton."""
    return any(task.get_name() == "triton-infer" for task in asyncio.all_tasks())


@pytest.fixture
def one_slot(settings: Settings) -> Settings:
    return settings.model_copy(update={"slots": 1, "deadline_seconds": 0.4})


async def test_the_answer_becomes_plates(settings: Settings, stand_in_triton: EmbeddedTriton) -> None:
    async with TritonRecognizer(settings, stand_in_triton.endpoint) as client:
        await until_ready(client)
        assert await client.recognize(grey(0)) == STAND_IN_ANSWER


async def test_both_transports_give_the_same_plates(
    settings: Settings, triton: EmbeddedTriton, scene: EncodedImage
) -> None:
    answers = []
    for transport in ("system", "grpc"):
        async with TritonRecognizer(settings.model_copy(update={"transport": transport}), triton.endpoint) as client:
            await until_ready(client)
            assert (await client.readiness()).transport == transport
            answers.append(await client.recognize(scene))
    assert answers[0] == answers[1]


async def test_an_answer_does_not_depend_on_the_company(recognizer: TritonRecognizer, scene: EncodedImage) -> None:
    rng = np.random.default_rng(0)
    others = [encoded(rng.integers(0, 256, (480, 640, 3), dtype=np.uint8)) for _ in range(4)]
    alone = await recognizer.recognize(scene)
    answers = await asyncio.gather(*(recognizer.recognize(image) for image in [scene, *others] * 4))
    for answer in answers[::5]:
        assert [plate.text for plate in answer] == [plate.text for plate in alone]
        for plate, expected in zip(answer, alone, strict=True):
            assert dataclasses.astuple(plate)[:4] == pytest.approx(dataclasses.astuple(expected)[:4], abs=0.01)


async def test_a_drawn_plate_is_read(recognizer: TritonRecognizer, scene: EncodedImage) -> None:
    (plate,) = await recognizer.recognize(scene)
    assert plate.text == "B840OK197"


async def test_images_are_decoded_into_the_slot_and_off_the_event_loop(
    settings: Settings, stand_in_triton: EmbeddedTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, bool]] = []
    decode = EncodedImage.decode

    def spy(image: EncodedImage, out: object = None) -> object:
        regions = pool_of(client).regions
        inside = isinstance(out, np.ndarray) and any(
            np.shares_memory(out, region.view((region.nbytes,))) for region in regions
        )
        seen.append((threading.current_thread().name, inside))
        return decode(image, out)  # type: ignore[arg-type]

    monkeypatch.setattr(EncodedImage, "decode", spy)
    async with TritonRecognizer(settings, stand_in_triton.endpoint) as client:
        await until_ready(client)
        await client.recognize(grey(0))
    ((thread, inside),) = seen
    assert thread.startswith("decode")
    assert inside


@pytest.mark.parametrize("obstacle", ["too large", "no room"])
async def test_what_does_not_fit_into_shared_memory_travels_in_the_request(
    settings: Settings, stand_in_triton: EmbeddedTriton, monkeypatch: pytest.MonkeyPatch, obstacle: str
) -> None:
    nbytes = 96 * 160 * 3  # the warm-up's image fits
    async with TritonRecognizer(settings.model_copy(update={"slot_bytes": nbytes}), stand_in_triton.endpoint) as client:
        await until_ready(client)
        if obstacle == "no room":

            def full(*_: object) -> None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            monkeypatch.setattr(os, "posix_fallocate", full)
            for region in pool_of(client).regions:
                region._reserved = 0
        height = 300 if obstacle == "too large" else 48
        assert await client.recognize(grey(0, height)) == STAND_IN_ANSWER


async def test_without_the_key_images_travel_in_requests_and_the_reason_is_told(
    settings: Settings,
    stand_in_triton: EmbeddedTriton,
    caplog: pytest.LogCaptureFixture,
    leftovers: Callable[[], set[str]],
) -> None:
    caplog.set_level(logging.INFO)
    stranger = dataclasses.replace(stand_in_triton.endpoint, shm_key=None)
    async with TritonRecognizer(settings, stranger) as client:
        await until_ready(client)
        assert (await client.readiness()).transport == "grpc"
        assert await client.recognize(grey(0)) == STAND_IN_ANSWER
        assert not leftovers()
    assert "GATEWAY_TRITON_SHM_KEY" in caplog.text


async def test_shared_memory_that_was_asked_for_and_is_refused_keeps_the_gateway_from_being_ready(
    settings: Settings, stand_in_triton: EmbeddedTriton, leftovers: Callable[[], set[str]]
) -> None:
    stranger = dataclasses.replace(stand_in_triton.endpoint, shm_key=None)
    async with TritonRecognizer(settings.model_copy(update={"transport": "system"}), stranger) as client:

        async def detail() -> str:
            return (await client.readiness()).detail

        await until(lambda: "GATEWAY_TRITON_SHM_KEY" in client._detail)
        assert "GATEWAY_TRITON_SHM_KEY" in await detail()
        with pytest.raises(Unavailable):
            await client.recognize(grey(0))


async def test_it_connects_when_the_server_comes(stand_in: Settings) -> None:
    http, grpc, metrics = ports.choose([0, 0, 0])
    wanted = {"triton_http_port": http, "triton_grpc_port": grpc, "triton_metrics_port": metrics}
    settings = stand_in.model_copy(update=wanted | {"transport": "grpc"})
    async with TritonRecognizer(settings, Endpoint.external(settings)) as client:
        assert not (await client.readiness()).ready
        with pytest.raises(Unavailable):
            await client.recognize(grey(0))
        async with EmbeddedTriton(settings):
            await until_ready(client)
            assert await client.recognize(grey(0)) == STAND_IN_ANSWER
        state = await client.readiness()
        assert not state.ready
        assert "not available" in state.detail
        with pytest.raises(Unavailable):
            await client.recognize(grey(0))


async def test_an_image_that_cannot_be_decoded_keeps_no_slot(
    settings: Settings, stand_in_triton: EmbeddedTriton
) -> None:
    broken = dataclasses.replace(grey(0), data=grey(0).data[:60])
    async with TritonRecognizer(settings, stand_in_triton.endpoint) as client:
        await until_ready(client)
        with pytest.raises(UnprocessableImage):
            await client.recognize(broken)
        assert pool_of(client).free == settings.slots


async def test_a_slow_answer_ends_at_the_deadline_and_its_slot_waits_for_triton(
    one_slot: Settings, stand_in_triton: EmbeddedTriton
) -> None:
    async with TritonRecognizer(one_slot, stand_in_triton.endpoint) as client:
        await until_ready(client)
        begin = time.monotonic()
        with pytest.raises(DeadlineExceeded, match=r"0\.4 s"):
            await client.recognize(slow(10))
        assert time.monotonic() - begin < 0.9
        assert pool_of(client).free == 0
        with pytest.raises(Unavailable, match="All 1 places"):
            await client.recognize(grey(0))
        await until(lambda: pool_of(client).free == 1)
        assert time.monotonic() - begin > 0.9
        assert await client.recognize(grey(0)) == STAND_IN_ANSWER


async def test_a_cancelled_request_leaves_its_slot_to_triton_until_the_answer(
    one_slot: Settings, stand_in_triton: EmbeddedTriton
) -> None:
    patient = one_slot.model_copy(update={"deadline_seconds": 10.0})
    async with TritonRecognizer(patient, stand_in_triton.endpoint) as client:
        await until_ready(client)
        begin = time.monotonic()
        request = asyncio.create_task(client.recognize(slow(10)))
        await until(is_asking)
        request.cancel()
        await asyncio.wait({request})
        assert request.cancelled()
        assert pool_of(client).free == 0
        await until(lambda: pool_of(client).free == 1)
        assert time.monotonic() - begin > 0.9


async def test_a_region_that_the_server_forgot_is_registered_again(
    settings: Settings, stand_in_triton: EmbeddedTriton
) -> None:
    endpoint = stand_in_triton.endpoint
    async with TritonRecognizer(settings, endpoint) as client:
        await until_ready(client)
        ours = {region.name for region in pool_of(client).regions}
        assert registered(endpoint) == ours
        with tritonclient.grpc.InferenceServerClient(endpoint.grpc_url) as other:
            other.unregister_system_shared_memory(headers=endpoint.grpc_headers)
        assert not registered(endpoint)
        assert await client.recognize(grey(0)) == STAND_IN_ANSWER
        assert len(registered(endpoint)) == 1


async def test_a_server_that_dies_in_the_middle_costs_this_request_and_no_other(
    settings: Settings, stand_in_triton: EmbeddedTriton
) -> None:
    async with TritonRecognizer(settings, stand_in_triton.endpoint) as client:
        await until_ready(client)
        killed = stand_in_triton.pid
        request = asyncio.create_task(client.recognize(slow(20)))
        await until(is_asking)
        os.kill(killed, signal.SIGKILL)
        with pytest.raises(Unavailable):
            await request
        assert pool_of(client).free == settings.slots
        assert not (await client.readiness()).ready
        await until(lambda: stand_in_triton.pid != killed)
        await until_ready(client)
        for _ in range(settings.slots):
            assert await client.recognize(grey(0)) == STAND_IN_ANSWER
        assert registered(stand_in_triton.endpoint) <= {region.name for region in pool_of(client).regions}


async def test_leaving_waits_for_the_requests_under_way_and_leaves_nothing(
    settings: Settings, stand_in_triton: EmbeddedTriton, leftovers: Callable[[], set[str]]
) -> None:
    async with TritonRecognizer(settings, stand_in_triton.endpoint) as client:
        await until_ready(client)
        request = asyncio.create_task(client.recognize(slow(5)))
        await until(is_asking)
    assert await request == STAND_IN_ANSWER
    assert not leftovers()
    assert not registered(stand_in_triton.endpoint)


async def test_leaving_while_connecting_leaves_nothing(
    settings: Settings, stand_in_triton: EmbeddedTriton, leftovers: Callable[[], set[str]]
) -> None:
    async with TritonRecognizer(settings, stand_in_triton.endpoint):
        await until(lambda: bool(leftovers()))
    assert not leftovers()
    assert not registered(stand_in_triton.endpoint)


async def test_regions_of_the_dead_are_given_up_and_those_of_the_living_are_not(
    settings: Settings, stand_in_triton: EmbeddedTriton
) -> None:
    endpoint = stand_in_triton.endpoint
    dead, living, foreign = (f"plate-gateway-1-{secrets.token_hex(4)}-{number}" for number in range(3))
    foreign = f"other-{foreign}"
    descriptors = {name: shm.create(name) for name in (dead, living, foreign)}
    try:
        with tritonclient.grpc.InferenceServerClient(endpoint.grpc_url) as other:
            for name, descriptor in descriptors.items():
                os.ftruncate(descriptor, 4096)
                other.register_system_shared_memory(name, f"/{name}", 4096, headers=endpoint.grpc_headers)
            os.close(descriptors[dead])
            async with TritonRecognizer(settings, endpoint) as client:
                await until_ready(client)
                assert registered(endpoint) & {dead, living, foreign} == {living, foreign}
                assert not (shm.ROOT / dead).exists()
            assert registered(endpoint) == {living, foreign}
            for name in (living, foreign):
                other.unregister_system_shared_memory(name, headers=endpoint.grpc_headers)
    finally:
        for name in (living, foreign):
            os.close(descriptors[name])
            (shm.ROOT / name).unlink()
