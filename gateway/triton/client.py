"""The Recognizer that asks Triton, over gRPC."""

import asyncio
import contextlib
import functools
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from tritonclient.grpc import InferInput, InferRequestedOutput, InferResult
from tritonclient.grpc.aio import InferenceServerClient

from gateway.errors import DeadlineExceeded, GatewayError, Unavailable
from gateway.images import EncodedImage
from gateway.recognizer import Box, Candidate, Detection, Detections, Plate, Readiness, Recognition, Timing
from gateway.settings import Settings
from gateway.triton import shm, slots
from gateway.triton.endpoint import Endpoint
from gateway.triton.errors import ConnectionLost, Refused, RegionLost, translated, translated_registration
from gateway.triton.slots import Region, Slot, SlotPool
from plates import contract

logger = logging.getLogger(__name__)

_CHANNEL: Final = [
    ("grpc.max_send_message_length", 2**31 - 1),
    ("grpc.max_receive_message_length", 2**31 - 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1000),
    # gRPC's own maximum is two minutes; Triton is back in seconds.
    ("grpc.max_reconnect_backoff_ms", 1000),
    # While a request is under way: tells a server that hangs from one that works.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.enable_http_proxy", 0),
]
_CALL_SECONDS: Final = 2.0
"""Time for a call that computes nothing."""
_BACK_OFF_SECONDS: Final = (0.05, 1.0)
_RETRY_SECONDS: Final = 0.1
_QUEUE_SHARE: Final = 0.5
"""Share of the deadline that a request may wait for a slot: later, there isn't enough left for the answer."""

_WARM_UP_SHAPE: Final = (96, 160, 3)


