"""The whole way on a GPU: CUDA shared memory, images that stay on the device, the same answers as the CPU's."""

import asyncio
from pathlib import Path

import pytest

from gateway import images
from gateway.recognizer import Recognition
from gateway.settings import Settings
from gateway.triton.client import TritonRecognizer
from gateway.triton.embedded import EmbeddedTriton
from tests.triton.support import FREE_PORTS

pytestmark = pytest.mark.gpu

EXAMPLE = Path(__file__).parents[2] / "docs" / "example.jpg"
PIXELS = 0.5
SCORE = 0.02
"""By how much the answers of both devices may differ: they round in different places."""


def photo() -> images.EncodedImage:
    return images.inspect(EXAMPLE.read_bytes(), max_pixels=10**8)


async def ready(recognizer: TritonRecognizer) -> TritonRecognizer:
    async with asyncio.timeout(120):
        while not (await recognizer.readiness()).ready:  # noqa: ASYNC110 - readiness has to be asked for
            await asyncio.sleep(0.1)
    return recognizer


async def ask(recognizer: TritonRecognizer) -> Recognition:
    deadline = asyncio.get_running_loop().time() + 60
    return await (await ready(recognizer)).recognize(photo(), deadline=deadline)


def boxes(recognition: Recognition) -> list[list[float]]:
    return [[box.x_min, box.y_min, box.x_max, box.y_max] for box in (plate.box for plate in recognition.plates)]


async def test_images_travel_in_the_gpus_memory(recognizer: TritonRecognizer) -> None:
    recognition = await ask(recognizer)
    assert recognition.timing.transport == "cuda"
    assert [plate.text for plate in recognition.plates] == ["B840OK197"]


async def test_the_cpu_gives_the_same_answer(recognizer: TritonRecognizer, triton: EmbeddedTriton) -> None:
    on_gpu = await ask(recognizer)
    async with TritonRecognizer(Settings(transport="system", **FREE_PORTS), triton.endpoint) as other:
        on_cpu = await ask(other)
    assert [plate.text for plate in on_gpu.plates] == [plate.text for plate in on_cpu.plates]
    for one, two in zip(boxes(on_gpu), boxes(on_cpu), strict=True):
        assert one == pytest.approx(two, abs=PIXELS)
    for plate, same in zip(on_gpu.plates, on_cpu.plates, strict=True):
        assert plate.score == pytest.approx(same.score, abs=SCORE)


@pytest.mark.parametrize("transport", ["system", "grpc"])
async def test_images_from_host_memory_are_answered_too(gpu_triton: EmbeddedTriton, transport: str) -> None:
    settings = Settings(transport=transport, deadline_seconds=60, **FREE_PORTS)
    async with TritonRecognizer(settings, gpu_triton.endpoint) as recognizer:
        recognition = await ask(recognizer)
    assert recognition.timing.transport == transport
    assert [plate.text for plate in recognition.plates] == ["B840OK197"]


async def test_many_at_once_get_their_own_answers(recognizer: TritonRecognizer) -> None:
    expected = await ask(recognizer)
    answers = await asyncio.gather(*(ask(recognizer) for _ in range(64)))
    assert all(answer.plates == expected.plates for answer in answers)


async def test_detection_alone_works_there_too(recognizer: TritonRecognizer) -> None:
    deadline = asyncio.get_running_loop().time() + 60
    (found,) = (await (await ready(recognizer)).detect(photo(), deadline=deadline)).detections
    assert found.score > 0.5


async def test_automatic_choice_takes_the_gpus_memory(gpu_triton: EmbeddedTriton) -> None:
    async with TritonRecognizer(Settings(transport="auto", **FREE_PORTS), gpu_triton.endpoint) as recognizer:
        readiness = await (await ready(recognizer)).readiness()
    assert readiness.transport == "cuda"
    assert not readiness.refused
