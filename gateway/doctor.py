"""What this machine has and lacks to run the service, each with what mends it. Nothing is changed."""

import contextlib
import errno
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import httpx

from gateway.client.address import local_url
from gateway.settings import Settings
from gateway.triton import installation, ports, shm
from gateway.triton.embedded import MODELS, PROTOCOLS, REPOSITORY
from gateway.triton.endpoint import Endpoint
from gateway.triton.installation import EmbeddedTritonError

_PROBE_SECONDS: Final = 2.0
_STUBS_BYTES: Final = 64 * 2**20
"""Shared memory that the server's Python models take when they start."""

_NVIDIA_SMI: Final = ("--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")


class State(StrEnum):
    """How a finding is to be taken."""

    GOOD = "good"
    NOTE = "note"
    """Lacking, but the service runs without it."""
    LACKING = "lacking"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    state: State
    detail: str
    mend: str = ""
    """What to do; empty where there is nothing to do, or where the detail says it."""


Check = Callable[[Settings], Finding]


def examine(settings: Settings) -> Iterator[Finding]:
    """Yield what there is to say about this machine, for a service with these settings."""
    checks = (_EMBEDDED if settings.triton == "embedded" else _EXTERNAL) + _ALWAYS
    for check in checks:
        yield check(settings)


def _platform(settings: Settings) -> Finding:
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
    detail = f"{platform.system()} {platform.machine()}, {libc or 'no glibc'}"
    return _embedded_part("system", detail, installation.check_platform)


def _python(settings: Settings) -> Finding:
    return _embedded_part("Python", platform.python_version(), installation.check_python)


def _libpython(settings: Settings) -> Finding:
    try:
        return Finding("Python's library", State.GOOD, str(installation.find_libpython()))
    except EmbeddedTritonError as error:
        return Finding("Python's library", State.LACKING, str(error))


def _packages(settings: Settings) -> Finding:
    versions = ", ".join(f"{name} {_version(name)}" for name in ("nvidia-pytriton", "numpy", "onnxruntime"))
    if importlib.util.find_spec("onnxruntime") is None:
        return Finding("packages", State.LACKING, versions, "pip install 'plate-gateway[embedded]'")
    return _embedded_part("packages", versions, installation.check_packages)


def _embedded_part(name: str, detail: str, check: Callable[[], object]) -> Finding:
    try:
        check()
    except EmbeddedTritonError as error:
        return Finding(name, State.LACKING, str(error))
    return Finding(name, State.GOOD, detail)


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


def _models(settings: Settings) -> Finding:
    repository = (settings.model_repository or REPOSITORY).resolve()
    return _embedded_part(
        "models",
        f"{', '.join(MODELS)} in {repository}",
        lambda: installation.check_repository(repository, MODELS, settings.triton_device),
    )


def _shared_memory(settings: Settings) -> Finding:
    name, needed = "shared memory", settings.workers * settings.slots * settings.slot_bytes + _STUBS_BYTES
    probe = f"plate-doctor-{os.getpid()}"
    try:
        os.close(shm.create(probe))
        (shm.ROOT / probe).unlink()
        free = shutil.disk_usage(shm.ROOT).free
    except OSError as error:
        mend = "mount a tmpfs there, with mode 1777: mount -t tmpfs -o mode=1777 tmpfs /dev/shm"
        return Finding(name, State.LACKING, f"{shm.ROOT} can't be written: {error.strerror}", mend)
    detail = f"{free >> 20} MiB free in {shm.ROOT}, {needed >> 20} MiB wanted"
    if free < needed:
        size = f"{-(-needed // 2**30)}g"
        ways = f"docker run --shm-size={size}; mount -o remount,size={size} /dev/shm"
        mend = f"enlarge it ({ways}), or lower GATEWAY_SLOTS or GATEWAY_SLOT_BYTES"
        return Finding(name, State.LACKING, detail, mend)
    return Finding(name, State.GOOD, detail)


