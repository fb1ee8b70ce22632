"""TritonRecognizer and a real server: transports, deadlines, faults, the end."""

import asyncio
import dataclasses
import errno
import logging
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import psutil
import pytest
import tritonclient.grpc

from gateway import images
from gateway.errors import DeadlineExceeded, TooManyRequests, Unavailable, UnprocessableImage
from gateway.images import EncodedImage
from gateway.recognizer import Box, Candidate, Plate, Readiness
from gateway.settings import Settings
from gateway.triton import memory, ports, shm
from gateway.triton.client import TritonRecognizer
from gateway.triton.embedded import EmbeddedTriton
from gateway.triton.endpoint import Endpoint
from gateway.triton.errors import Refused
from gateway.triton.rpc import LONGEST_PAUSE_SECONDS, Rpc
from gateway.triton.slots import SlotPool
from gateway.triton.system import SystemMemory
from gateway.triton.transports import TransportError
from plates import contract
from plates.geometry import Image
from tests.triton.support import PATIENCE_SECONDS, encoded, grey, until, until_ready

STAND_IN_ANSWER = [
    Plate(Box(0, 0, 0, 0), "X", 0, 0, (0.0,), (Candidate("X", 0),) * contract.CANDIDATES, "unknown", "", 1)
]


async def ask(client: TritonRecognizer, image: EncodedImage, seconds: float = 10, name: str = "") -> list[Plate]:
    deadline = asyncio.get_running_loop().time() + seconds
    return (await client.recognize(image, deadline=deadline, client=name)).plates


def registered(endpoint: Endpoint) -> set[str]:
    """Names of the regions that the server knows."""
    with tritonclient.grpc.InferenceServerClient(endpoint.grpc_url) as client:
        return set(client.get_system_shared_memory_status(headers=endpoint.grpc_headers).regions)


def answered(endpoint: Endpoint) -> int:
    """How many requests the server has ended, with an answer or an error."""
    with tritonclient.grpc.InferenceServerClient(endpoint.grpc_url) as client:
        (statistics,) = client.get_inference_statistics(contract.PLATE_RECOGNITION.name).model_stats
    ended = statistics.inference_stats
    return int(ended.success.count + ended.fail.count)


def keys(regions: set[str]) -> set[str]:
    """Keys of the memory that has these registrations."""
    return {region.rpartition(".")[0] for region in regions}


def pool_of(client: TritonRecognizer) -> SlotPool:
    assert client._choice is not None
    return client._pool


def open_memory(client: TritonRecognizer) -> list[str]:
    """Files of a client's shared memory that this process has open, once for each descriptor.

    Those of an earlier client may still be open: the array of a failed request is there until it is collected.
    """
    ours = [place.key for place in pool_of(client).memories]
    descriptors = list(Path("/proc/self/fd").iterdir())
    return sorted(
        target
        for path in descriptors
        if path.is_symlink() and any(key in (target := str(path.readlink())) for key in ours)
    )


def slow(tenths: int) -> EncodedImage:
    """An image that the stand-in answers after that many tenths of a second."""
    return grey(tenths)


def is_asking(client: TritonRecognizer) -> bool:
    """Whether a request is on its way to Triton."""
    return any(place._lent for place in pool_of(client).memories)


@pytest.fixture
def one_slot(settings: Settings) -> Settings:
    return settings.model_copy(update={"slots": 1, "deadline_seconds": 0.4})


async def test_the_answer_becomes_plates(settings: Settings, stand_in_triton: EmbeddedTriton) -> None:
    async with TritonRecognizer(settings, stand_in_triton.endpoint) as client:
        await until_ready(client)
        assert await ask(client, grey(0)) == STAND_IN_ANSWER


async def test_both_transports_give_the_same_plates(
    settings: Settings, triton: EmbeddedTriton, scene: EncodedImage
) -> None:
    answers = []
    for transport in ("system", "grpc"):
        async with TritonRecognizer(settings.model_copy(update={"transport": transport}), triton.endpoint) as client:
            await until_ready(client)
            assert (await client.readiness()).transport == transport
            answers.append(await ask(client, scene))
    assert answers[0] == answers[1]


