"""What the embedded Triton needs, and what is said where it is missing."""

import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Literal

import pytest

from gateway.triton import installation
from gateway.triton.installation import EmbeddedTritonError, Installation
from plates import contract
from tests.triton.support import require_platform

MINOR = sys.version_info.minor


@pytest.fixture
def found() -> Installation:
    require_platform()
    return installation.find()


def test_the_parts_are_files_and_nothing_of_the_wheel_is_imported() -> None:
    require_platform()
    script = (
        "import sys; from gateway.triton import installation; found = installation.find();"
        "assert found.server.is_file() and found.stub.is_file() and found.libraries.is_dir(), found;"
        "assert not {'pytriton', 'torch', 'onnxruntime'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_missing_wheel_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    require_platform()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(EmbeddedTritonError, match=r"pip install 'plate-gateway\[embedded\]'.*GATEWAY_TRITON=external"):
        installation.find()


def test_numpy_2_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    require_platform()
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "2.2.6")
    with pytest.raises(EmbeddedTritonError, match=r"numpy 1 alone, not with 2\.2\.6: pip install"):
        installation.find()


@pytest.mark.parametrize(("system", "machine"), [("darwin", "x86_64"), ("linux", "aarch64")])
def test_another_platform_is_told(monkeypatch: pytest.MonkeyPatch, system: str, machine: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with pytest.raises(EmbeddedTritonError, match=r"Linux x86-64.*docker compose up"):
        installation.find()


@pytest.mark.parametrize("libc", ["glibc 2.31", None])
def test_an_old_or_another_libc_is_told(monkeypatch: pytest.MonkeyPatch, libc: str | None) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(os, "confstr", lambda _: libc)
    with pytest.raises(EmbeddedTritonError, match=r"glibc 2\.35 or newer"):
        installation.find()


def test_a_later_python_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(os, "confstr", lambda _: "glibc 2.36")
    monkeypatch.setattr(sys, "version_info", (3, 13, 0))
    with pytest.raises(EmbeddedTritonError, match=r"Python 3\.11 or 3\.12.*PYTHON=python3\.12"):
        installation.find()


def test_a_missing_libpython_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "is_file", lambda _: False)
    with pytest.raises(EmbeddedTritonError, match=rf"apt install libpython3\.{MINOR} .*python3\.{MINOR}-libs"):
        installation.find_libpython()


def test_libpython_is_found_where_only_the_loader_knows_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library = tmp_path / f"libpython3.{MINOR}.so.1.0"
    library.touch()
    monkeypatch.setattr(sysconfig, "get_config_var", lambda _: None)
    monkeypatch.setattr(installation, "_loader_cache", lambda: [library])
    is_file = Path.is_file
    monkeypatch.setattr(Path, "is_file", lambda path: path.is_relative_to(tmp_path) and is_file(path))
    assert installation.find_libpython() == library


def test_a_run_gets_copies_of_the_backends_and_the_one_library(found: Installation, tmp_path: Path) -> None:
    environment = found.prepare(tmp_path)
    backends = {path.relative_to(tmp_path / "backends").as_posix() for path in tmp_path.glob("backends/*/*")}
    assert backends == {
        "onnxruntime/model.py",
        "pytorch/model.py",
        "python/libtriton_python.so",
        "python/triton_python_backend_stub",
        "python/triton_python_backend_utils.py",
    }
    assert os.access(tmp_path / "backends/python/triton_python_backend_stub", os.X_OK)
    assert environment["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)
    assert environment["LD_LIBRARY_PATH"].split(os.pathsep)[:2] == [str(found.libraries), str(tmp_path / "lib")]
    assert environment["ORT_DISABLE_TELEMETRY"] == "1"


def test_missing_models_are_told(tmp_path: Path) -> None:
    (tmp_path / "stn").mkdir()
    (tmp_path / "stn" / "config.pbtxt").touch()
    with pytest.raises(EmbeddedTritonError, match="lacks yolo, lprnet: set GATEWAY_MODEL_REPOSITORY"):
        installation.check_repository(tmp_path, ["yolo", "stn", "lprnet"])


@pytest.mark.parametrize(
    ("device", "configuration", "backend", "message"),
    [
        ("cpu", "configs/cpu.pbtxt", "onnxruntime", r"stn/1/model\.onnx is missing: git checkout brings it back"),
        ("gpu", "config.pbtxt", "pytorch", r"stn/1/model\.pt is missing: make export writes it"),
    ],
)
def test_a_missing_network_is_told(
    device: Literal["cpu", "gpu"],
    configuration: str,
    backend: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(installation, "_NVIDIA_DEVICES", (tmp_path,))
    (tmp_path / "stn" / "configs").mkdir(parents=True)
    (tmp_path / "stn" / "config.pbtxt").touch()
    (tmp_path / "stn" / configuration).write_text(f'backend: "{backend}"\n')
    with pytest.raises(EmbeddedTritonError, match=message):
        installation.check_repository(tmp_path, ["stn"], device)


def test_a_gpu_needs_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_NVIDIA_DEVICES", (tmp_path,))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EmbeddedTritonError, match="needs PyTorch"):
        installation.check_repository(tmp_path, [], "gpu")


def test_a_gpu_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_NVIDIA_DEVICES", (tmp_path / "nvidiactl",))
    with pytest.raises(EmbeddedTritonError, match=r"needs an NVIDIA GPU.*or set GATEWAY_TRITON_DEVICE=cpu"):
        installation.check_repository(tmp_path, [], "gpu")


def test_the_projects_repository_is_whole() -> None:
    repository = Path(__file__).resolve().parents[2] / "model_repository"
    installation.check_repository(repository, [model.name for model in contract.MODELS])
