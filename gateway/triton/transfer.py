"""An image on its way to a model of Triton: decoded into memory that both see, or sent inside the request."""

import asyncio
import collections
import contextlib
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from tritonclient.grpc import InferInput, InferResult

from gateway.images import EncodedImage
from gateway.triton.errors import ConnectionLost, Refused, RegionLost
from gateway.triton.memory import Memory
from gateway.triton.rpc import Rpc
from plates import contract

_RETRY_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Decoded:
    """The pixels of an image, and the memory that Triton reads them from if they are there."""

    pixels: NDArray[np.uint8]
    """(h, w, 3), BGR."""
    memory: Memory | None


class Transfer:
    """Decodes images and has models work on them.

    A request whose connection breaks is sent once more: it changes nothing in Triton.

    Args:
        rpc: the server.
        decoders: threads to decode in.
        refused: called when Triton refuses an image's memory. Where it returns, the image travels inside the request;
            where it raises, that ends the request.

    Attributes:
        copied: bytes of pixels that were copied after decoding so far, by transport.
    """

    def __init__(self, rpc: Rpc, decoders: Executor, refused: Callable[[Memory, Refused], None]) -> None:
        self._rpc = rpc
        self._decoders = decoders
        self._when_refused = refused
        self.copied: collections.Counter[str] = collections.Counter()

    async def decode(self, image: EncodedImage, place: Memory | None) -> Decoded:
        """Decode into the memory if there is room, otherwise into an array of its own."""
        shape = (image.height, image.width, 3)
        nbytes = image.height * image.width * 3
        if place is not None and await place.reserve(nbytes):
            out = place.view(shape)
            copied = await place.run(lambda: image.decode_into(out), self._decoders)
            flushed = await place.flush(nbytes)
            if flushed is not None:
                self.copied[place.transport] += copied + flushed
                return Decoded(out, place)
        out = np.empty(shape, np.uint8)
        copied = await asyncio.get_running_loop().run_in_executor(self._decoders, image.decode_into, out)
        self.copied["grpc"] += copied
        return Decoded(out, None)

    async def infer(self, model: contract.Model, image: Decoded, deadline: float) -> tuple[InferResult, str]:
        """Ask a model that takes an image, and once more for each reason that another try can mend.

        Args:
            model: whom to ask.
            image: what about.
            deadline: on the event loop's clock.

        Returns:
            The answer, and the transport by which the image went.
        """
        mended: set[type[ConnectionLost | RegionLost]] = set()
        while True:
            try:
                return await self._infer_once(model, image, deadline)
            except (ConnectionLost, RegionLost) as error:
                if type(error) in mended:
                    raise
                mended.add(type(error))
                if isinstance(error, ConnectionLost):
                    await asyncio.sleep(_RETRY_SECONDS)
                elif image.memory is not None:
                    image.memory.lost()

    async def _infer_once(self, model: contract.Model, image: Decoded, deadline: float) -> tuple[InferResult, str]:
        tensor = InferInput(contract.IMAGE.name, list(image.pixels.shape), contract.IMAGE.datatype)
        with contextlib.ExitStack() as stack:
            if image.memory is not None and (region := await self._publish(image.memory)):
                tensor.set_shared_memory(region, image.pixels.nbytes)
                stack.enter_context(image.memory.lent())
                transport: str = image.memory.transport
            else:
                # In a thread: copying a large image would stop the event loop.
                await asyncio.to_thread(tensor.set_data_from_numpy, image.pixels)
                self.copied["grpc"] += image.pixels.nbytes
                transport = "grpc"
            return await self._rpc.infer(model, tensor, deadline - asyncio.get_running_loop().time()), transport

    async def _publish(self, place: Memory) -> str | None:
        """Return the name under which Triton knows the memory, None where it takes no such memory any more."""
        try:
            return await place.publish()
        except Refused as error:
            self._when_refused(place, error)
            return None