async def test_an_answer_does_not_depend_on_the_company(recognizer: TritonRecognizer, scene: EncodedImage) -> None:
    rng = np.random.default_rng(0)
    others = [encoded(rng.integers(0, 256, (480, 640, 3), dtype=np.uint8)) for _ in range(4)]
    alone = await ask(recognizer, scene)
    answers = await asyncio.gather(*(ask(recognizer, image) for image in [scene, *others] * 4))
    for answer in answers[::5]:
        assert [plate.text for plate in answer] == [plate.text for plate in alone]
        for plate, expected in zip(answer, alone, strict=True):
            assert dataclasses.astuple(plate.box) == pytest.approx(dataclasses.astuple(expected.box), abs=0.01)


async def test_a_drawn_plate_is_read(recognizer: TritonRecognizer, scene: EncodedImage) -> None:
    (plate,) = await ask(recognizer, scene)
    assert plate.text == "B840OK197"


async def test_the_timing_says_which_way_the_image_went_and_how_long_each_stage_took(
    recognizer: TritonRecognizer, scene: EncodedImage
) -> None:
    deadline = asyncio.get_running_loop().time() + 10
    recognition = await recognizer.recognize(scene, deadline=deadline)
    detections = await recognizer.detect(scene, deadline=deadline)
    assert recognition.timing.transport == detections.timing.transport == "system"
    assert set(detections.timing.milliseconds) == {"queue", "decode", "triton"}
    assert set(recognition.timing.milliseconds) == {"queue", "decode", "triton", *contract.STAGES}
    assert detections.detections[0].box == recognition.plates[0].box


def as_jpeg(image: EncodedImage) -> EncodedImage:
    return images.inspect(cv2.imencode(".jpg", image.decode())[1].tobytes(), 10**8)


async def test_a_jpeg_is_decoded_into_the_slot_off_the_event_loop_and_never_copied(
    settings: Settings, stand_in_triton: EmbeddedTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, bool]] = []
    jpeg, png = as_jpeg(grey(0)), grey(0)
    decode = EncodedImage.decode_into

    def spy(image: EncodedImage, out: Image) -> int:
        shared = any(
            isinstance(place, SystemMemory) and np.shares_memory(out, place.view((place.nbytes,)))
            for place in pool_of(client).memories
        )
        seen.append((threading.current_thread().name, shared))
        return decode(image, out)

    monkeypatch.setattr(EncodedImage, "decode_into", spy)
    async with TritonRecognizer(settings, stand_in_triton.endpoint) as client:
        await until_ready(client)
        await ask(client, jpeg)
        assert not +client.copied
        await ask(client, png)
        assert client.copied == {"system": 48 * 64 * 3}
    assert [shared for _, shared in seen] == [True, True]
    assert all(thread.startswith("decode") for thread, _ in seen)


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
            await pool_of(client).trim(0)
        height = 300 if obstacle == "too large" else 48
        assert await ask(client, grey(0, height)) == STAND_IN_ANSWER
        assert client.copied["grpc"] > 0


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
        state = await client.readiness()
        assert state.transport == "grpc"
        assert "GATEWAY_TRITON_SHM_KEY" in state.refused["system"]
        assert await ask(client, grey(0)) == STAND_IN_ANSWER
        assert not leftovers()
    assert "GATEWAY_TRITON_SHM_KEY" in caplog.text


async def test_a_forced_transport_that_cannot_work_is_a_failure_with_its_reason(
    settings: Settings, stand_in_triton: EmbeddedTriton, leftovers: Callable[[], set[str]]
) -> None:
    stranger = dataclasses.replace(stand_in_triton.endpoint, shm_key=None)
    async with TritonRecognizer(settings.model_copy(update={"transport": "system"}), stranger) as client:
        with pytest.raises(TransportError, match=r"GATEWAY_TRANSPORT=system .* GATEWAY_TRITON_SHM_KEY") as caught:
            await client.until_failure()
        state = await client.readiness()
        assert (state.ready, state.detail) == (False, str(caught.value))
        with pytest.raises(Unavailable):
            await ask(client, grey(0))