class TritonRecognizer:
    """Reads plates with the models of a Triton; see `gateway.recognizer.Recognizer`.

    Connects in the background, as often as it takes. Images travel in system shared memory where the server takes it
    (found out by registering regions), otherwise inside the gRPC requests.
    """

    def __init__(self, settings: Settings, endpoint: Endpoint) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._pool: SlotPool | None = None
        self._detail = "Connecting to Triton."

    async def __aenter__(self) -> Self:
        """Start to connect."""
        self._client = InferenceServerClient(self._endpoint.grpc_url, channel_args=_CHANNEL)
        workers = min(self._settings.slots, os.cpu_count() or 1)
        self._decoders = ThreadPoolExecutor(workers, thread_name_prefix="decode")
        self._connecting = asyncio.create_task(self._connect(), name="triton-connect")
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Let running requests end, then give everything back."""
        self._connecting.cancel()
        await asyncio.wait({self._connecting})
        if self._pool is not None:
            await self._close(self._pool)
        self._decoders.shutdown(wait=False, cancel_futures=True)
        await self._client.close()

    async def recognize(self, image: EncodedImage, *, deadline: float, client: str = "") -> Recognition:
        """Decode the image and read its plates; see `Recognizer.recognize`."""
        result, timing = await self._ask(contract.PLATE_RECOGNITION, image, deadline)
        stages = dict(zip(contract.STAGES, result.as_numpy(contract.MILLISECONDS.name).tolist(), strict=True))
        plates = sorted(_plates(result), key=lambda plate: (-plate.score, plate.box.x_min))
        return Recognition(plates, Timing(timing.transport, {**timing.milliseconds, **stages}))

    async def detect(self, image: EncodedImage, *, deadline: float, client: str = "") -> Detections:
        """Decode the image and find its plates; see `Recognizer.detect`."""
        result, timing = await self._ask(contract.YOLO, image, deadline)
        _, boxes, scores = (result.as_numpy(tensor.name).tolist() for tensor in contract.YOLO.outputs)
        found = [Detection(Box(*box), score) for box, (score,) in zip(boxes, scores, strict=True)]
        return Detections(sorted(found, key=lambda plate: (-plate.score, plate.box.x_min)), timing)

    async def _ask(self, model: contract.Model, image: EncodedImage, deadline: float) -> tuple[InferResult, Timing]:
        if self._pool is None:
            raise Unavailable(self._detail)
        loop = asyncio.get_running_loop()
        begin = loop.time()
        try:
            async with asyncio.timeout_at(deadline), self._pool.acquire((deadline - begin) * _QUEUE_SHARE) as slot:
                acquired = loop.time()
                shape = (image.height, image.width, 3)
                region = slot.region if slot.reserve(shape) else None
                pixels = await self._decode(image, slot, slot.view(shape) if region else None)
                decoded = loop.time()
                result = await self._infer(model, slot, pixels, region)
        except TimeoutError:
            raise DeadlineExceeded(f"The answer took longer than {self._settings.deadline_seconds:g} s.") from None
        seconds = {"queue": acquired - begin, "decode": decoded - acquired, "triton": loop.time() - decoded}
        timing = Timing("system" if region else "grpc", {name: 1000 * value for name, value in seconds.items()})
        return result, timing

    async def readiness(self) -> Readiness:
        """Ask the server; see `Recognizer.readiness`."""
        if self._pool is None:
            return Readiness(ready=False, detail=self._detail)
        transport = "system" if self._pool.regions else "grpc"
        try:
            await self._check_models()
        except GatewayError as error:
            return Readiness(ready=False, detail=error.detail, transport=transport)
        return Readiness(ready=True, detail="Ready.", transport=transport)

    async def _decode(self, image: EncodedImage, slot: Slot, out: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
        decoding = asyncio.get_running_loop().run_in_executor(self._decoders, image.decode, out)
        slot.hold(decoding)
        # A thread can't be stopped: shielded, the future ends when the thread is done with the slot.
        return await asyncio.shield(decoding)

    async def _infer(
        self, model: contract.Model, slot: Slot, pixels: NDArray[np.uint8], region: Region | None
    ) -> InferResult:
        """Ask a model, and once more for each reason that another try can mend.

        Args:
            model: takes an image, `contract.IMAGE`.
            slot: held until Triton has answered.
            pixels: (h, w, 3), BGR.
            region: the shared memory that the pixels lie in, if they do.
        """
        mended: set[type[Unavailable]] = set()
        while True:
            try:
                tensor = await self._tensor(pixels, region)
                # Without a deadline of its own: it ends when Triton has answered or is gone, and with it the slot's
                # quarantine. Whoever waits for it has a deadline.
                call = asyncio.create_task(
                    self._client.infer(model.name, [tensor], outputs=_outputs(model)),
                    name="triton-infer",
                )
                slot.hold(call)
                with translated():
                    return await asyncio.shield(call)
            except (ConnectionLost, RegionLost) as error:
                if type(error) in mended:
                    raise
                mended.add(type(error))
                if isinstance(error, ConnectionLost):
                    await asyncio.sleep(_RETRY_SECONDS)
                elif region is not None:
                    region.registered = False

    async def _tensor(self, pixels: NDArray[np.uint8], region: Region | None) -> InferInput:
        """Make the request's input: a reference to the region, or the pixels themselves."""
        tensor = InferInput(contract.IMAGE.name, list(pixels.shape), contract.IMAGE.datatype)
        if region is not None:
            try:
                await self._register(region)
            except Refused as error:
                if self._settings.transport == "system":
                    raise
                logger.warning("Triton takes no shared memory any more (%s)", error.detail)
            else:
                return tensor.set_shared_memory(region.name, pixels.nbytes)
        # In a thread: copying a large image would stop the event loop.
        return await asyncio.to_thread(tensor.set_data_from_numpy, pixels)

    async def _connect(self) -> None:
        """Try until the models are ready, the transport is found and every network has run once."""
        delay, longest = _BACK_OFF_SECONDS
        while True:
            try:
                await self._check_models()
                pool = await self._open_pool()
                try:
                    async with asyncio.timeout(self._settings.triton_startup_seconds):
                        await self._warm_up(pool)
                except BaseException:
                    await self._close(pool)
                    raise
            except GatewayError as error:
                self._not_ready(error.detail)
            except TimeoutError:
                self._not_ready("The models' first answer takes too long.")
            except Exception:
                logger.exception("Connecting to Triton failed")
                self._not_ready("Connecting to Triton failed: see the gateway's log.")
            else:
                self._pool = pool
                how = "in shared memory" if pool.regions else "inside gRPC requests"
                logger.info("Connected to Triton at %s; images travel %s", self._endpoint.grpc_url, how)
                return
            await asyncio.sleep(delay)
            delay = min(2 * delay, longest)

    def _not_ready(self, detail: str) -> None:
        if detail != self._detail:
            logger.warning("Triton at %s: %s", self._endpoint.grpc_url, detail)
        self._detail = detail

    async def _check_models(self) -> None:
        """Ask for each model: the server as a whole may have others, which aren't needed here.

        Raises:
            GatewayError: one isn't ready, or the server doesn't answer.
        """
        names = [model.name for model in contract.MODELS]
        with translated():
            states = await asyncio.gather(
                *(self._client.is_model_ready(name, client_timeout=_CALL_SECONDS) for name in names)
            )
        missing = [name for name, ready in zip(names, states, strict=True) if not ready]
        if missing:
            raise Unavailable(f"These models are not ready: {', '.join(missing)}.")

    async def _open_pool(self) -> SlotPool:
        """Make slots, in shared memory if the settings and the server admit it.

        Raises:
            Unavailable: shared memory was asked for and can't be had, or the server doesn't answer.
        """
        if self._settings.transport != "grpc":
            try:
                return await self._open_shared_pool()
            except (OSError, Refused) as error:
                reason = error.detail if isinstance(error, Refused) else str(error)
                if self._settings.transport == "system":
                    raise Unavailable(f"Shared memory with Triton can't be had: {reason}") from error
                logger.info("Shared memory with Triton can't be had: %s", reason)
        return SlotPool(self._settings.slots, 0)

    async def _open_shared_pool(self) -> SlotPool:
        slots.sweep()
        pool = SlotPool(self._settings.slots, self._settings.slot_bytes)
        try:
            for region in pool.regions:
                await self._register(region)
            await self._unregister_dead()
        except BaseException:
            await self._close(pool)
            raise
        return pool

    async def _warm_up(self, pool: SlotPool) -> None:
        """Run every network once, the detector's on an image that travels as all will."""
        async with pool.acquire(_CALL_SECONDS) as slot:
            region = slot.region if slot.reserve(_WARM_UP_SHAPE) else None
            pixels = slot.view(_WARM_UP_SHAPE) if region else np.empty(_WARM_UP_SHAPE, np.uint8)
            pixels[:] = 0
            await self._infer(contract.PLATE_RECOGNITION, slot, pixels, region)
        # A black image has no plate to read.
        for model in (contract.STN, contract.LPRNET):
            (spec,) = model.inputs
            crop = InferInput(spec.name, [1, *spec.shape], spec.datatype)
            crop.set_data_from_numpy(np.zeros((1, *spec.shape), np.float32))
            with translated():
                await self._client.infer(model.name, [crop])

    async def _register(self, region: Region) -> None:
        """Make a region known to the server, unless it is.

        Raises:
            Refused: the server doesn't take it.
            GatewayError: the server doesn't answer.
        """
        if region.registered:
            return
        with translated_registration():
            await self._client.register_system_shared_memory(
                region.name, f"/{region.name}", region.nbytes, headers=self._headers, client_timeout=_CALL_SECONDS
            )
        region.registered = True

    async def _unregister(self, name: str) -> None:
        with translated():
            await self._client.unregister_system_shared_memory(
                name, headers=self._headers, client_timeout=_CALL_SECONDS
            )

    async def _unregister_dead(self) -> None:
        """Make the server let go of the regions of dead gateways, whose memory it would keep."""
        with translated():
            status = await self._client.get_system_shared_memory_status(
                headers=self._headers, client_timeout=_CALL_SECONDS
            )
        for name in status.regions:
            # The server opened a region of ours by its name, so its /dev/shm is this one.
            if slots.NAME.fullmatch(name) and not shm.alive(name):
                logger.info("Triton lets go of the dead region %s", name)
                # Another gateway may have been faster.
                with contextlib.suppress(GatewayError):
                    await self._unregister(name)

    async def _close(self, pool: SlotPool) -> None:
        """Wait for the requests that are under way, then give the memory back."""
        await pool.drain(self._settings.deadline_seconds)
        for region in pool.regions:
            if region.registered:
                # A server that is gone has forgotten it already.
                with contextlib.suppress(GatewayError):
                    await self._unregister(region.name)
        pool.remove()

    @property
    def _headers(self) -> dict[str, str]:
        return self._endpoint.grpc_headers


