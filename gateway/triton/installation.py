"""What an embedded Triton is made of: the files of the nvidia-pytriton wheel, this Python, our backends.

Nothing of the wheel's Python code is imported. Triton wants its backends in one folder, and refuses a library that a
symbolic link brings in from elsewhere, so each run gets a folder of its own with copies (3 MB).
"""

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

WAY_OUT: Final = "or run Triton elsewhere and set GATEWAY_TRITON=external"

_BACKENDS: Final = Path(__file__).parent / "backends"
_LIBPYTHON: Final = f"libpython3.{sys.version_info.minor}.so.1.0"
_GLIBC: Final = (2, 35)
_PYTHONS: Final = ((3, 11), (3, 12))
"""Those with a numpy 1. With numpy 2 the wheel's stubs pass arrays as zeros or empty, without an error."""


_NETWORKS: Final = {
    "cpu": (
        "configs/cpu.pbtxt",
        "onnxruntime",
        "model.onnx",
        "git checkout brings it back",
    ),
    "gpu": ("config.pbtxt", "pytorch", "model.pt", "make export writes it"),
}
"""For each device: the networks' configuration, its backend, the file that it serves, and where that comes from."""

_NVIDIA_DEVICES: Final = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
"""Where this process reaches a GPU: NVIDIA's driver, and that of WSL 2. What stands in /proc is the host's."""


class EmbeddedTritonError(RuntimeError):
    """The embedded Triton can't run here; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Installation:
    """The parts, as files of this machine."""

    server: Path
    python_backend: Path
    stub: Path
    """The program that runs Python models; there is one for each version of Python."""
    libraries: Path
    libpython: Path | None
    """The shared library that the stub needs; None where the wheel brings it along."""

    def prepare(self, folder: Path) -> dict[str, str]:
        """Fill an empty folder with what one run needs (`backends/`, `lib/`) and return the server's environment."""
        backends, libraries = folder / "backends", folder / "lib"
        shutil.copytree(_BACKENDS, backends, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(self.python_backend, backends / "python", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(self.stub, backends / "python")
        libraries.mkdir()
        if self.libpython is not None:
            # The library alone: its folder may hold others that Triton must not find.
            (libraries / _LIBPYTHON).symlink_to(self.libpython)
        environment = os.environ.copy()
        # The stub reads no PYTHON... variables. It looks for python3 in PATH and takes that one's prefix, so it finds
        # the packages that we have.
        environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        search = [str(self.libraries), str(libraries), os.environ.get("LD_LIBRARY_PATH", "")]
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, search))
        # Since 1.29 the Linux builds of ONNX Runtime report to their maker unless told not to.
        environment["ORT_DISABLE_TELEMETRY"] = "1"
        return environment


def find() -> Installation:
    """Find the parts.

    Raises:
        EmbeddedTritonError: the platform isn't supported, or a part is missing.
    """
    check_platform()
    check_python()
    root = check_packages()
    version = f"3.{sys.version_info.minor}"
    stub = root / "tritonserver" / "python_backend_stubs" / version / "triton_python_backend_stub"
    return Installation(
        server=root / "tritonserver" / "bin" / "tritonserver",
        python_backend=root / "tritonserver" / "backends" / "python",
        stub=stub,
        libraries=root.parent / "nvidia_pytriton.libs",
        libpython=find_libpython() if _LIBPYTHON.encode() in stub.read_bytes() else None,
    )