def _triton_ports(settings: Settings) -> Finding:
    wanted = (settings.triton_http_port, settings.triton_grpc_port, settings.triton_metrics_port)
    taken = [
        f"{protocol} {port}"
        for protocol, port in zip(PROTOCOLS, wanted, strict=True)
        if port and not ports.is_free(port)
    ]
    if taken:
        return Finding("Triton's ports", State.NOTE, f"taken: {', '.join(taken)}", "free ones are taken instead")
    return Finding("Triton's ports", State.GOOD, f"{', '.join(map(str, wanted))} are free")


def _triton(settings: Settings) -> Finding:
    address = Endpoint.external(settings).http_url
    try:
        ready = httpx.get(f"{address}/v2/health/ready", timeout=_PROBE_SECONDS, trust_env=False).is_success
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        mend = "start it, or set GATEWAY_TRITON_HOST and GATEWAY_TRITON_HTTP_PORT"
        return Finding("Triton", State.LACKING, f"nothing answers at {address}: {error}", mend)
    if not ready:
        mend = "its log says which model doesn't load; `plate-gateway models` lists them"
        return Finding("Triton", State.LACKING, f"the server at {address} isn't ready", mend)
    return Finding("Triton", State.GOOD, f"ready at {address}")


def _gateway(settings: Settings) -> Finding:
    host, port = settings.host, settings.port
    try:
        with contextlib.closing(_listener(host, port)):
            return Finding("gateway's port", State.GOOD, f"{port} of {host} is free")
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            mend = "set GATEWAY_HOST to an address of this machine, and GATEWAY_PORT above 1023"
            return Finding("gateway's port", State.LACKING, f"can't listen on {host}, port {port}: {error}", mend)
    try:
        answer = httpx.get(f"{local_url(settings)}/health/ready", timeout=_PROBE_SECONDS, trust_env=False).json()
        detail = f"a gateway runs at {local_url(settings)}, {answer['status']}: {answer['detail']}"
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        mend = "set GATEWAY_PORT to another one, or to 0 for a free one"
        return Finding("gateway's port", State.LACKING, f"{port} of {host} is taken by something else", mend)
    return Finding("gateway's port", State.GOOD, detail)


def _listener(host: str, port: int) -> socket.socket:
    family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return socket.create_server(address[:2], family=family)


def _gpu(settings: Settings) -> Finding:
    name, without = "GPU", "the networks run on the CPU; nothing to do where that is meant"
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return Finding(name, State.NOTE, "none: nvidia-smi isn't there", without)
    try:
        found = subprocess.run([tool, *_NVIDIA_SMI], capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(name, State.NOTE, f"nvidia-smi fails: {error}", "install NVIDIA's driver anew")
    if found.returncode != 0:
        reason = (found.stdout + found.stderr).strip().splitlines()[:1]
        return Finding(name, State.NOTE, f"nvidia-smi fails: {' '.join(reason)}", "install NVIDIA's driver anew")
    detail = "; ".join(found.stdout.strip().splitlines())
    if importlib.util.find_spec("cuda") is None:
        mend = "pip install 'plate-gateway[cuda]': images then reach a Triton on it in its own memory"
        return Finding(name, State.NOTE, f"{detail}; cuda-python is missing", mend)
    return Finding(name, State.GOOD, f"{detail}; cuda-python {_version('cuda-python')}")


def _temporary(settings: Settings) -> Finding:
    try:
        return Finding("temporary folder", State.GOOD, tempfile.gettempdir())
    except FileNotFoundError as error:
        return Finding("temporary folder", State.LACKING, str(error), "set TMPDIR to a folder that can be written")


_EMBEDDED: Final[tuple[Check, ...]] = (
    *(_platform, _python, _libpython, _packages, _models),
    *(_shared_memory, _temporary, _triton_ports),
)
_EXTERNAL: Final[tuple[Check, ...]] = (_triton,)
_ALWAYS: Final[tuple[Check, ...]] = (_gateway, _gpu)
