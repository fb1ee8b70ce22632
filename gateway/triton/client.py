"""The Recognizer that asks Triton, over gRPC."""

import asyncio
import collections
import contextlib
import logging
import math
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NoReturn, Self

import numpy as np
from tritonclient.grpc import InferInput, InferResult

from gateway.errors import DeadlineExceeded, GatewayError, Unavailable
from gateway.images import EncodedImage
from gateway.recognizer import Detections, Readiness, Recognition, Timing
from gateway.settings import Settings
from gateway.triton import answers, memory
from gateway.triton.endpoint import Endpoint
from gateway.triton.errors import ConnectionLost, Refused
from gateway.triton.memory import Memory
from gateway.triton.rpc import Rpc, pauses
from gateway.triton.slots import SlotPool
from gateway.triton.transfer import Decoded, Transfer
from gateway.triton.transports import Choice, Present, TransportError, choose
from plates import contract

logger = logging.getLogger(__name__)

_CONNECT_SECONDS: Final = 0.05
"""First pause between two tries to connect."""
_QUEUE_SHARE: Final = 0.5
"""Share of the deadline that a request may wait for a slot: later, there isn't enough left for the answer."""
_CLEANING_SECONDS: Final = 15.0
_IDLE_SECONDS: Final = 60.0
"""After that, memory that no image was in goes back to the system."""

_WARM_UP_SHAPE: Final = (96, 160, 3)


