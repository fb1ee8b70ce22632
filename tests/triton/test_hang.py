"""A Triton that hangs until it is started again, seen by its client: each picture has a text of its own."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from typing import Final

import numpy as np
import psutil
import pytest
from tritonclient.grpc import InferInput, InferResult

from gateway.errors import DeadlineExceeded, Unavailable
from gateway.images import EncodedImage
from gateway.settings import Settings
from gateway.triton.client import TritonRecognizer
from gateway.triton.embedded import EmbeddedTriton
from plates import contract
from tests.triton.support import (
    FREE_PORTS,
    PATIENCE_SECONDS,
    STAND_IN,
    encoded,
    lives,
    require_platform,
    until,
    until_ready,
    write_stand_ins,
)

SLOTS: Final = 4

ECHO: Final = STAND_IN.replace('b"X"', "str(int(values.ravel()[-1])).encode()")
"""Answers with the last value of the picture; the first one is how long that takes, as ever."""


@pytest.fixture(scope="module")
async def triton(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedTriton]:
    """A server whose models answer with what is in the picture, and which is found to hang after a few seconds."""
    require_platform()
    repository = tmp_path_factory.mktemp("repository")
    write_stand_ins(repository, ECHO)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gateway.triton.process._HEALTH_POLL_SECONDS", 0.1)
        patch.setattr("gateway.triton.process._HEALTH_TIMEOUT_SECONDS", 0.5)
        async with EmbeddedTriton(Settings(model_repository=repository, **FREE_PORTS)) as server:
            yield server


def picture(number: int, tenths: int = 0) -> EncodedImage:
    """A picture that is answered with this number, after that many tenths of a second."""
    pixels = np.full((48, 64, 3), number, np.uint8)
    pixels[0, 0] = tenths
    return encoded(pixels)


@pytest.mark.parametrize("transport", ["system", "grpc"])
async def test_requests_end_in_time_and_slots_come_back_with_the_next_server_and_every_answer_is_its_pictures(
    triton: EmbeddedTriton, transport: str
) -> None:
    settings = Settings(transport=transport, slots=SLOTS, **FREE_PORTS)
    answers: list[tuple[int, str]] = []

    async def ask(number: int, seconds: float, tenths: int = 0) -> None:
        deadline = asyncio.get_running_loop().time() + seconds
        recognition = await client.recognize(picture(number, tenths), deadline=deadline, client=str(number))
        answers.append((number, recognition.plates[0].text))

    async with TritonRecognizer(settings, triton.endpoint) as client:
        await until_ready(client)
        await asyncio.gather(*(ask(number, 10) for number in range(SLOTS)))  # every slot is known to Triton
        hung = psutil.Process(triton.pid)
        # Under way when it stops: two that can't wait for the next server, and two that can.
        requests = [asyncio.create_task(ask(100 + number, 0.5 if number < 2 else 20, 10)) for number in range(SLOTS)]
        await until(lambda: client.pool.free == 0)
        hung.suspend()
        ends = await asyncio.gather(*requests[:2], return_exceptions=True)
        assert [type(end) for end in ends] == [DeadlineExceeded] * 2
        assert lives(hung)
        if transport == "system":
            assert client.pool.quarantined == 2
        async with asyncio.timeout(PATIENCE_SECONDS):
            ends = await asyncio.gather(*requests[2:], return_exceptions=True)
        assert all(isinstance(end, Unavailable | None) for end in ends), ends
        await until(lambda: triton.pid != hung.pid and not lives(hung))
        await until_ready(client)
        await until(lambda: client.pool.free == SLOTS)
        assert client.pool.quarantined == 0
        for first in range(0, 40, SLOTS):
            await asyncio.gather(*(ask(first + number, 10) for number in range(SLOTS)))
        assert len(answers) >= 44
        assert [text for _, text in answers] == [str(number) for number, _ in answers]


async def test_a_request_that_outlives_the_hung_server_is_sent_to_the_next_one_at_most_once(
    triton: EmbeddedTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(transport="system", slots=1, **FREE_PORTS)
    async with TritonRecognizer(settings, triton.endpoint) as client:
        await until_ready(client)
        sent = 0
        infer = client._rpc.infer

        async def count(model: contract.Model, tensor: InferInput, seconds: float) -> InferResult:
            nonlocal sent
            sent += tensor.shape() == [48, 64, 3]  # not the picture that tells whether Triton is back
            return await infer(model, tensor, seconds)

        monkeypatch.setattr(client._rpc, "infer", count)
        deadline = asyncio.get_running_loop().time() + 20
        request = asyncio.create_task(client.recognize(picture(7, 10), deadline=deadline))
        await until(lambda: sent == 1)
        os.kill(triton.pid, signal.SIGSTOP)
        with pytest.raises(Unavailable):
            await request
        await until_ready(client)
        assert sent == 2
