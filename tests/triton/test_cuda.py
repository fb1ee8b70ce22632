"""Memory of the GPU, with a stand-in for the CUDA runtime and tritonclient's module."""

import asyncio
import base64
import importlib
import sys
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from gateway.triton import memory
from gateway.triton.cuda import CudaError, CudaMemory, Gpu
from gateway.triton.errors import ConnectionLost, RegionInUse
from gateway.triton.memory import SIZE_CLASSES
from tests.triton.cuda_stand_in import CudaStandIn

if TYPE_CHECKING:
    from gateway.errors import GatewayError
    from gateway.triton.rpc import Rpc

SHAPE = (4, 8, 3)
NBYTES = 4 * 8 * 3
LARGEST = SIZE_CLASSES[1]


class Server:
    """What Triton knows, and what it refuses."""

    def __init__(self) -> None:
        self.regions: dict[str, tuple[bytes, int, int]] = {}
        self.refusals: list[GatewayError] = []

    async def register_cuda(self, region: str, handle: bytes, device: int, nbytes: int) -> None:
        self.regions[region] = base64.b64decode(handle), device, nbytes

    async def unregister(self, sharing: str, region: str) -> None:
        assert sharing == "cuda"
        if self.refusals:
            raise self.refusals.pop(0)
        self.regions.pop(region, None)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def driver() -> CudaStandIn:
    return CudaStandIn()


@pytest.fixture
async def shared(driver: CudaStandIn, server: Server, leftovers: Callable[[], set[str]]) -> AsyncIterator[CudaMemory]:
    (key,) = memory.new_keys(1)
    shared = CudaMemory(cast("Rpc", server), key, LARGEST, Gpu(0, driver, driver))
    yield shared
    await shared.close()
    driver.failing.clear()
    assert not server.regions
    assert not driver.regions
    assert driver.allocated == 0


async def test_what_is_written_is_copied_to_the_gpu_once(
    shared: CudaMemory, driver: CudaStandIn, server: Server
) -> None:
    assert shared.nbytes == 0
    assert await shared.reserve(NBYTES)
    view = shared.view(SHAPE)
    assert view.shape == SHAPE
    view[:] = np.arange(NBYTES, dtype=np.uint8).reshape(SHAPE)
    assert await shared.flush(NBYTES) == NBYTES
    assert driver.copied == NBYTES
    assert driver.regions[0].contents[: NBYTES + 1].tolist() == [*range(NBYTES), 0]
    region = await shared.publish()
    assert server.regions == {region: (shared.key.encode(), 0, SIZE_CLASSES[0])}
    assert shared.nbytes == SIZE_CLASSES[0]


async def test_a_larger_image_gets_another_allocation_after_the_server_let_go_of_the_first(
    shared: CudaMemory, driver: CudaStandIn, server: Server
) -> None:
    assert await shared.reserve(NBYTES)
    first = await shared.publish()
    server.refusals = [RegionInUse(""), RegionInUse("")]
    assert await shared.reserve(SIZE_CLASSES[0] + 1)
    assert not server.refusals
    assert not server.regions
    assert driver.allocated == shared.nbytes == SIZE_CLASSES[1]
    assert len(driver.pinned) == 1
    assert await shared.publish() != first
    assert await shared.reserve(1)
    assert driver.allocated == SIZE_CLASSES[1]
    assert not await shared.reserve(LARGEST + 1)


async def test_trimming_gives_everything_back_and_it_can_be_used_again(
    shared: CudaMemory, driver: CudaStandIn, server: Server
) -> None:
    assert await shared.reserve(NBYTES)
    await shared.publish()
    await shared.trim()
    assert (driver.allocated, driver.pinned, server.regions, shared.nbytes) == (0, {}, {}, 0)
    with pytest.raises(RuntimeError, match="no room"):
        shared.view(SHAPE)
    assert await shared.reserve(NBYTES)
    assert await shared.flush(NBYTES) == NBYTES
    await shared.publish()


