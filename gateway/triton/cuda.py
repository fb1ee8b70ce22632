"""CUDA shared memory: Triton opens memory of the GPU that this process allocated, on the same machine and GPU.

JPEGs are decoded into page-locked memory of the host and copied to the GPU from there, once, by the GPU itself.

What tritonclient's module asks for care with: it copies in one stream that all share without a lock, and gives memory
back in a destructor, in whatever thread drops the last reference. So all calls go through one lock, and an `Allocation`
has the only lasting reference. The traceback of an error would be another one: no error of that module gets out.
"""

import ctypes
import importlib
import logging
import math
import threading
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gateway.triton.memory import Memory, size_class
from gateway.triton.rpc import Rpc

logger = logging.getLogger(__name__)


class CudaError(Exception):
    """CUDA can't be used, or a call of it failed; the message says why."""


@dataclass(slots=True)
class Allocation:
    """Memory of the GPU, and as much page-locked memory of the host to fill it from."""

    region: Any
    """tritonclient's handle; the GPU's memory goes with the last reference to it."""
    address: int = 0
    """The host memory's address, as the CUDA runtime gave it."""
    staging: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    """(nbytes,), the host's memory."""


class Gpu:
    """One GPU. Its methods block, each until no other one runs.

    Args:
        device: number of the GPU.
        shared_memory: the module `tritonclient.utils.cuda_shared_memory`.
        runtime: the module `cuda.bindings.runtime`.
    """

    def __init__(self, device: int, shared_memory: Any, runtime: Any) -> None:
        self.device = device
        self._shared_memory = shared_memory
        self._runtime = runtime
        self._lock = threading.Lock()

    @classmethod
    def open(cls, device: int) -> Self:
        """Load the CUDA libraries, which are only there where they are wanted.

        Raises:
            CudaError: a package is missing, or there is no such GPU.
        """
        try:
            runtime = importlib.import_module("cuda.bindings.runtime")
            shared_memory = importlib.import_module("tritonclient.utils.cuda_shared_memory")
        except (ImportError, RuntimeError) as error:
            raise CudaError("cuda-python is missing: install plate-gateway[cuda]") from error
        gpu = cls(device, shared_memory, runtime)
        count = gpu._call(runtime.cudaGetDeviceCount)
        if device >= count:
            raise CudaError(f"there is no GPU {device}: {count} found")
        return gpu

    def allocate(self, name: str, nbytes: int) -> Allocation:
        """Allocate memory on the GPU and the host.

        Raises:
            CudaError: there isn't enough.
        """
        with self._lock:
            allocation = Allocation(
                self._ask(self._shared_memory.create_shared_memory_region, name, nbytes, self.device)
            )
            try:
                address = self._call(self._runtime.cudaHostAlloc, nbytes, self._runtime.cudaHostAllocDefault)
            except CudaError:
                self._destroy(allocation)
                raise
            allocation.address = address
            allocation.staging = np.ctypeslib.as_array((ctypes.c_ubyte * nbytes).from_address(address))
            return allocation

    def free(self, allocation: Allocation) -> None:
        """Give both memories back. No array on the staging memory may be used after that.

        Raises:
            CudaError: a call failed; the other one was made all the same.
        """
        with self._lock:
            try:
                self._destroy(allocation)
            finally:
                self._call(self._runtime.cudaFreeHost, allocation.address)

    def copy(self, allocation: Allocation, nbytes: int) -> None:
        """Copy the first bytes of the staging memory to the GPU; they are there when this returns.

        Raises:
            CudaError: it failed.
        """
        with self._lock:
            # By way of DLPack: the module's other function copies on the host first.
            self._ask(
                self._shared_memory.set_shared_memory_region_from_dlpack,
                allocation.region,
                [allocation.staging[:nbytes]],
            )

    def handle(self, allocation: Allocation) -> bytes:
        """Return the CUDA IPC handle in base64.

        Raises:
            CudaError: there is none.
        """
        with self._lock:
            handle: bytes = self._ask(self._shared_memory.get_raw_handle, allocation.region)
            return handle

    def _destroy(self, allocation: Allocation) -> None:
        region, allocation.region = allocation.region, None
        try:
            self._ask(self._shared_memory.destroy_shared_memory_region, region)
        finally:
            del region

    def _ask(self, function: Any, *arguments: Any) -> Any:
        """Call tritonclient's module. Its error is dropped when its reason is known, with all that its frames hold."""
        try:
            return function(*arguments)
        except Exception as error:  # noqa: BLE001 - it raises several kinds
            reason = _reason(error)
        del arguments
        raise CudaError(reason)

    def _call(self, function: Any, *arguments: Any) -> Any:
        """Call the CUDA runtime, whose functions return an error code and what else they return."""
        try:
            code, *results = function(*arguments)
        except RuntimeError as error:  # the driver's library isn't there
            raise CudaError(_reason(error)) from error
        if code != self._runtime.cudaError_t.cudaSuccess:
            _, text = self._runtime.cudaGetErrorString(code)
            raise CudaError(text.decode())
        return results[0] if results else None


class CudaMemory(Memory):
    """Memory of the GPU. Another size is another allocation, and another registration."""

    transport = "cuda"

    def __init__(self, rpc: Rpc, key: str, largest: int, gpu: Gpu) -> None:
        super().__init__(rpc, key, largest)
        self._gpu = gpu
        self._allocation: Allocation | None = None

    @property
    def nbytes(self) -> int:
        """Bytes that are allocated, on the GPU and again on the host."""
        return 0 if self._allocation is None else self._allocation.staging.nbytes

    async def reserve(self, nbytes: int) -> bool:
        """Make room, in another allocation where the present one is too small."""
        size = size_class(nbytes, self._largest)
        if size is None:
            return False
        if size > self.nbytes:
            await self._trim()
            try:
                await self.run(lambda: self._allocate(size))
            except CudaError as error:
                logger.warning("No memory of the GPU for %d bytes (%s): they travel inside the request", nbytes, error)
                return False
        return True

    def view(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """Return the start of the host's memory as a writable uint8 array."""
        return self._held.staging[: math.prod(shape)].reshape(shape)

    async def flush(self, nbytes: int) -> int | None:
        """Copy to the GPU; None where that failed."""
        try:
            await self.run(lambda: self._gpu.copy(self._held, nbytes))
        except CudaError as error:
            logger.warning("An image can't be copied to the GPU (%s): it travels inside the request", error)
            return None
        return nbytes

    @property
    def _held(self) -> Allocation:
        if self._allocation is None:
            raise RuntimeError("no room was reserved")
        return self._allocation

    async def _register(self, region: str) -> None:
        handle = await self.run(lambda: self._gpu.handle(self._held))
        await self._rpc.register_cuda(region, handle, self._gpu.device, self.nbytes)

    async def _trim(self) -> None:
        await self._forget()
        await self._release()

    async def _release(self) -> None:
        allocation, self._allocation = self._allocation, None
        if allocation is not None:
            try:
                await self.run(lambda: self._gpu.free(allocation))
            except CudaError as error:
                logger.warning("Memory of the GPU can't be given back: %s", error)

    def _allocate(self, size: int) -> None:
        self._allocation = self._gpu.allocate(self.key, size)


def _reason(error: BaseException) -> str:
    """Return what CUDA said: tritonclient's errors name the step, and their cause has the text, as bytes."""
    cause = error.__cause__ or error
    first = cause.args[0] if cause.args else type(cause).__name__
    return first.decode() if isinstance(first, bytes) else str(first)
