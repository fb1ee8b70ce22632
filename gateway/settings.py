"""The gateway's settings: one frozen object, read from the environment (prefix GATEWAY_), passed in, never global."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Settings; `GATEWAY_PORT=9000` in the environment sets `port`."""

    model_config = SettingsConfigDict(env_prefix="GATEWAY_", frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", description="Address that the gateway listens on.")
    port: int = Field(8080, ge=0, le=65535, description="Port that the gateway listens on; 0 takes a free one.")

    max_body_bytes: int = Field(20 * 2**20, gt=0, description="Largest request body.")
    max_pixels: int = Field(50_000_000, gt=0, description="Largest image, width times height.")
    upload_seconds: float = Field(30.0, gt=0, description="Time in which a request body has to arrive.")
    deadline_seconds: float = Field(10.0, gt=0, description="Time from the arrival of the body to the answer.")

    triton: Literal["embedded", "external"] = Field(
        "embedded", description="Start a Triton on this machine, or use one that runs elsewhere."
    )
    triton_host: str = Field("127.0.0.1", description="Address of an external Triton.")
    triton_http_port: int = Field(8000, ge=0, le=65535, description="Triton's HTTP port.")
    triton_grpc_port: int = Field(8001, ge=0, le=65535, description="Triton's gRPC port.")
    triton_metrics_port: int = Field(8002, ge=0, le=65535, description="Triton's metrics port.")
    triton_startup_seconds: float = Field(
        120.0, gt=0, description="Time in which the embedded Triton has to become ready."
    )
    triton_shm_key: SecretStr | None = Field(
        None, description="Key of an external Triton's restricted shared-memory protocol, if it has one."
    )
    model_repository: Path | None = Field(
        None, description="Folder of Triton's models; by default the one beside the package."
    )

    transport: Literal["auto", "system", "grpc"] = Field(
        "auto", description="How images reach Triton: system shared memory, or inside the gRPC request."
    )
    slots: int = Field(8, gt=0, le=256, description="Images that can be on their way to Triton at once.")
    slot_bytes: int = Field(
        4096 * 3072 * 3, gt=0, description="Shared memory per slot; larger images travel inside the gRPC request."
    )

    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least severe log line.")
    log_format: Literal["auto", "text", "json"] = Field(
        "auto", description="Log lines for people or for machines; auto is text on a terminal."
    )