async def test_a_server_that_takes_no_memory_any_more_gets_images_in_requests(
    settings: Settings, stand_in_triton: EmbeddedTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with TritonRecognizer(settings, stand_in_triton.endpoint) as client:
        await until_ready(client)

        async def refuse(*_: object) -> None:
            raise Refused("not any more")

        monkeypatch.setattr(client._rpc, "register_system", refuse)
        for place in pool_of(client).memories:
            place.lost()
        deadline = asyncio.get_running_loop().time() + 10
        recognition = await client.recognize(grey(0), deadline=deadline)
        assert recognition.plates == STAND_IN_ANSWER
        assert recognition.timing.transport == "grpc"
        assert client.copied["grpc"] > 0
        assert (await until_transport(client, "grpc")).refused["system"] == "not any more"
        assert await ask(client, grey(0)) == STAND_IN_ANSWER


async def restart(triton: EmbeddedTriton, shm_key: str | None) -> None:
    """Kill the server; the next one asks for this key of its shared memory."""
    killed, triton._key = triton.pid, str(shm_key)
    os.kill(killed, signal.SIGKILL)
    await until(lambda: triton.pid != killed)


async def until_transport(client: TritonRecognizer, transport: str) -> Readiness:
    """Wait until the client is ready with that transport."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (state := await client.readiness()).ready or state.transport != transport:  # noqa: ASYNC110 - asked for
            await asyncio.sleep(0.02)
    return state


async def test_a_server_that_comes_back_able_or_unable_to_share_memory_changes_the_transport(
    stand_in: Settings, leftovers: Callable[[], set[str]]
) -> None:
    async with EmbeddedTriton(stand_in) as triton:
        without = leftovers()
        theirs, ours = triton.endpoint.shm_key, "ours"
        async with TritonRecognizer(stand_in, dataclasses.replace(triton.endpoint, shm_key=ours)) as client:
            assert "system" in (await until_transport(client, "grpc")).refused
            assert not leftovers() - without
            request = asyncio.create_task(ask(client, slow(90)))
            await restart(triton, ours)
            assert "system" not in (await until_transport(client, "system")).refused
            with pytest.raises(Unavailable):
                await request
            assert await ask(client, grey(0)) == STAND_IN_ANSWER
            assert len(keys(registered(dataclasses.replace(triton.endpoint, shm_key=ours)))) == 1
            await restart(triton, theirs)
            assert "GATEWAY_TRITON_SHM_KEY" in (await until_transport(client, "grpc")).refused["system"]
            assert await ask(client, grey(0)) == STAND_IN_ANSWER
            # What images were in is given back.
            await until(lambda: not [name for name in leftovers() if name.startswith("plate-gateway")])


async def test_a_dev_shm_that_is_full_when_the_server_comes_back_changes_no_transport(
    settings: Settings, stand_in_triton: EmbeddedTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with TritonRecognizer(settings, stand_in_triton.endpoint) as client:
        await until_ready(client)
        pool = pool_of(client)
        await pool.trim(0)
        with monkeypatch.context() as patch:
            patch.setattr(os, "posix_fallocate", full)
            await client._choose()
            assert (await until_transport(client, "system")).refused.keys() == {"cuda"}
        assert pool_of(client) is pool
        before = client.copied["grpc"]
        assert await ask(client, as_jpeg(grey(0))) == STAND_IN_ANSWER
        assert client.copied["grpc"] == before


async def test_a_forced_transport_that_works_no_more_is_waited_for_and_told(stand_in: Settings) -> None:
    forced = stand_in.model_copy(update={"transport": "system"})
    async with EmbeddedTriton(forced) as triton:
        key = triton.endpoint.shm_key
        async with TritonRecognizer(forced, triton.endpoint) as client:
            await until_ready(client)
            await restart(triton, "another")
            async with asyncio.timeout(PATIENCE_SECONDS):
                while "GATEWAY_TRITON_SHM_KEY" not in (await client.readiness()).detail:  # noqa: ASYNC110 - asked for
                    await asyncio.sleep(0.02)
            with pytest.raises(Unavailable, match="GATEWAY_TRANSPORT=system can't be had"):
                await ask(client, grey(0))
            await restart(triton, key)
            await until_ready(client)
            assert await ask(client, grey(0)) == STAND_IN_ANSWER


async def test_it_connects_when_the_server_comes(stand_in: Settings) -> None:
    http, grpc, metrics = ports.choose([0, 0, 0])
    wanted = {"triton_http_port": http, "triton_grpc_port": grpc, "triton_metrics_port": metrics}
    settings = stand_in.model_copy(update=wanted | {"transport": "grpc"})
    async with TritonRecognizer(settings, Endpoint.external(settings)) as client:
        assert not (await client.readiness()).ready
        with pytest.raises(Unavailable):
            await ask(client, grey(0))
        async with EmbeddedTriton(settings):
            await until_ready(client)
            assert await ask(client, grey(0)) == STAND_IN_ANSWER
        state = await client.readiness()
        assert not state.ready
        assert "not available" in state.detail
        with pytest.raises(Unavailable):
            await ask(client, grey(0))


async def test_the_pauses_between_tries_to_connect_stay_short_and_each_try_begins_anew(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries, sleep = 20, asyncio.sleep
    pauses: list[float] = []
    connections: list[Rpc] = []
    reconnect = Rpc.reconnect

    async def record_pause(seconds: float) -> None:
        if (task := asyncio.current_task()) and task.get_name() == "triton-connection":
            pauses.append(seconds)
            seconds = 0
        await sleep(seconds)

    async def record_connection(rpc: Rpc) -> None:
        connections.append(rpc)
        await reconnect(rpc)

    monkeypatch.setattr(asyncio, "sleep", record_pause)
    monkeypatch.setattr(Rpc, "reconnect", record_connection)
    (nobody,) = ports.choose([0])
    async with TritonRecognizer(settings, Endpoint("127.0.0.1", 1, nobody, 3)):
        await until(lambda: len(pauses) >= tries)
    assert max(pauses) == LONGEST_PAUSE_SECONDS
    assert len(connections) >= len(pauses)


async def test_an_image_that_cannot_be_decoded_keeps_no_slot(
    settings: Settings, stand_in_triton: EmbeddedTriton
) -> None:
    broken = dataclasses.replace(grey(0), data=grey(0).data[:60])
    async with TritonRecognizer(settings, stand_in_triton.endpoint) as client:
        await until_ready(client)
        with pytest.raises(UnprocessableImage):
            await ask(client, broken)
        assert pool_of(client).free == settings.slots


async def test_a_slow_answer_ends_at_the_deadline_and_its_slot_waits_for_triton(
    one_slot: Settings, stand_in_triton: EmbeddedTriton
) -> None:
    async with TritonRecognizer(one_slot, stand_in_triton.endpoint) as client:
        await until_ready(client)
        before = answered(stand_in_triton.endpoint)
        with pytest.raises(DeadlineExceeded, match=r"0\.4 s"):
            await ask(client, slow(10), 0.4)
        assert answered(stand_in_triton.endpoint) == before  # Triton still works on it
        assert pool_of(client).free == 0
        with pytest.raises(TooManyRequests):
            await ask(client, grey(0), 0.1)
        await until(lambda: pool_of(client).free == 1)
        assert answered(stand_in_triton.endpoint) == before + 1
        assert await ask(client, grey(0)) == STAND_IN_ANSWER


async def test_a_cancelled_request_leaves_its_slot_to_triton_until_the_answer(
    one_slot: Settings, stand_in_triton: EmbeddedTriton
) -> None:
    async with TritonRecognizer(one_slot, stand_in_triton.endpoint) as client:
        await until_ready(client)
        before = answered(stand_in_triton.endpoint)
        request = asyncio.create_task(ask(client, slow(10)))
        await until(lambda: is_asking(client))
        request.cancel()
        await asyncio.wait({request})
        assert request.cancelled()
        assert (pool_of(client).free, pool_of(client).quarantined) == (0, 1)
        await until(lambda: pool_of(client).free == 1)
        assert answered(stand_in_triton.endpoint) == before + 1
        assert await ask(client, grey(0)) == STAND_IN_ANSWER


async def test_after_a_storm_of_cancelled_requests_the_pool_is_whole(
    settings: Settings, stand_in_triton: EmbeddedTriton
) -> None:
    rng = np.random.default_rng(0)
    async with TritonRecognizer(settings, stand_in_triton.endpoint) as client:
        await until_ready(client)
        await asyncio.gather(*(ask(client, grey(0), name=str(number)) for number in range(settings.slots)))
        descriptors = open_memory(client)
        assert descriptors

        async def storm(number: int) -> None:
            for _ in range(20):
                request = asyncio.create_task(ask(client, grey(0), name=str(number)))
                await asyncio.sleep(rng.uniform(0, 0.03))
                request.cancel()
                await asyncio.wait({request})

        await asyncio.gather(*(storm(number) for number in range(10)))
        await until(lambda: pool_of(client).free == settings.slots)
        assert (pool_of(client).waiting, pool_of(client).quarantined) == (0, 0)
        assert all(place.quiet for place in pool_of(client).memories)
        for _ in range(settings.slots):
            assert await ask(client, grey(0)) == STAND_IN_ANSWER
        ours = [place.key for place in pool_of(client).memories]
        assert keys(registered(stand_in_triton.endpoint)) <= set(ours)
        assert len(registered(stand_in_triton.endpoint)) <= len(ours)
        assert open_memory(client) == descriptors


async def test_a_region_that_the_server_forgot_is_registered_again(
    settings: Settings, stand_in_triton: EmbeddedTriton
) -> None:
    endpoint = stand_in_triton.endpoint
    async with TritonRecognizer(settings, endpoint) as client:
        await until_ready(client)
        before = registered(endpoint)
        assert len(before) == 1
        with tritonclient.grpc.InferenceServerClient(endpoint.grpc_url) as other:
            other.unregister_system_shared_memory(headers=endpoint.grpc_headers)
        assert not registered(endpoint)
        assert await ask(client, grey(0)) == STAND_IN_ANSWER
        after = registered(endpoint)
        assert keys(after) == keys(before)
        assert after != before


async def test_a_server_that_dies_in_the_middle_costs_this_request_and_no_other(
    settings: Settings, stand_in_triton: EmbeddedTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with TritonRecognizer(settings, stand_in_triton.endpoint) as client:
        await until_ready(client)
        killed = stand_in_triton.pid
        request = asyncio.create_task(ask(client, slow(20)))
        await until(lambda: is_asking(client))
        os.kill(killed, signal.SIGKILL)
        with pytest.raises(Unavailable):
            await request
        assert not (await client.readiness()).ready
        with monkeypatch.context() as patch:
            patch.setattr(EncodedImage, "decode_into", None)
            with pytest.raises(Unavailable, match="not available"):
                await ask(client, grey(0))  # it isn't even tried
        await until(lambda: stand_in_triton.pid != killed)
        await until_ready(client)
        await until(lambda: pool_of(client).free == settings.slots)
        for _ in range(settings.slots):
            assert await ask(client, grey(0)) == STAND_IN_ANSWER
        ours = {place.key for place in pool_of(client).memories}
        assert keys(registered(stand_in_triton.endpoint)) <= ours


async def test_a_server_that_hangs_costs_deadlines_and_no_slot(
    settings: Settings, stand_in_triton: EmbeddedTriton
) -> None:
    async with TritonRecognizer(settings.model_copy(update={"slots": 2}), stand_in_triton.endpoint) as client:
        await until_ready(client)
        await asyncio.gather(*(ask(client, grey(1), name=name) for name in ("a", "b")))  # both slots are known now
        os.kill(stand_in_triton.pid, signal.SIGSTOP)
        try:
            answers = await asyncio.gather(
                *(ask(client, grey(0), 0.5, name) for name in ("a", "b")), return_exceptions=True
            )
            # The server hasn't gone on meanwhile.
            assert psutil.Process(stand_in_triton.pid).status() == psutil.STATUS_STOPPED
            assert [type(answer) for answer in answers] == [DeadlineExceeded, DeadlineExceeded]
            assert (pool_of(client).free, pool_of(client).quarantined) == (0, 2)
        finally:
            os.kill(stand_in_triton.pid, signal.SIGCONT)
        await until(lambda: pool_of(client).free == 2)
        await until_ready(client)
        assert await ask(client, grey(0)) == STAND_IN_ANSWER


async def test_leaving_waits_for_the_requests_under_way_and_leaves_nothing(
    settings: Settings, stand_in_triton: EmbeddedTriton, leftovers: Callable[[], set[str]]
) -> None:
    async with TritonRecognizer(settings, stand_in_triton.endpoint) as client:
        await until_ready(client)
        request = asyncio.create_task(ask(client, slow(5)))
        await until(lambda: is_asking(client))
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


async def test_gateways_share_a_server_and_leave_each_other_alone(
    settings: Settings, stand_in_triton: EmbeddedTriton
) -> None:
    endpoint = stand_in_triton.endpoint
    async with TritonRecognizer(settings, endpoint) as first:
        await until_ready(first)
        ours = registered(endpoint)
        async with TritonRecognizer(settings, endpoint) as second:
            await until_ready(second)
            await memory.unregister_dead(second._rpc, "system")
            assert ours < registered(endpoint)
            assert await ask(second, grey(0)) == STAND_IN_ANSWER
        assert registered(endpoint) == ours
        assert await ask(first, grey(0)) == STAND_IN_ANSWER


async def test_regions_of_the_dead_are_given_up_and_those_of_the_living_are_not(
    settings: Settings, stand_in_triton: EmbeddedTriton
) -> None:
    endpoint = stand_in_triton.endpoint
    dead, living, elsewhere = memory.new_keys(3)
    elsewhere = elsewhere.replace(f"-{memory.dev_shm():x}-", f"-{memory.dev_shm() + 1:x}-")
    foreign = f"other-{living}"
    descriptors = {name: shm.create(name) for name in (dead, living, elsewhere, foreign)}
    try:
        with tritonclient.grpc.InferenceServerClient(endpoint.grpc_url) as other:
            for name, descriptor in descriptors.items():
                os.ftruncate(descriptor, 4096)
                other.register_system_shared_memory(f"{name}.1", f"/{name}", 4096, headers=endpoint.grpc_headers)
            for name in (dead, elsewhere):
                os.close(descriptors.pop(name))
            async with TritonRecognizer(settings, endpoint) as client:
                await until_ready(client)
                await until(lambda: f"{dead}.1" not in registered(endpoint))
                assert not (shm.ROOT / dead).exists()
            assert registered(endpoint) == {f"{name}.1" for name in (living, elsewhere, foreign)}
            for name in (living, elsewhere, foreign):
                other.unregister_system_shared_memory(f"{name}.1", headers=endpoint.grpc_headers)
    finally:
        for name, descriptor in descriptors.items():
            os.close(descriptor)
            (shm.ROOT / name).unlink()


async def test_idle_memory_goes_back_to_the_system(settings: Settings, stand_in_triton: EmbeddedTriton) -> None:
    async with TritonRecognizer(settings, stand_in_triton.endpoint) as client:
        await until_ready(client)
        await ask(client, grey(0, 1000, 1000))
        places = pool_of(client).memories
        assert sum((shm.ROOT / place.key).stat().st_blocks for place in places) > 0
        await pool_of(client).trim(0)
        assert sum((shm.ROOT / place.key).stat().st_blocks for place in places) == 0
        assert await ask(client, grey(0)) == STAND_IN_ANSWER
