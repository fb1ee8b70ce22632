"""The calls of Triton that a gateway makes to answer, with errors of ours."""

import contextlib
import functools
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AbstractContextManager
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

LONGEST_PAUSE_SECONDS: Final = 0.25
"""Between two tries to reach a Triton that is away, whoever tries. Several such pauses can come one after the other,
and together they are what the gateway is ready later than Triton."""

CHANNEL: Final = [
    ("grpc.max_send_message_length", 2**31 - 1),
    ("grpc.max_receive_message_length", 2**31 - 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1000),
    # gRPC's own maximum is two minutes; Triton is back in seconds.
    ("grpc.max_reconnect_backoff_ms", int(1000 * LONGEST_PAUSE_SECONDS)),
    # Otherwise a channel takes over the pauses of another one to the same address: see `Rpc.reconnect`.
    ("grpc.use_local_subchannel_pool", 1),
    # While a request is under way: tells a machine that is gone without a word from one that works.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.enable_http_proxy", 0),
]
"""How gRPC's connections to a Triton behave."""


def pauses(first: float) -> Iterator[float]:
    """Yield the seconds to wait between tries to reach a Triton that is away: ever longer, up to the longest."""
    while first < LONGEST_PAUSE_SECONDS:
        yield first
        first *= 2
    while True:
        yield LONGEST_PAUSE_SECONDS


class _Connection:
    """A channel, and the number of calls that are under way on it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.client = InferenceServerClient(endpoint.grpc_url, channel_args=CHANNEL)
        self.calls = 0


class Rpc:
    """One connection to one Triton, made in a running event loop. It connects when it is used, again and again."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._connection = _Connection(endpoint)
        self._former: set[_Connection] = set()
        """Those that still have calls under way."""
        self._sharing: Final[dict[str, Any]] = {"headers": endpoint.grpc_headers, "client_timeout": CALL_SECONDS}

    async def close(self) -> None:
        """End what is under way, and the connection."""
        for connection in (self._connection, *self._former):
            await connection.client.close()

    async def reconnect(self) -> None:
        """Make the next calls on a connection without a past; those under way go on where they are.

        A channel that has failed makes pauses: between two tries to connect those of CHANNEL, but between two questions
        for a name that wasn't known, as that of a container that is away, up to two minutes, which nothing sets.
        """
        former, self._connection = self._connection, _Connection(self.endpoint)
        if former.calls:
            self._former.add(former)
        else:
            await former.client.close()

    @contextlib.asynccontextmanager
    async def _calling(self, translating: AbstractContextManager[None]) -> AsyncIterator[InferenceServerClient]:
        """Give the client for one call, whose errors are translated."""
        connection = self._connection
        connection.calls += 1
        try:
            with translating:
                yield connection.client
        finally:
            connection.calls -= 1
            if connection in self._former and not connection.calls:
                self._former.remove(connection)
                await connection.client.close()

    async def infer(self, model: contract.Model, tensor: InferInput, seconds: float) -> InferResult:
        """Ask a model that has one input.

        Cancelled, or without an answer within that time, it tells Triton, whose `is_cancelled()` is true then. What
        is left of the time also goes to the model, as the request's `timeout` in microseconds.

        Raises:
            ConnectionLost, RegionLost, Unavailable, DeadlineExceeded: as their names say.
            GatewayError: Triton can't process the request.
        """
        async with self._calling(translated()) as client:
            return await client.infer(
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
        async with self._calling(translated()) as client:
            states = [await client.is_model_ready(name, client_timeout=CALL_SECONDS) for name in names]
        missing = [name for name, ready in zip(names, states, strict=True) if not ready]
        if missing:
            raise Unavailable(f"These models are not ready: {', '.join(missing)}.")

    async def instances(self, model: contract.Model) -> int:
        """Return how many requests a model works on at once.

        Raises:
            GatewayError: the server doesn't have it, or doesn't answer.
        """
        async with self._calling(translated()) as client:
            found = await client.get_model_config(model.name, client_timeout=CALL_SECONDS)
        return sum(group.count for group in found.config.instance_group)

    async def register_system(self, region: str, key: str, nbytes: int) -> None:
        """Make a file of /dev/shm known to the server.

        Raises:
            Refused: the server doesn't take it.
            GatewayError: the server doesn't answer.
        """
        async with self._calling(translated_registration()) as client:
            await client.register_system_shared_memory(region, key, nbytes, **self._sharing)

    async def register_cuda(self, region: str, handle: bytes, device: int, nbytes: int) -> None:
        """Make memory of a GPU known to the server; `handle` is its CUDA IPC handle in base64.

        Raises:
            Refused: the server doesn't take it.
            GatewayError: the server doesn't answer.
        """
        async with self._calling(translated_registration()) as client:
            await client.register_cuda_shared_memory(region, handle, device, nbytes, **self._sharing)

    async def unregister(self, sharing: Sharing, region: str) -> None:
        """Make the server forget a region; one that it doesn't know is no error.

        Triton refuses that as long as a request that it hasn't ended holds the region, an abandoned one included.

        Raises:
            RegionInUse: it may still be read.
            Refused: the server doesn't share memory with us.
            GatewayError: the server doesn't answer.
        """
        async with self._calling(translated_registration()) as client:
            if sharing == "cuda":
                await client.unregister_cuda_shared_memory(region, **self._sharing)
            else:
                await client.unregister_system_shared_memory(region, **self._sharing)

    async def regions(self, sharing: Sharing) -> list[str]:
        """Return the names of all regions that the server knows, whoever registered them.

        Raises:
            Refused: the server doesn't share memory with us.
            GatewayError: the server doesn't answer.
        """
        async with self._calling(translated_registration()) as client:
            if sharing == "cuda":
                status = await client.get_cuda_shared_memory_status(**self._sharing)
            else:
                status = await client.get_system_shared_memory_status(**self._sharing)
        return list(status.regions)


@functools.cache
def _outputs(model: contract.Model) -> list[InferRequestedOutput]:
    return [InferRequestedOutput(tensor.name) for tensor in model.outputs]