@functools.cache
def _outputs(model: contract.Model) -> list[InferRequestedOutput]:
    return [InferRequestedOutput(tensor.name) for tensor in model.outputs]


def _plates(result: InferResult) -> list[Plate]:
    columns = [
        result.as_numpy(tensor.name).tolist()
        for tensor in contract.PLATE_RECOGNITION.outputs
        if tensor is not contract.MILLISECONDS
    ]
    return [_plate(*row) for row in zip(*columns, strict=True)]


def _plate(
    box: list[float],
    text: list[bytes],
    detection_score: list[float],
    text_score: list[float],
    character_scores: list[float],
    candidates: list[bytes],
    candidate_scores: list[float],
    kind: list[bytes],
    region: list[bytes],
    lines: list[int],
) -> Plate:
    """Make a plate of its row in each output of `contract.PLATE_RECOGNITION`, in the order of the contract."""
    texts = [candidate.decode() for candidate in candidates if candidate]
    return Plate(
        Box(*box),
        text[0].decode(),
        text_score[0],
        detection_score[0],
        tuple(character_scores[: len(texts[0])] if texts else ()),
        tuple(Candidate(*pair) for pair in zip(texts, candidate_scores, strict=False)),
        kind[0].decode(),
        region[0].decode(),
        lines[0],
    )
