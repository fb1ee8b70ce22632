"""The connection to Triton: short pauses, and a new beginning that ends nothing."""

import asyncio
import itertools
import socket

import numpy as np
import pytest
from tritonclient.grpc import InferInput

from gateway.triton.embedded import EmbeddedTriton
from gateway.triton.endpoint import Endpoint
from gateway.triton.errors import ConnectionLost
from gateway.triton.rpc import CHANNEL, LONGEST_PAUSE_SECONDS, Rpc, pauses
from plates import contract
from tests.triton.support import until


def test_pauses_grow_to_a_quarter_of_a_second_and_no_further() -> None:
    found = list(itertools.islice(pauses(0.05), 20))
    assert found[:3] == [0.05, 0.1, 0.2]
    assert found[3:] == [LONGEST_PAUSE_SECONDS] * 17
    assert LONGEST_PAUSE_SECONDS == 0.25


def test_a_channels_own_pauses_are_no_longer() -> None:
    options = dict(CHANNEL)
    assert options["grpc.initial_reconnect_backoff_ms"] <= options["grpc.max_reconnect_backoff_ms"] == 250


async def test_a_new_connection_takes_over_no_pause_of_the_former() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    nobody = Rpc(Endpoint("127.0.0.1", 1, port, 3))
    try:
        first = nobody._connection
        with pytest.raises(ConnectionLost):
            await nobody.check_models()
        await nobody.reconnect()
        assert nobody._connection is not first
        assert not nobody._former
    finally:
        await nobody.close()


async def test_calls_under_way_survive_a_new_connection_and_the_former_ends_with_the_last(
    stand_in_triton: EmbeddedTriton,
) -> None:
    image = InferInput(contract.IMAGE.name, [8, 8, 3], "UINT8")
    image.set_data_from_numpy(np.full((8, 8, 3), 10, np.uint8))  # answered after a second
    rpc = Rpc(stand_in_triton.endpoint)
    try:
        former = rpc._connection
        calls = [asyncio.create_task(rpc.infer(contract.PLATE_RECOGNITION, image, 30)) for _ in range(2)]
        await until(lambda: former.calls == 2)
        await rpc.reconnect()
        await rpc.check_models()
        assert rpc._former == {former}
        for call in calls:
            assert (await call).as_numpy(contract.TEXTS.name).tolist() == [[b"X"]]
        assert (former.calls, rpc._former) == (0, set())
    finally:
        await rpc.close()