@pytest.mark.parametrize("step", ["create_shared_memory_region", "cudaHostAlloc"])
async def test_without_memory_there_is_no_room_and_nothing_stays(
    shared: CudaMemory, driver: CudaStandIn, step: str
) -> None:
    driver.failing = {step}
    assert not await shared.reserve(NBYTES)
    assert (driver.allocated, driver.pinned, driver.regions) == (0, {}, [])
    driver.failing.clear()
    assert await shared.reserve(NBYTES)


async def test_a_copy_that_fails_says_so(shared: CudaMemory, driver: CudaStandIn) -> None:
    assert await shared.reserve(NBYTES)
    driver.failing = {"set_shared_memory_region_from_dlpack"}
    assert await shared.flush(NBYTES) is None
    assert shared.quiet


@pytest.mark.parametrize(
    ("step", "reason", "pinned"),
    [("cudaFreeHost", "out of memory", 1), ("destroy_shared_memory_region", "invalid argument", 0)],
)
async def test_a_failure_to_give_back_is_told_and_the_rest_is_given_back(
    shared: CudaMemory,
    driver: CudaStandIn,
    caplog: pytest.LogCaptureFixture,
    step: str,
    reason: str,
    pinned: int,
) -> None:
    assert await shared.reserve(NBYTES)
    driver.failing = {step}
    await shared.trim()
    assert reason in caplog.text
    assert len(driver.pinned) == pinned
    assert shared.nbytes == 0


async def test_memory_that_may_still_be_read_is_not_freed(
    driver: CudaStandIn, server: Server, leftovers: Callable[[], set[str]]
) -> None:
    (key,) = memory.new_keys(1)
    shared = CudaMemory(cast("Rpc", server), key, LARGEST, Gpu(0, driver, driver))
    assert await shared.reserve(NBYTES)
    await shared.publish()

    def fail() -> None:
        with shared.lent():
            raise ConnectionLost("")

    with pytest.raises(ConnectionLost):
        fail()
    await shared.close()
    assert driver.allocated == SIZE_CLASSES[0]
    assert len(server.regions) == 1
    assert not leftovers()


async def test_copies_of_several_slots_take_turns(driver: CudaStandIn, server: Server) -> None:
    gpu = Gpu(0, driver, driver)
    places = [CudaMemory(cast("Rpc", server), key, LARGEST, gpu) for key in memory.new_keys(4)]
    for number, place in enumerate(places):
        assert await place.reserve(LARGEST)
        place.view((LARGEST,))[:] = number
    await asyncio.gather(*(place.flush(LARGEST) for place in places))
    assert [region.contents[-1] for region in driver.regions] == [0, 1, 2, 3]
    for place in places:
        await place.close()
    assert driver.allocated == 0


def load(monkeypatch: pytest.MonkeyPatch, driver: CudaStandIn) -> None:
    """Let the stand-in be the modules."""
    monkeypatch.setattr(importlib, "import_module", lambda name: driver)


def test_a_missing_package_is_named() -> None:
    if "cuda" in sys.modules:
        pytest.skip("cuda-python is installed")
    with pytest.raises(CudaError, match=r"cuda-python is missing: install plate-gateway\[cuda\]"):
        Gpu.open(0)


def test_a_missing_driver_is_the_reason(monkeypatch: pytest.MonkeyPatch, driver: CudaStandIn) -> None:
    load(monkeypatch, driver)
    driver.failing = {"cudaGetDeviceCount"}
    with pytest.raises(CudaError, match="libcuda"):
        Gpu.open(0)


@pytest.mark.parametrize(("devices", "device"), [(0, 0), (1, 1)])
def test_a_missing_gpu_is_the_reason(monkeypatch: pytest.MonkeyPatch, devices: int, device: int) -> None:
    load(monkeypatch, CudaStandIn(devices))
    with pytest.raises(CudaError, match=f"no GPU {device}: {devices} found"):
        Gpu.open(device)


def test_a_gpu_is_opened_with_both_modules(monkeypatch: pytest.MonkeyPatch, driver: CudaStandIn) -> None:
    load(monkeypatch, driver)
    gpu = Gpu.open(0)
    gpu.free(gpu.allocate("name", NBYTES))
    assert driver.allocated == 0
