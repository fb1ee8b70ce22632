"""Where a Triton listens and what it asks of those who use its shared-memory protocol."""

from dataclasses import dataclass, field
from typing import Final, Self

from gateway.settings import Settings

KEY_NAME: Final = "plate-gateway"
"""Name in `--grpc-restricted-protocol=shared-memory,...:NAME=KEY`, ours and an external server's."""

GRPC_HEADER_PREFIX: Final = "triton-grpc-protocol-"
"""Triton's prefix of the gRPC header that carries the key (its HTTP header has the bare name)."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A Triton's address."""

    host: str
    http_port: int
    grpc_port: int
    metrics_port: int
    shm_key: str | None = field(default=None, repr=False)
    """Key of the restricted protocols; None where the server restricts none."""

    @classmethod
    def external(cls, settings: Settings) -> Self:
        """Return the address of the external server that the settings name."""
        return cls(
            settings.triton_host,
            settings.triton_http_port,
            settings.triton_grpc_port,
            settings.triton_metrics_port,
            settings.triton_shm_key.get_secret_value() if settings.triton_shm_key else None,
        )

    @property
    def local(self) -> bool:
        """Whether the address is this machine's loopback."""
        return self.host in {"localhost", "::1"} or self.host.startswith("127.")

    @property
    def grpc_url(self) -> str:
        """host:port as gRPC spells it."""
        return f"{self._bracketed}:{self.grpc_port}"

    @property
    def http_url(self) -> str:
        """URL of the HTTP protocol."""
        return f"http://{self._bracketed}:{self.http_port}"

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def grpc_headers(self) -> dict[str, str]:
        """Headers of a gRPC request to a restricted protocol."""
        return {} if self.shm_key is None else {GRPC_HEADER_PREFIX + KEY_NAME: self.shm_key}
