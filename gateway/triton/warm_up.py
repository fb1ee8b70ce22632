"""The first images that a server gets, so that its clients' images needn't be the first.

An instance of a Python model shares memory with the server, which grows with the first image and whose pages each
process takes up one by one as it touches them. An image as large as fits makes both happen now: afterwards the server
answers the first request as fast as any, and its resident memory stays as it is, where it would creep up with each
place of the shared memory that is used for the first time, over thousands of requests.
"""

import asyncio
import contextlib
import logging
import math
from typing import Final

from tritonclient.grpc import InferInput

from gateway.errors import GatewayError
from gateway.triton.endpoint import Endpoint
from gateway.triton.memory import new_keys
from gateway.triton.rpc import Rpc
from gateway.triton.system import SystemMemory
from plates import contract

logger = logging.getLogger(__name__)

SHAPE: Final = (1566, 2784, 3)
"""13 MB: with what goes to the detector and comes back, it fills the 17 MiB that `embedded` lets the memory grow to. It
shows nothing, so that the detector takes its closer look."""


async def warm_up(endpoint: Endpoint, model: contract.Model, seconds: float) -> None:
    """Send an image to each instance of a model that takes one; whatever comes of it, the server may be used.

    Args:
        endpoint: the server, which is ready and shares /dev/shm with this process.
        model: whom to ask.
        seconds: how long that may take.
    """
    async with contextlib.AsyncExitStack() as stack:
        rpc = Rpc(endpoint)
        stack.push_async_callback(rpc.close)
        try:
            await _ask(rpc, model, seconds)
        except (GatewayError, OSError) as error:
            logger.warning("Triton's first images came to nothing: %s", error)


async def _ask(rpc: Rpc, model: contract.Model, seconds: float) -> None:
    nbytes = math.prod(SHAPE)
    # Not inside the requests: copies of them would stay in the heaps of both processes.
    memory = SystemMemory(rpc, new_keys(1)[0], nbytes)
    try:
        if not await memory.reserve(nbytes):
            return
        tensor = InferInput(contract.IMAGE.name, list(SHAPE), contract.IMAGE.datatype)
        tensor.set_shared_memory(await memory.publish(), nbytes)
        # An instance has one at a time, and one that is free takes what waits.
        count = await rpc.instances(model)
        with memory.lent():
            await asyncio.gather(*(rpc.infer(model, tensor, seconds) for _ in range(count)))
    finally:
        await memory.close()
