"""Which way images take to Triton: found out by sending one, not by asking for a status.

| transport | images lie in | works where | copies of the pixels after decoding a JPEG |
| --- | --- | --- | --- |
| cuda | memory of the GPU | Triton uses the same GPU and shares IPC namespace and /dev/shm | one, to the GPU |
| system | POSIX shared memory | Triton shares /dev/shm | none |
| grpc | the request | everywhere | one into the request, and what gRPC does with it |
"""

import asyncio
import contextlib
import functools
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from gateway.errors import DeadlineExceeded, GatewayError, Unavailable
from gateway.settings import Settings
from gateway.triton import memory
from gateway.triton.cuda import CudaError, CudaMemory, Gpu
from gateway.triton.errors import Refused
from gateway.triton.memory import Memory
from gateway.triton.rpc import CALL_SECONDS, Rpc
from gateway.triton.system import SystemMemory

logger = logging.getLogger(__name__)

Transport: TypeAlias = Literal["cuda", "system", "grpc"]

FASTEST_FIRST: Final[tuple[Transport, ...]] = ("cuda", "system", "grpc")

Probe: TypeAlias = Callable[[Memory | None], Awaitable[None]]
"""Sends an image by way of that memory, or inside the request without one."""


class TransportError(Exception):
    """The transport that the settings force can't work here; one sentence says why."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The way that images take."""

    transport: Transport
    memories: Sequence[Memory | None]
    """One for each slot."""
    refused: dict[str, str] = field(default_factory=dict)
    """Faster transports that can't be had, and why."""


@dataclass(frozen=True, slots=True)
class Present:
    """The way that images took until the connection was lost."""

    choice: Choice
    probe: Callable[[], Awaitable[None]]
    """Sends an image by way of one of its memories."""


async def choose(settings: Settings, rpc: Rpc, probe: Probe, present: Present | None = None) -> Choice:
    """Take the first transport that works, or the one that the settings force.

    Args:
        settings: what is wanted.
        rpc: the server.
        probe: tries new memory.
        present: is kept with its memories where it is still the first that works.

    Raises:
        TransportError: the forced one can't work.
        GatewayError: the server doesn't answer now, or the models fail whatever the transport.
    """
    wanted = FASTEST_FIRST if settings.transport == "auto" else (settings.transport,)
    refused: dict[str, str] = {}
    for transport in wanted:
        try:
            if present is not None and transport == present.choice.transport:
                await present.probe()
                return Choice(transport, present.choice.memories, refused)
            return Choice(transport, await _open(transport, settings, rpc, probe), refused)
        except (CudaError, OSError, Refused) as error:
            refused[transport] = _why(error, rpc)
        except (Unavailable, DeadlineExceeded):
            raise  # it passes, and says nothing about the transport
        except GatewayError as error:
            # The memory is registered, but the models can't read it: whether they can read at all, the next one tells.
            if transport == wanted[-1]:
                raise
            refused[transport] = f"a picture sent by it fails: {error.detail}"
        if present is None or present.choice.refused.get(transport) != refused[transport]:
            logger.info("Transport %s can't be had: %s", transport, refused[transport])
    raise TransportError(f"GATEWAY_TRANSPORT={settings.transport} can't be had: {refused[settings.transport]}.")


async def _open(transport: Transport, settings: Settings, rpc: Rpc, probe: Probe) -> list[Memory | None]:
    """Make memory for each slot, after one has been tried."""
    if transport == "grpc":
        await probe(None)
        return [None] * settings.slots
    memories: list[Memory] = []
    try:
        make = _maker(transport, settings, rpc)
        for key in memory.new_keys(settings.slots):
            memories.append(make(key))
            if len(memories) == 1:
                await probe(memories[0])
    except BaseException:
        for opened in memories:
            # Triton may still read the image of a probe that was given up, and would keep the region.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CALL_SECONDS):
                    await opened.settle()
            await opened.close()
        raise
    return [*memories]


def _maker(transport: Transport, settings: Settings, rpc: Rpc) -> Callable[[str], Memory]:
    if transport == "cuda":
        gpu = Gpu.open(settings.cuda_device)
        return functools.partial(CudaMemory, rpc, largest=settings.slot_bytes, gpu=gpu)
    return functools.partial(SystemMemory, rpc, largest=settings.slot_bytes)


def _why(error: Exception, rpc: Rpc) -> str:
    if not isinstance(error, Refused):
        return str(error)
    host = rpc.endpoint.host
    return error.detail if rpc.endpoint.local else f"Triton on {host} can't reach the memory here: {error.detail}"
