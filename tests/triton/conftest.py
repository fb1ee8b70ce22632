"""Tritonservers with models of their own, and a client of the session's one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.images import EncodedImage
from gateway.settings import Settings
from gateway.triton.client import TritonRecognizer
from gateway.triton.embedded import EmbeddedTriton
from nets.data.plates import render_scene
from tests.triton.support import (
    FREE_PORTS,
    STAND_IN,
    encoded,
    require_platform,
    shared,
    until_ready,
    write_stand_ins,
)


@pytest.fixture(autouse=True)
async def no_loop_errors() -> AsyncIterator[None]:
    """Fail a test in which something went wrong that nobody waited for."""
    errors: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: errors.append(context))
    yield
    loop.set_exception_handler(None)
    assert not errors


@pytest.fixture
def settings() -> Settings:
    """Settings with free ports, whatever the environment says."""
    return Settings(**FREE_PORTS)


@pytest.fixture
async def recognizer(settings: Settings, triton: EmbeddedTriton) -> AsyncIterator[TritonRecognizer]:
    """A client of that server, ready."""
    async with TritonRecognizer(settings, triton.endpoint) as client:
        await until_ready(client)
        yield client


@pytest.fixture(scope="session")
def stand_in_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models with the contract's names and tensors, which load fast and do what the test wants."""
    require_platform()
    repository = tmp_path_factory.mktemp("repository")
    write_stand_ins(repository, STAND_IN)
    return repository


@pytest.fixture
def stand_in(settings: Settings, stand_in_repository: Path) -> Settings:
    """Settings for the stand-ins."""
    return settings.model_copy(update={"model_repository": stand_in_repository})


@pytest.fixture(scope="module")
async def stand_in_triton(stand_in_repository: Path) -> AsyncIterator[EmbeddedTriton]:
    """A tritonserver that serves the stand-ins."""
    async with EmbeddedTriton(Settings(model_repository=stand_in_repository, **FREE_PORTS)) as server:
        yield server


@pytest.fixture
def leftovers() -> Iterator[Callable[[], set[str]]]:
    """What was put into shared memory since the test began; a test that leaves something of ours there fails."""
    before = shared()

    def added() -> set[str]:
        return shared() - before

    yield added
    assert not added()


@pytest.fixture(scope="session")
def scene() -> EncodedImage:
    """A drawn car with the plate B840OK197."""
    image, _, _ = render_scene("B840OK197", 3, 1280, 720, 200)
    return encoded(image)
