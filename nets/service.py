"""A running service to ask: the one at an address, the one that happens to run, or one that is started for the time."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import httpx

DEFAULT_URL: Final = "http://127.0.0.1:8080"
SERVE: Final = (sys.executable, "-m", "gateway.cli", "serve")
START_SECONDS: Final = 180.0
STOP_SECONDS: Final = 45.0
"""Triton lets requests finish for up to 30 s."""


class NoServiceError(Exception):
    """There is no service to ask."""


@contextmanager
def service(url: str | None, repository: Path | None = None) -> Iterator[str]:
    """Give the address of a service: the one asked for, the one that runs, or one that is started and stopped here.

    Args:
        url: its address.
        repository: the models that it serves; with these one is always started.

    Raises:
        NoServiceError: nothing answers at the address asked for, or the service doesn't start.
    """
    if repository is None and _answers(url or DEFAULT_URL):
        yield url or DEFAULT_URL
    elif url:
        raise NoServiceError(f"Nothing answers at {url}.")
    else:
        with tempfile.TemporaryFile("w+") as log:
            yield from _started(log, repository)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health/live", timeout=5).is_success
    except httpx.HTTPError:
        return False


def _started(log: IO[str], repository: Path | None) -> Iterator[str]:
    port = free_port()
    environment = os.environ | {
        "GATEWAY_PORT": str(port),
        "GATEWAY_TRITON_HTTP_PORT": "0",
        "GATEWAY_TRITON_GRPC_PORT": "0",
        "GATEWAY_TRITON_METRICS_PORT": "0",
    }
    if repository:
        environment["GATEWAY_MODEL_REPOSITORY"] = str(repository.resolve())
    process = subprocess.Popen(SERVE, env=environment, stdout=log, stderr=log)  # noqa: S603 - our own command
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_ready(process, url, log)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """Return a port of the loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: IO[str]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/health/ready", timeout=5).is_success:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    log.seek(0)
    last_lines = "".join(log.readlines()[-20:])
    raise NoServiceError(f"The service did not become ready. Its last lines:\n{last_lines}")
