"""The calls of Triton that a gateway makes to answer, with errors of ours."""

import functools
from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias

from tritonclient.grpc import InferInput, InferRequestedOutput, InferResult
from tritonclient.grpc.aio import InferenceServerClient

from gateway.errors import Unavailable
from gateway.triton.endpoint import Endpoint
from gateway.triton.errors import translated, translated_registration
from plates import contract

Sharing: TypeAlias = Literal["cuda", "system"]
"""Kinds of shared memory. Triton keeps two lists of regions, with one namespace for the names of both."""

CALL_SECONDS: Final = 2.0
"""Time for a call that computes nothing."""

CHANNEL: Final = [
    ("grpc.max_send_message_length", 2**31 - 1),
    ("grpc.max_receive_message_length", 2**31 - 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1000),
    # gRPC's own maximum is two minutes; Triton is back in seconds.
    ("grpc.max_reconnect_backoff_ms", 1000),
    # While a request is under way: tells a machine that is gone without a word from one that works.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.enable_http_proxy", 0),
]
"""How gRPC's connections to a Triton behave."""


class Rpc:
    """One connection to one Triton, made in a running event loop. It connects when it is used, again and again."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._client = InferenceServerClient(endpoint.grpc_url, channel_args=CHANNEL)
        self._sharing: Final[dict[str, Any]] = {"headers": endpoint.grpc_headers, "client_timeout": CALL_SECONDS}

    async def close(self) -> None:
        """End what is under way, and the connection."""
        await self._client.close()

    async def infer(self, model: contract.Model, tensor: InferInput, seconds: float) -> InferResult:
        """Ask a model that has one input.

        Cancelled, or without an answer within that time, it tells Triton, whose `is_cancelled()` is true then. What
        is left of the time also goes to the model, as the request's `timeout` in microseconds.

        Raises:
            ConnectionLost, RegionLost, Unavailable, DeadlineExceeded: as their names say.
            GatewayError: Triton can't process the request.
        """
        with translated():
            return await self._client.infer(
                model.name,
                [tensor],
                outputs=_outputs(model),
                timeout=max(1, int(1e6 * seconds)),
                client_timeout=seconds,
            )

    async def check_models(self, models: Iterable[contract.Model] = contract.MODELS) -> None:
        """Ask for each model: the server as a whole may have others, which aren't needed here.

        Raises:
            GatewayError: one isn't ready, or the server doesn't answer.
        """
        names = [model.name for model in models]
        with translated():
            states = [await self._client.is_model_ready(name, client_timeout=CALL_SECONDS) for name in names]
        missing = [name for name, ready in zip(names, states, strict=True) if not ready]
        if missing:
            raise Unavailable(f"These models are not ready: {', '.join(missing)}.")

    async def register_system(self, region: str, key: str, nbytes: int) -> None:
        """Make a file of /dev/shm known to the server.

        Raises:
            Refused: the server doesn't take it.
            GatewayError: the server doesn't answer.
        """
        with translated_registration():
            await self._client.register_system_shared_memory(region, key, nbytes, **self._sharing)

    async def register_cuda(self, region: str, handle: bytes, device: int, nbytes: int) -> None:
        """Make memory of a GPU known to the server; `handle` is its CUDA IPC handle in base64.

        Raises:
            Refused: the server doesn't take it.
            GatewayError: the server doesn't answer.
        """
        with translated_registration():
            await self._client.register_cuda_shared_memory(region, handle, device, nbytes, **self._sharing)

    async def unregister(self, sharing: Sharing, region: str) -> None:
        """Make the server forget a region; one that it doesn't know is no error.

        Triton refuses that as long as a request that it hasn't ended holds the region, an abandoned one included.

        Raises:
            RegionInUse: it may still be read.
            Refused: the server doesn't share memory with us.
            GatewayError: the server doesn't answer.
        """
        with translated_registration():
            if sharing == "cuda":
                await self._client.unregister_cuda_shared_memory(region, **self._sharing)
            else:
                await self._client.unregister_system_shared_memory(region, **self._sharing)

    async def regions(self, sharing: Sharing) -> list[str]:
        """Return the names of all regions that the server knows, whoever registered them.

        Raises:
            Refused: the server doesn't share memory with us.
            GatewayError: the server doesn't answer.
        """
        with translated_registration():
            if sharing == "cuda":
                status = await self._client.get_cuda_shared_memory_status(**self._sharing)
            else:
                status = await self._client.get_system_shared_memory_status(**self._sharing)
        return list(status.regions)


@functools.cache
def _outputs(model: contract.Model) -> list[InferRequestedOutput]:
    return [InferRequestedOutput(tensor.name) for tensor in model.outputs]
