"""A GPU in the host's memory: what `gateway.triton.cuda` uses of two modules, with failures on demand.

Like the real ones: handles are freed when the last reference to them goes, errors of the runtime are codes, errors of
tritonclient's module have the reason as bytes in their cause, and a second copy at the same time is a fault.
"""

import base64
import ctypes
import enum
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Status(enum.IntEnum):
    """Error codes."""

    cudaSuccess = 0  # noqa: N815 - CUDA's spelling
    cudaErrorMemoryAllocation = 2  # noqa: N815


class SharedMemoryError(Exception):
    """What tritonclient's module raises."""


class Region:
    """A handle of tritonclient's module."""

    def __init__(self, gpu: "CudaStandIn", name: str, nbytes: int, device: int) -> None:
        self.gpu, self.name, self.device = gpu, name, device
        self.contents = np.zeros(nbytes, np.uint8)
        gpu.allocated += nbytes

    def __del__(self) -> None:
        self.gpu.allocated -= self.contents.nbytes


class CudaStandIn:
    """Both modules in one. `failing` names the functions that fail."""

    cudaError_t = Status  # noqa: N815
    cudaHostAllocDefault = 0  # noqa: N815

    def __init__(self, devices: int = 1) -> None:
        self.devices = devices
        self.failing: set[str] = set()
        self.allocated = 0
        """Bytes of the GPU."""
        self.regions: list[Region] = []
        self.pinned: dict[int, Any] = {}
        self.copied = 0
        self._copying = threading.Lock()

    def cudaGetDeviceCount(self) -> tuple[Status, int]:  # noqa: N802
        if "cudaGetDeviceCount" in self.failing:
            raise RuntimeError("Failed to dlopen libcuda.so.1")
        return Status.cudaSuccess, self.devices

    def cudaGetErrorString(self, status: Status) -> tuple[Status, bytes]:  # noqa: N802
        return Status.cudaSuccess, b"out of memory"

    def cudaHostAlloc(self, nbytes: int, flags: int) -> tuple[Status, int]:  # noqa: N802
        if "cudaHostAlloc" in self.failing:
            return Status.cudaErrorMemoryAllocation, 0
        buffer = ctypes.create_string_buffer(nbytes)
        address = ctypes.addressof(buffer)
        self.pinned[address] = buffer
        return Status.cudaSuccess, address

    def cudaFreeHost(self, address: int) -> tuple[Status]:  # noqa: N802
        if "cudaFreeHost" in self.failing:
            return (Status.cudaErrorMemoryAllocation,)
        del self.pinned[address]
        return (Status.cudaSuccess,)

    def create_shared_memory_region(self, name: str, nbytes: int, device: int) -> Region:
        self._fail("create_shared_memory_region", b"no CUDA-capable device is detected")
        region = Region(self, name, nbytes, device)
        self.regions.append(region)
        return region

    def destroy_shared_memory_region(self, region: Region) -> None:
        self.regions.remove(region)
        self._fail("destroy_shared_memory_region", b"invalid argument")

    def get_raw_handle(self, region: Region) -> bytes:
        return base64.b64encode(region.name.encode())

    def set_shared_memory_region_from_dlpack(self, region: Region, values: list[NDArray[np.uint8]]) -> None:
        assert self._copying.acquire(blocking=False), "two copies at the same time"
        try:
            self._fail("set_shared_memory_region_from_dlpack", b"an illegal memory access was encountered")
            (value,) = values
            region.contents[: value.nbytes] = value
            self.copied += value.nbytes
        finally:
            self._copying.release()

    def _fail(self, name: str, reason: bytes) -> None:
        if name in self.failing:
            raise SharedMemoryError("it failed") from Exception(reason)