class TritonRecognizer:
    """Reads plates with the models of a Triton; see `gateway.recognizer.Recognizer`.

    Connects in the background, as often as it takes. How images travel is found out then, each time anew: see
    `gateway.triton.transports`.

    While Triton is away, requests fail at once.
    """

    def __init__(self, settings: Settings, endpoint: Endpoint) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._choice: Choice | None = None
        self._pool: SlotPool
        """There with the choice."""
        self._detail: str | None = "Connecting to Triton."
        """Why there is no connection; None while there is one."""
        self._refused = False
        """Whether Triton has refused memory that it took before."""
        self._wake = asyncio.Event()
        """Set when one of the two has changed."""
        self._closing: set[asyncio.Task[None]] = set()
        """The ends of pools that were replaced."""

    async def __aenter__(self) -> Self:
        """Start to connect."""
        self._rpc = Rpc(self._endpoint)
        workers = min(self._settings.slots, os.cpu_count() or 1)
        self._decoders = ThreadPoolExecutor(workers, thread_name_prefix="decode")
        self._transfer = Transfer(self._rpc, self._decoders, self._memory_refused)
        self._connection = asyncio.create_task(self._keep_connected(), name="triton-connection")
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Let running requests end, then give everything back."""
        self._connection.cancel()
        await asyncio.gather(self._connection, return_exceptions=True)
        if self._choice is not None:
            await self._pool.close(self._settings.deadline_seconds)
        await asyncio.gather(*self._closing)
        self._decoders.shutdown(wait=False, cancel_futures=True)
        await self._rpc.close()

    @property
    def copied(self) -> collections.Counter[str]:
        """Bytes of pixels that were copied after decoding so far, by transport; from the start on."""
        return self._transfer.copied

    @property
    def pool(self) -> SlotPool:
        """The slots that images travel in, from the first readiness on; others after another choice of transport."""
        return self._pool

    async def until_failure(self) -> NoReturn:
        """Wait until it can't go on, whatever Triton does; that Triton is away is no such failure.

        Raises:
            TransportError: the transport that the settings force can't work here.
        """
        await asyncio.shield(self._connection)
        raise RuntimeError("unreachable: a connection is kept until it fails or is cancelled")

    async def recognize(self, image: EncodedImage, *, deadline: float, client: str = "") -> Recognition:
        """Decode the image and read its plates; see `Recognizer.recognize`."""
        result, timing = await self._ask(contract.PLATE_RECOGNITION, image, deadline, client)
        stages = answers.stages(result)
        return Recognition(answers.plates(result), Timing(timing.transport, {**timing.milliseconds, **stages}))

    async def detect(self, image: EncodedImage, *, deadline: float, client: str = "") -> Detections:
        """Decode the image and find its plates; see `Recognizer.detect`."""
        result, timing = await self._ask(answers.DETECTION, image, deadline, client)
        return Detections(answers.detections(result), timing)

    async def readiness(self) -> Readiness:
        """Ask the server; see `Recognizer.readiness`."""
        detail = self._detail
        if detail is None:
            try:
                await self._rpc.check_models()
            except GatewayError as error:
                detail = error.detail
                if isinstance(error, ConnectionLost):
                    self._disconnected(error)
        transport, refused = (None, {}) if self._choice is None else (self._choice.transport, self._choice.refused)
        return Readiness(ready=detail is None, detail=detail or "Ready.", transport=transport, refused=refused)

    async def _ask(
        self, model: contract.Model, image: EncodedImage, deadline: float, client: str
    ) -> tuple[InferResult, Timing]:
        if self._detail is not None:
            raise Unavailable(self._detail)
        loop = asyncio.get_running_loop()
        begin = loop.time()
        try:
            async with (
                asyncio.timeout_at(deadline),
                self._pool.acquire((deadline - begin) * _QUEUE_SHARE, client) as slot,
            ):
                acquired = loop.time()
                decoded = await self._transfer.decode(image, slot.memory)
                sent = loop.time()
                result, transport = await self._transfer.infer(model, decoded, deadline)
        except (TimeoutError, DeadlineExceeded):
            raise DeadlineExceeded(f"The answer took longer than {self._settings.deadline_seconds:g} s.") from None
        except ConnectionLost as error:
            self._disconnected(error)
            raise
        seconds = {"queue": acquired - begin, "decode": sent - acquired, "triton": loop.time() - sent}
        return result, Timing(transport, {name: 1000 * value for name, value in seconds.items()})

    def _memory_refused(self, place: Memory, error: Refused) -> None:
        """Have the transport chosen again; until then, images of such memory travel inside requests.

        Raises:
            Refused: they mustn't, or no transport was chosen yet.
        """
        if self._settings.transport != "auto" or self._choice is None:
            raise error
        logger.warning("Triton takes no %s memory any more: %s", place.transport, error.detail)
        self._refused = True
        self._wake.set()

    async def _keep_connected(self) -> None:
        """Connect, again whenever the connection was lost, and clean up in between, until cancelled.

        Raises:
            TransportError: the transport that the settings force can't work here.
        """
        try:
            while True:
                await self._connect()
                self._detail = None
                self._refused = False
                await self._clean_until_lost()
        except TransportError as error:
            self._not_ready(str(error))
            raise

    async def _connect(self) -> None:
        """Try until the models are ready, the transport is found and every network has run once."""
        for pause in pauses(_CONNECT_SECONDS):
            try:
                await self._rpc.check_models()
                async with asyncio.timeout(self._settings.triton_startup_seconds):
                    await self._warm_up()
            except (ConnectionLost, DeadlineExceeded) as error:
                self._not_ready(error.detail)
                await self._rpc.reconnect()
            except GatewayError as error:
                self._not_ready(error.detail)
            except TimeoutError:
                self._not_ready("The models' first answer takes too long.")
            except TransportError:
                raise
            except Exception:
                logger.exception("Connecting to Triton failed")
                self._not_ready("Connecting to Triton failed: see the gateway's log.")
            else:
                return
            await asyncio.sleep(pause)

    async def _warm_up(self) -> None:
        """Run every network once, the detector's on an image that travels as all will."""
        await self._choose()
        # A black image has no plate to read.
        for model in (contract.STN, contract.LPRNET):
            (spec,) = model.inputs
            crop = InferInput(spec.name, [1, *spec.shape], spec.datatype)
            crop.set_data_from_numpy(np.zeros((1, *spec.shape), np.float32))
            await self._rpc.infer(model, crop, self._settings.triton_startup_seconds)

    async def _choose(self) -> None:
        """Decide how images travel: a Triton that has been started again may take other memory than before.

        Raises:
            TransportError: the first time, where the transport that the settings force can't work.
            GatewayError: Triton can't be used now.
        """
        former = self._choice
        if former is None:
            memory.sweep()
            choice = await choose(self._settings, self._rpc, self._probe)
        else:
            try:
                choice = await choose(self._settings, self._rpc, self._probe, Present(former, self._probe_again))
            except TransportError as error:
                raise Unavailable(str(error)) from error
        self._choice = choice
        if former is not None and choice.memories is former.memories:
            return
        if former is not None:
            # What is under way ends in the places that it has.
            closing = asyncio.create_task(self._pool.close(self._settings.deadline_seconds), name="former-slots")
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
        self._pool = SlotPool(choice.memories)
        logger.info("Images travel to Triton at %s by %s", self._endpoint.grpc_url, choice.transport)

    async def _probe_again(self) -> None:
        """Probe the transport in use. That there is no room now speaks against a picture, not against the transport."""
        async with self._pool.acquire(self._settings.triton_startup_seconds) as slot:
            place = slot.memory
            await self._probe(place if place is not None and await place.reserve(math.prod(_WARM_UP_SHAPE)) else None)

    async def _probe(self, place: Memory | None) -> None:
        """Send a black image by way of that memory, or inside the request."""
        pixels = np.zeros(_WARM_UP_SHAPE, np.uint8)
        if place is not None:
            if not await place.reserve(pixels.nbytes):
                raise OSError("there is no room for an image")
            place.view(_WARM_UP_SHAPE)[:] = pixels
            if await place.flush(pixels.nbytes) is None:
                raise OSError("an image can't be copied there")
            # Here it is told where it is refused; a request would go without.
            place.lost()
            await place.publish()
        deadline = asyncio.get_running_loop().time() + self._settings.triton_startup_seconds
        await self._transfer.infer(contract.PLATE_RECOGNITION, Decoded(pixels, place), deadline)

    def _disconnected(self, error: ConnectionLost) -> None:
        if self._detail is None:
            self._not_ready(error.detail)
            self._wake.set()

    def _not_ready(self, detail: str) -> None:
        if detail != self._detail:
            logger.warning("Triton at %s: %s", self._endpoint.grpc_url, detail)
        self._detail = detail

    async def _clean_until_lost(self) -> None:
        """Give idle memory back, have Triton let go of dead gateways' memory, choose the transport again if need be."""
        while self._detail is None:
            self._wake.clear()
            try:
                if self._refused:
                    self._refused = False
                    await self._choose()
                if self._pool.memories:
                    await memory.unregister_dead(self._rpc, self._pool.memories[0].transport)
                await self._pool.trim(_IDLE_SECONDS)
            except ConnectionLost as error:
                self._disconnected(error)
            except GatewayError as error:
                logger.debug("Triton's regions can't be cleaned up now: %s", error)
            except Exception:
                logger.exception("Giving memory back failed")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLEANING_SECONDS):
                    await self._wake.wait()