def check_repository(repository: Path, models: Sequence[str], device: Literal["cpu", "gpu"] = "cpu") -> None:
    """Check that a folder holds the models, before a server is started for it.

    Raises:
        EmbeddedTritonError: a model or its network is missing, or the device, or what runs it there.
    """
    missing = [name for name in models if not (repository / name / "config.pbtxt").is_file()]
    if missing:
        raise EmbeddedTritonError(
            f"The model repository {repository} lacks {', '.join(missing)}: "
            "set GATEWAY_MODEL_REPOSITORY to the folder of that name in the project's source."
        )
    if device == "gpu" and not any(path.exists() for path in _NVIDIA_DEVICES):
        raise EmbeddedTritonError(
            "GATEWAY_TRITON_DEVICE=gpu needs an NVIDIA GPU, and this machine, or container, shows none: "
            "install NVIDIA's driver (in a container: docker run --gpus all), or set GATEWAY_TRITON_DEVICE=cpu."
        )
    if device == "gpu" and importlib.util.find_spec("torch") is None:
        raise EmbeddedTritonError("GATEWAY_TRITON_DEVICE=gpu needs PyTorch: make setup-train installs it.")
    configuration, backend, file, mend = _NETWORKS[device]
    for name in models:
        config, network = repository / name / configuration, repository / name / "1" / file
        if config.is_file() and f'backend: "{backend}"' in config.read_text() and not network.is_file():
            raise EmbeddedTritonError(f"{network} is missing: {mend}.")


def check_platform() -> None:
    """Check the operating system, the processor and the C library.

    Raises:
        EmbeddedTritonError: the wheel's programs don't run here.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise EmbeddedTritonError(
            f"The embedded Triton runs on Linux x86-64, not on {platform.system()} {platform.machine()}: "
            f"use docker compose up, {WAY_OUT}."
        )
    name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    if name != "glibc" or tuple(int(part) for part in version.split(".")[:2]) < _GLIBC:
        raise EmbeddedTritonError(
            "The embedded Triton needs glibc 2.35 or newer (Debian 12, Ubuntu 22.04), "
            f"not {version or 'another libc'}: use docker compose up, {WAY_OUT}."
        )


def check_python() -> None:
    """Check that this Python runs models.

    Raises:
        EmbeddedTritonError: it has no numpy 1.
    """
    if sys.version_info[:2] not in _PYTHONS:
        raise EmbeddedTritonError(
            f"The embedded Triton runs models under Python 3.11 or 3.12, not under {platform.python_version()}: "
            f"`make clean run PYTHON=python3.12` makes the environment anew, {WAY_OUT}."
        )


def check_packages() -> Path:
    """Check what pip installed, and return the folder of the wheel's package.

    Raises:
        EmbeddedTritonError: the wheel isn't installed, or numpy isn't the one that it works with.
    """
    package = importlib.util.find_spec("pytriton")
    if package is None or not package.submodule_search_locations:
        raise EmbeddedTritonError(
            f"The embedded Triton needs the package nvidia-pytriton: pip install 'plate-gateway[embedded]', {WAY_OUT}."
        )
    numpy = importlib.metadata.version("numpy")
    if not numpy.startswith("1."):
        raise EmbeddedTritonError(
            f"The embedded Triton works with numpy 1 alone, not with {numpy}: pip install 'numpy<2', {WAY_OUT}."
        )
    return Path(package.submodule_search_locations[0])


def find_libpython() -> Path:
    """Return the shared library of this Python.

    Raises:
        EmbeddedTritonError: there is none.
    """
    folders = [sysconfig.get_config_var("LIBDIR"), f"{sys.base_prefix}/lib"]
    folders += ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib"]
    candidates = [Path(folder, _LIBPYTHON) for folder in folders if folder]
    for path in [*candidates, *_loader_cache()]:
        if path.is_file():
            return path
    raise EmbeddedTritonError(
        f"Triton runs Python models with {_LIBPYTHON}, which this Python was built without: "
        f"apt install libpython3.{sys.version_info.minor} (Debian, Ubuntu) or "
        f"dnf install python3.{sys.version_info.minor}-libs (Fedora), {WAY_OUT}."
    )


def _loader_cache() -> list[Path]:
    """Return where the dynamic loader knows the library to be."""
    ldconfig = shutil.which("ldconfig", path="/sbin:/usr/sbin:/usr/bin")
    if ldconfig is None:
        return []
    listing = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    lines = (line.strip() for line in listing.splitlines())
    return [Path(line.partition(" => ")[2]) for line in lines if line.startswith(_LIBPYTHON)]
