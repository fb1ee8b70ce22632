"""What `plate-gateway doctor` finds, good and lacking."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from gateway import doctor
from gateway.doctor import Finding, State
from gateway.settings import Settings
from gateway.triton import installation, shm
from gateway.triton.installation import EmbeddedTritonError

SMALL: dict[str, Any] = {"port": 0, "slots": 1, "slot_bytes": 2 * 2**20}


def examined(settings: Settings) -> dict[str, Finding]:
    return {finding.name: finding for finding in doctor.examine(settings)}


def test_every_lack_says_what_mends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise EmbeddedTritonError("This lacks: do that.")

    for part in ("check_platform", "check_python", "check_packages", "find_libpython"):
        monkeypatch.setattr(installation, part, fails)
    monkeypatch.setattr(shm, "ROOT", tmp_path / "missing")
    findings = examined(Settings(model_repository=tmp_path, port=0))
    lacking = {name for name, finding in findings.items() if finding.state is State.LACKING}
    assert lacking == {"system", "Python", "Python's library", "packages", "models", "shared memory"}
    for name in lacking:
        assert findings[name].mend or ": " in findings[name].detail


def test_ports_that_are_free_are_good() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
    finding = examined(Settings(port=port, triton_http_port=0, triton_grpc_port=0, triton_metrics_port=0))
    assert finding["gateway's port"].state is State.GOOD
    assert finding["Triton's ports"].state is State.GOOD


def test_a_port_that_something_else_has_lacks() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        finding = examined(Settings(port=sock.getsockname()[1]))["gateway's port"]
    assert finding.state is State.LACKING
    assert "GATEWAY_PORT" in finding.mend


def test_a_taken_port_of_triton_is_only_noted() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
        finding = examined(Settings(triton_http_port=port, triton_grpc_port=0, triton_metrics_port=0, port=0))
    assert finding["Triton's ports"].state is State.NOTE
    assert str(port) in finding["Triton's ports"].detail


def test_an_address_of_another_machine_lacks() -> None:
    finding = examined(Settings(host="203.0.113.1", port=0))["gateway's port"]
    assert finding.state is State.LACKING
    assert "GATEWAY_HOST" in finding.mend


def test_too_little_shared_memory_lacks() -> None:
    finding = examined(Settings(slots=256, slot_bytes=2**40, port=0))["shared memory"]
    assert finding.state is State.LACKING
    assert "GATEWAY_SLOTS" in finding.mend
    # What it says mends it.
    assert f"--shm-size={256 * 2**40 // 2**30 + 1}g" in finding.mend


def test_each_worker_has_slots_of_its_own() -> None:
    one, three = (examined(Settings(**SMALL, workers=count))["shared memory"].detail for count in (1, 3))
    assert "66 MiB wanted" in one
    assert "70 MiB wanted" in three


def test_models_are_looked_at_for_the_device_that_is_set() -> None:
    finding = examined(Settings(**SMALL, triton_device="gpu"))["models"]
    assert finding.state is State.LACKING
    assert "GATEWAY_TRITON_DEVICE" in finding.detail


def test_looking_at_shared_memory_leaves_nothing_there() -> None:
    assert examined(Settings(**SMALL))["shared memory"].state is State.GOOD
    assert not (shm.ROOT / f"plate-doctor-{os.getpid()}").exists()


def test_an_external_triton_has_to_answer_and_needs_nothing_here() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    findings = examined(Settings(triton="external", triton_http_port=port, port=0))
    assert set(findings) == {"Triton", "gateway's port", "GPU"}
    assert findings["Triton"].state is State.LACKING
    assert "GATEWAY_TRITON_HOST" in findings["Triton"].mend


@pytest.mark.parametrize(
    ("script", "word"),
    [
        ("echo 'NVIDIA L4, 550.54, 23034 MiB'", "NVIDIA L4, 550.54"),
        ("echo 'NVIDIA-SMI has failed'; exit 9", "nvidia-smi fails: NVIDIA-SMI has failed"),
    ],
)
def test_a_gpu_is_what_nvidia_smi_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, word: str) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = examined(Settings(port=0))["GPU"]
    assert finding.state is not State.LACKING
    assert word in finding.detail


def test_without_a_gpu_nothing_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert examined(Settings(port=0))["GPU"].state is State.NOTE
