"""`plate-gateway models`: the state of Triton's models, and how they have done."""

import asyncio
import json
from dataclasses import asdict
from typing import Annotated, Final

import typer

from gateway import telemetry
from gateway.commands.common import FAILED, answer, fail, read_settings
from gateway.errors import GatewayError
from gateway.triton.endpoint import Endpoint
from gateway.triton.statistics import ModelStatistics, Server, read

_TABLE: Final = "{:<18} {:<9} {:>7} {:>9} {:>8} {:>9} {:>9} {:>11}  {}"
_HEAD: Final = ("model", "state", "version", "requests", "failures", "mean ms", "queue ms", "compute ms", "batches")


def models(
    host: Annotated[str | None, typer.Option(help="Triton's address; overrides GATEWAY_TRITON_HOST.")] = None,
    grpc_port: Annotated[
        int | None, typer.Option(help="Triton's gRPC port; overrides GATEWAY_TRITON_GRPC_PORT.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show the models of a running Triton since its start: means per request, compute time per batch.

    Exit status: 1 where one of the service's models isn't ready, or no Triton answers.
    """
    settings = read_settings(triton_host=host, triton_grpc_port=grpc_port)
    telemetry.configure(settings.model_copy(update={"log_level": "error", "log_format": "text"}))
    endpoint = Endpoint.external(settings)
    try:
        server, found = asyncio.run(read(endpoint))
    except GatewayError as error:
        fail(f"The Triton at {endpoint.grpc_url} says nothing: {error.detail} `plate-gateway serve` tells its ports.")
    answer(_json(server, found) if as_json else _table(server, found))
    if not all(model.ready for model in found):
        raise typer.Exit(FAILED)


def _json(server: Server, found: list[ModelStatistics]) -> str:
    return json.dumps({"server": asdict(server), "models": [asdict(model) for model in found]}, indent=2)


def _table(server: Server, found: list[ModelStatistics]) -> str:
    rows = [
        _TABLE.format(
            *(model.name, "ready" if model.ready else "not ready", model.version or "-"),
            *(model.requests, model.failures),
            *(_milliseconds(value) for value in (model.mean_ms, model.queue_ms, model.compute_ms)),
            " ".join(f"{size}x{count}" for size, count in model.batch_sizes.items()) or "-",
        )
        for model in found
    ]
    return "\n".join((f"{server.name} {server.version}", _TABLE.format(*_HEAD), *rows))


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
