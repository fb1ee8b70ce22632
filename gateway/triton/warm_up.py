"""The first images that a server gets, so that its clients' images needn't be the first.

An instance of a Python model shares memory with the server, which grows with the first image and whose pages each
process takes up one by one as it touches them. An image as large as fits makes both happen now: afterwards the server
answers the first request as fast as any, and its resident memory stays as it is, where it would creep up with each
place of the shared memory that is used for the first time, over thousands of requests.
"""

import asyncio
import logging
from typing import Final

import numpy as np
from tritonclient.grpc import InferInput

from gateway.errors import GatewayError
from gateway.triton.endpoint import Endpoint
from gateway.triton.rpc import Rpc
from plates import contract

logger = logging.getLogger(__name__)

SHAPE: Final = (1566, 2784, 3)
"""13 MB: with what goes to the detector and comes back, it fills the 17 MiB that `embedded` lets the memory grow to. It
shows nothing, so that the detector takes its closer look."""


async def warm_up(endpoint: Endpoint, model: contract.Model, seconds: float) -> None:
    """Send an image to each instance of a model that takes one; whatever comes of it, the server may be used.

    Args:
        endpoint: the server, which is ready.
        model: whom to ask.
        seconds: how long that may take.
    """
    rpc = Rpc(endpoint)
    tensor = InferInput(contract.IMAGE.name, list(SHAPE), contract.IMAGE.datatype)
    tensor.set_data_from_numpy(np.zeros(SHAPE, np.uint8))
    try:
        # An instance has one at a time, and one that is free takes what waits.
        count = await rpc.instances(model)
        await asyncio.gather(*(rpc.infer(model, tensor, seconds) for _ in range(count)))
    except GatewayError as error:
        logger.warning("Triton's first images came to nothing: %s", error)
    finally:
        await rpc.close()
