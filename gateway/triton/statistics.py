"""What a Triton says about its models: whether they are ready, and how they have done since it started.

Only calls that no server restricts are made: the index of the model repository, which an embedded one keeps behind its
key, isn't asked for.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final

from tritonclient.grpc.aio import InferenceServerClient

from gateway.triton.endpoint import Endpoint
from gateway.triton.errors import translated
from gateway.triton.rpc import CHANNEL
from plates import contract

_CALL_SECONDS: Final = 5.0
_NANOSECONDS: Final = 1e6
"""In a millisecond."""


@dataclass(frozen=True, slots=True)
class Server:
    """The server itself."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class ModelStatistics:
    """One version of one model, since its server started.

    `requests` were answered and `failures` weren't; `inferences` counts each picture or plate of a request, and
    `executions` the batches in which they were computed. Times are means per request, but `compute_ms`, which is one
    per execution; None where there was none.
    """

    name: str
    version: str
    """Empty where no version is loaded."""
    ready: bool
    requests: int = 0
    failures: int = 0
    inferences: int = 0
    executions: int = 0
    mean_ms: float | None = None
    """From a request's arrival to its answer."""
    queue_ms: float | None = None
    """Waiting for its turn and for company in a batch."""
    compute_ms: float | None = None
    """Computing, per execution; of a model that asks others, their time as well."""
    batch_sizes: dict[int, int] = field(default_factory=dict)
    """Executions by the size of their batch."""


async def read(endpoint: Endpoint) -> tuple[Server, list[ModelStatistics]]:
    """Ask a Triton for itself and its models: those of the contract first, then whatever else it serves.

    Raises:
        GatewayError: it doesn't answer.
    """
    client = InferenceServerClient(endpoint.grpc_url, channel_args=CHANNEL)
    try:
        with translated():
            metadata = await client.get_server_metadata(client_timeout=_CALL_SECONDS)
            statistics = await client.get_inference_statistics(client_timeout=_CALL_SECONDS)
            served = list(statistics.model_stats)
            wanted = [model.name for model in contract.MODELS]
            names = wanted + sorted({entry.name for entry in served} - set(wanted))
            ready = await asyncio.gather(*(client.is_model_ready(name, client_timeout=_CALL_SECONDS) for name in names))
    finally:
        await client.close()
    models: list[ModelStatistics] = []
    for name, is_ready in zip(names, ready, strict=True):
        versions = [_statistics(entry, is_ready) for entry in served if entry.name == name]
        models += versions or [ModelStatistics(name, "", is_ready)]
    return Server(metadata.name, metadata.version), models


def _statistics(entry: Any, ready: bool) -> ModelStatistics:
    """Make it of Triton's `ModelStatistics` message (statistics extension of the KServe protocol)."""
    stats = entry.inference_stats
    batches = {batch.batch_size: batch.compute_infer for batch in entry.batch_stats}
    executions = sum(batch.count for batch in batches.values())
    return ModelStatistics(
        name=entry.name,
        version=entry.version,
        ready=ready,
        requests=stats.success.count,
        failures=stats.fail.count,
        inferences=entry.inference_count,
        executions=entry.execution_count,
        mean_ms=_mean(stats.success.ns, stats.success.count),
        queue_ms=_mean(stats.queue.ns, stats.queue.count),
        compute_ms=_mean(sum(batch.ns for batch in batches.values()), executions),
        batch_sizes={size: batches[size].count for size in sorted(batches)},
    )


def _mean(nanoseconds: int, count: int) -> float | None:
    return nanoseconds / count / _NANOSECONDS if count else None
