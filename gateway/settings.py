"""The gateway's settings: one frozen object, read from the environment (prefix GATEWAY_), passed in, never global.

Their bounds are generous, and still such that everything within them works.
"""

import re
from collections import Counter
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar

from limits import RateLimitItem, parse
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, StringConstraints
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

Item = TypeVar("Item")

KEY_ID: Final = "[A-Za-z0-9_-]{1,64}"

_ORIGIN: Final = re.compile(r"\*|[a-z][a-z0-9+.-]*://([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")

Seconds = Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)]

ApiKey = Annotated[str, StringConstraints(pattern=f"^{KEY_ID}:[0-9a-f]{{64}}$")]
"""A key's id, which the logs show, and the SHA-256 of the key in hexadecimal."""


def _split(value: object) -> object:
    """Return the words of a list that stands in one environment variable."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


Words = Annotated[tuple[Item, ...], NoDecode, BeforeValidator(_split)]
"""A list whose items are separated by commas or spaces."""


def _check_rate(value: str) -> str:
    parse_rate(value)
    return value


def parse_rate(value: str) -> RateLimitItem:
    """Return the rate that a text like "60/minute" stands for.

    Raises:
        ValueError: the text is no rate.
    """
    try:
        rate = parse(value)
    except ValueError:
        raise ValueError('not a rate such as "60/minute" or "10/second"') from None
    # From the text: `limits` takes a window of 0 minutes for one of 1.
    if any(int(number) == 0 for number in re.findall("[0-9]+", value)):
        raise ValueError("a rate that admits nothing; leave it unset for no limit, or take at least 1/hour")
    return rate


def _check_origin(value: str) -> str:
    if not _ORIGIN.fullmatch(value):
        raise ValueError("no origin as browsers send it, in small letters and without a path: https://example.org or *")
    return value


def _check_key_ids(value: tuple[ApiKey, ...]) -> tuple[ApiKey, ...]:
    doubled = [identity for identity, count in Counter(key.partition(":")[0] for key in value).items() if count > 1]
    if doubled:
        raise ValueError(f"several keys have the id {doubled[0]}; give each one an id of its own")
    return value


class Settings(BaseSettings):
    """Settings; `GATEWAY_PORT=9000` in the environment sets `port`."""

    model_config = SettingsConfigDict(env_prefix="GATEWAY_", frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", description="Address that the gateway listens on.")
    port: int = Field(8080, ge=0, le=65535, description="Port that the gateway listens on; 0 takes a free one.")
    workers: int = Field(1, ge=1, le=64, description="Processes that answer requests, each with slots of its own.")

    max_body_bytes: int = Field(20 * 2**20, gt=0, le=2**30, description="Largest request body.")
    max_pixels: int = Field(50_000_000, gt=0, le=2**30, description="Largest image, width times height.")
    upload_seconds: Seconds = Field(30.0, description="Time in which a request body has to arrive.")
    deadline_seconds: Seconds = Field(10.0, description="Time from the arrival of the body to the answer.")
    max_parts: int = Field(64, gt=0, le=10_000, description="Fields and files in the form of one picture.")
    max_batch_files: int = Field(100, gt=0, le=100_000, description="Files in a batch.")
    max_batch_bytes: int = Field(
        256 * 2**20, gt=0, le=2**40, description="Largest body of a batch; each file: max_body_bytes."
    )

    api_keys: Annotated[Words[ApiKey], AfterValidator(_check_key_ids)] = Field(
        (), description="Keys that admit a client, as ID:SHA256 each; without any, everybody is admitted."
    )
    rate_limit: Annotated[str, AfterValidator(_check_rate)] | None = Field(
        None, description='Pictures that one key, or one address without keys, may send: "60/minute".'
    )
    cors_origins: Words[Annotated[str, AfterValidator(_check_origin)]] = Field(
        (), description="Origins whose pages may call the API from a browser; * for all of them."
    )
    compatible_endpoints: bool = Field(
        True, description="Answer clients of Plate Recognizer (/v1/plate-reader/) and CodeProject.AI (/v1/vision/alpr)."
    )

    url_input: bool = Field(False, description="Fetch pictures from URLs that clients send.")
    url_seconds: Seconds = Field(10.0, description="Time in which a picture has to come from its URL.")
    url_networks: Words[IPv4Network | IPv6Network] = Field(
        (), description="Private networks whose pictures may be fetched all the same: 10.1.2.0/24."
    )

    triton: Literal["embedded", "external"] = Field(
        "embedded", description="Start a Triton on this machine, or use one that runs elsewhere."
    )
    triton_device: Literal["cpu", "gpu"] = Field(
        "cpu", description="Where an embedded Triton runs the networks; gpu needs PyTorch and exported networks."
    )
    triton_host: str = Field("127.0.0.1", description="Address of an external Triton.")
    triton_http_port: int = Field(8000, ge=0, le=65535, description="Triton's HTTP port.")
    triton_grpc_port: int = Field(8001, ge=0, le=65535, description="Triton's gRPC port.")
    triton_metrics_port: int = Field(8002, ge=0, le=65535, description="Triton's metrics port.")
    triton_startup_seconds: Seconds = Field(120.0, description="Time in which the embedded Triton has to become ready.")
    triton_shm_key: SecretStr | None = Field(
        None, description="Key of an external Triton's restricted shared-memory protocol, if it has one."
    )
    model_repository: Path | None = Field(
        None, description="Folder of Triton's models; by default the one beside the package."
    )

    transport: Literal["auto", "cuda", "system", "grpc"] = Field(
        "auto",
        description="How images reach Triton: memory of the GPU, system shared memory, or inside the gRPC request; "
        "auto takes the first that works.",
    )
    cuda_device: int = Field(0, ge=0, le=255, description="Number of the GPU that Triton uses, for the transport cuda.")
    slots: int = Field(8, gt=0, le=256, description="Images that can be on their way to Triton at once.")
    slot_bytes: int = Field(
        144 * 2**20,
        gt=0,
        le=2**40,
        description="Shared memory per slot at most, taken as images need it; larger ones travel inside the request.",
    )

    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least severe log line.")
    log_format: Literal["auto", "text", "json"] = Field(
        "auto", description="Log lines for people or for machines; auto is text on a terminal."
    )
