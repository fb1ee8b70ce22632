"""A tritonserver whose networks run on a GPU; without one, every test here is skipped."""

from collections.abc import AsyncIterator

import pytest

from gateway.settings import Settings
from gateway.triton.client import TritonRecognizer
from gateway.triton.embedded import EmbeddedTriton
from tests.triton.support import FREE_PORTS


@pytest.fixture(scope="session")
def device() -> str:
    """The GPU's name, as PyTorch gives it."""
    torch = pytest.importorskip("torch", reason="needs PyTorch: make test-gpu installs it")
    pytest.importorskip("cuda.bindings", reason="needs cuda-python: make test-gpu installs it")
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU that PyTorch can use")
    return str(torch.cuda.get_device_name())


@pytest.fixture(scope="session")
async def gpu_triton(device: str) -> AsyncIterator[EmbeddedTriton]:
    """A server with the TorchScript networks on the GPU."""
    async with EmbeddedTriton(Settings(triton_device="gpu", **FREE_PORTS)) as server:
        yield server


@pytest.fixture(scope="session")
async def recognizer(gpu_triton: EmbeddedTriton) -> AsyncIterator[TritonRecognizer]:
    """The gateway's client of it: images travel in the GPU's memory."""
    settings = Settings(transport="cuda", deadline_seconds=60, **FREE_PORTS)
    async with TritonRecognizer(settings, gpu_triton.endpoint) as recognizer:
        yield recognizer
