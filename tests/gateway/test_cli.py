"""The command, as its user meets it. What needs a running Triton is tested in tests/triton."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

BEHIND = {name: value for name, value in os.environ.items() if not name.startswith("GATEWAY_")}


def start(*arguments: str, **settings: object) -> subprocess.Popen[str]:
    environment = BEHIND | {f"GATEWAY_{name.upper()}": str(value) for name, value in settings.items()}
    command = [sys.executable, "-m", "gateway.cli", "serve", *arguments]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def run(*arguments: str, **settings: object) -> tuple[int, str]:
    """Return the exit status and what was said on the standard error stream."""
    with start(*arguments, **settings) as process:
        _, said = process.communicate(timeout=30)
    return process.returncode, said


@contextmanager
def gateway_without_triton() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A gateway whose external Triton isn't there, and its address."""
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
        with start("--port", "0", triton="external", triton_grpc_port=port) as process:
            try:
                assert process.stderr is not None
                line = process.stderr.readline()
                found = re.search(r"Listening on (http://127\.0\.0\.1:\d+)", line)
                assert found, line
                yield process, found[1]
            finally:
                process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_lives_without_triton_and_stops_cleanly(number: signal.Signals) -> None:
    with gateway_without_triton() as (process, url):
        assert httpx.get(f"{url}/health/live").status_code == 200
        response = httpx.get(f"{url}/health/ready")
        assert (response.status_code, response.json()["status"]) == (503, "not ready")
        process.send_signal(number)
        _, said = process.communicate(timeout=20)
        assert process.returncode == 0
        assert "Stopping" in said
        assert "Stopped" in said.splitlines()[-1]
        assert "Traceback" not in said


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_open_address_is_warned_of_once_however_many_answer_there(workers: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        settings = {"triton": "external", "triton_grpc_port": nobody.getsockname()[1]}
        with start("--host", "0.0.0.0", "--port", "0", "--workers", workers, **settings) as process:  # noqa: S104
            assert process.stderr is not None
            said = ""
            # Everyone who answers has looked for Triton.
            while said.count("gateway.triton.client") < int(workers):
                line = process.stderr.readline()
                assert line, said
                said += line
            process.send_signal(signal.SIGTERM)
            said += process.communicate(timeout=20)[1]
    assert said.count("Whoever reaches 0.0.0.0 may send pictures") == 1


def test_interrupts_while_it_stops_leave_no_traceback() -> None:
    with gateway_without_triton() as (process, _):
        process.send_signal(signal.SIGINT)
        # Until it is gone: some come when the event loop is closed already.
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        assert process.stderr is not None
        said = process.stderr.read()
    assert process.returncode == 0
    assert "Traceback" not in said


def test_an_interrupt_before_it_is_there_is_quiet(tmp_path: Path) -> None:
    # Imported among the first, and waits there until the interrupt.
    (tmp_path / "typer.py").write_text("print('importing', flush=True)\nimport time\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "gateway.cli", "serve"]
    environment = BEHIND | {"PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (130, "")


def test_a_taken_port_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, said = run(port=port)
    assert status == 1
    assert said == f"Port {port} of 127.0.0.1 is taken: set GATEWAY_PORT to another one, or to 0 for a free one.\n"


def test_an_address_that_does_not_exist_is_one_sentence() -> None:
    status, said = run(host="nowhere.invalid")
    assert status == 1
    assert said == "There is no address 'nowhere.invalid' to listen on: set GATEWAY_HOST.\n"


def test_each_wrong_setting_is_one_sentence() -> None:
    status, said = run(port="abc", slots=0)
    assert status == 2
    lines = said.splitlines()
    assert [line.split(":")[0] for line in lines] == ["GATEWAY_PORT", "GATEWAY_SLOTS"]


def test_the_port_that_kubernetes_injects_is_told_from_a_wrong_one() -> None:
    status, said = run(port="tcp://10.0.0.1:8080")
    assert status == 2
    assert said.startswith("GATEWAY_PORT: Kubernetes set it to tcp://10.0.0.1:8080")
    assert "enableServiceLinks: false" in said


def test_options_override_the_environment() -> None:
    status, said = run("--port", "99999", port=0)
    assert status == 2
    assert said.startswith("GATEWAY_PORT: ")


def test_a_triton_that_cannot_start_is_one_sentence(tmp_path: Path) -> None:
    status, said = run("--port", "0", model_repository=tmp_path)
    assert status == 1
    assert "GATEWAY_MODEL_REPOSITORY" in said.splitlines()[-1]
    assert "Traceback" not in said


def test_a_misspelt_setting_is_told(tmp_path: Path) -> None:
    _, said = run("--port", "0", model_repository=tmp_path, prot=9000)
    assert "GATEWAY_PROT, which is not a setting; did you mean GATEWAY_PORT?" in said
