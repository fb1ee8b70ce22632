"""Requests that nobody waits for end between two networks, in the real `plate_recognition`."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from textwrap import dedent

import pytest
from tritonclient.grpc.aio import InferenceServerClient

from gateway.errors import DeadlineExceeded
from gateway.settings import Settings
from gateway.triton.client import TritonRecognizer
from gateway.triton.embedded import REPOSITORY, EmbeddedTriton
from plates import contract
from tests.triton.support import FREE_PORTS, STAND_IN, grey, python_config, require_platform, until, until_ready

SLOW = 10
"""The stand-in for the detector's network takes a second for an image of this colour."""

DETECTOR = dedent(
    """
    import pathlib
    import time

    import numpy as np
    import triton_python_backend_utils as pb_utils


    class TritonPythonModel:
        '''Finds one plate in the middle, after as many tenths of a second as the image's middle value says.'''

        def initialize(self, args):
            self.begun = pathlib.Path(args["model_repository"], "begun")

        def execute(self, requests):
            responses = []
            for request in requests:
                image = pb_utils.get_input_tensor_by_name(request, "input__0").as_numpy()
                _, height, width, _ = image.shape
                tenths = int(image[0, height // 2, width // 2, 0])
                with self.begun.open("a") as file:
                    file.write("*")
                time.sleep(tenths / 10)
                row = np.array([[[width / 2, height / 2, 60, 20, 1, 1]]], np.float32)
                responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("output__0", row)]))
            return responses
    """
)


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedTriton]:
    """The real `plate_recognition` before stand-ins for the networks."""
    require_platform()
    repository = tmp_path_factory.mktemp("repository")
    quick = STAND_IN.replace("time.sleep(float(values.ravel()[0]) / 10)", "")
    for model in contract.MODELS:
        folder = repository / model.name
        if model is contract.PLATE_RECOGNITION:
            shutil.copytree(REPOSITORY / model.name, folder)
            continue
        (folder / "1").mkdir(parents=True)
        source = DETECTOR if model is contract.YOLO_NET else quick
        (folder / "1" / "model.py").write_text(source)
        (folder / "config.pbtxt").write_text(python_config(model))
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


async def ask(client: TritonRecognizer, tenths: int, seconds: float) -> None:
    deadline = asyncio.get_running_loop().time() + seconds
    await client.recognize(grey(tenths, 96, 160), deadline=deadline)


@pytest.fixture(params=["system", "grpc"])
async def client(request: pytest.FixtureRequest, server: EmbeddedTriton) -> AsyncIterator[TritonRecognizer]:
    settings = Settings(transport=request.param, slots=2, **FREE_PORTS)
    async with TritonRecognizer(settings, server.endpoint) as client:
        await until_ready(client)
        yield client


async def until_idle(server: EmbeddedTriton, client: TritonRecognizer) -> None:
    """Wait until nothing is under way: the slots are back, and a later request has gone through both instances."""
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
