"""A server that is there and lacks a model: taken out, or still loading."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
import tritonclient.grpc.aio

from gateway.errors import Unavailable
from gateway.images import EncodedImage
from gateway.recognizer import Readiness
from gateway.settings import Settings
from gateway.triton.client import TritonRecognizer
from gateway.triton.embedded import EmbeddedTriton
from gateway.triton.process import ServerProcess
from plates import contract
from tests.triton.support import (
    FREE_PORTS,
    PATIENCE_SECONDS,
    grey,
    real_recognition,
    require_platform,
    until,
    until_ready,
)

LOADING: Final = """
    def initialize(self, args):
        import pathlib, time
        while pathlib.Path(args["model_repository"], "wait").exists():
            time.sleep(0.02)
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models whose last network loads as long as its file `wait` is there."""
    require_platform()
    repository = tmp_path_factory.mktemp("repository")
    real_recognition(repository)
    model = repository / contract.LPRNET.name / "1" / "model.py"
    head, initialize, tail = model.read_text().partition("    def initialize(self, args):\n")
    assert initialize
    model.write_text(head + LOADING + tail)
    return repository


@pytest.fixture(scope="module")
async def triton(repository: Path) -> AsyncIterator[EmbeddedTriton]:
    """A server whose models can be taken out and loaded."""
    command = EmbeddedTriton._command
    explicit = ["--model-control-mode=explicit", "--load-model=*"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EmbeddedTriton, "_command", lambda server: [*command(server), *explicit])
        # The process of a model that is taken out ends, which is a breakdown where nobody can take one out.
        patch.setattr(ServerProcess, "_watch_stubs", lambda process: None)
        async with EmbeddedTriton(Settings(model_repository=repository, **FREE_PORTS)) as server:
            yield server


@pytest.fixture
async def client(triton: EmbeddedTriton) -> AsyncIterator[TritonRecognizer]:
    async with TritonRecognizer(Settings(**FREE_PORTS), triton.endpoint) as client:
        await until_ready(client)
        yield client


async def control(triton: EmbeddedTriton, call: str, model: contract.Model) -> None:
    """Load a model or take it out."""
    async with tritonclient.grpc.aio.InferenceServerClient(triton.endpoint.grpc_url) as server:
        await getattr(server, call)(model.name, headers=triton.endpoint.grpc_headers)


async def ask(client: TritonRecognizer, image: EncodedImage | None = None) -> Any:
    deadline = asyncio.get_running_loop().time() + 10
    return (await client.recognize(image or grey(0, 96, 160), deadline=deadline)).plates


async def until_missing(client: TritonRecognizer, model: contract.Model) -> Readiness:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (state := await client.readiness()).ready:  # noqa: ASYNC110 - it is asked for
            await asyncio.sleep(0.02)
    assert re.fullmatch(rf"These models are not ready: {model.name}\.", state.detail)
    return state


@pytest.mark.parametrize(
    "model", [contract.PLATE_RECOGNITION, contract.YOLO_NET, contract.LPRNET], ids=lambda model: model.name
)
async def test_a_model_that_is_taken_out_costs_503_until_it_is_loaded_again(
    triton: EmbeddedTriton, client: TritonRecognizer, model: contract.Model
) -> None:
    assert len(await ask(client)) == 1
    await control(triton, "unload_model", model)
    await until_missing(client, model)
    for _ in range(client.pool.free + 1):
        with pytest.raises(Unavailable):
            await ask(client)
    assert client.pool.quarantined == 0
    await control(triton, "load_model", model)
    await until_ready(client)
    assert len(await ask(client)) == 1


async def test_a_model_that_loads_slowly_is_waited_for(
    triton: EmbeddedTriton, client: TritonRecognizer, repository: Path
) -> None:
    wait = repository / contract.LPRNET.name / "wait"
    wait.touch()
    await control(triton, "unload_model", contract.LPRNET)
    loading = asyncio.create_task(control(triton, "load_model", contract.LPRNET))
    await until_missing(client, contract.LPRNET)
    async with TritonRecognizer(Settings(**FREE_PORTS), triton.endpoint) as late:
        await until(lambda: late._detail == "These models are not ready: lprnet.")
        with pytest.raises(Unavailable, match="lprnet"):
            await ask(late)
        assert not loading.done()
        wait.unlink()
        await loading
        for recognizer in (client, late):
            await until_ready(recognizer)
            assert len(await ask(recognizer)) == 1
