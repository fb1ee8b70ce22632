"""The Python steps of the Dockerfiles, run in fresh environments, and what they leave: does it work there?"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from gateway.triton import installation
from tests.deploy import dockerfile
from tests.deploy.dockerfile import DEPLOY, context, stage, words

SERVER_SECONDS = 30
OFFLINE = re.compile(r"NewConnectionError|NameResolutionError|Failed to establish a new connection")


def build(target: dockerfile.Stage, root: Path, interpreter: Path) -> Path:
    """Run the stage's steps below `root`; skip where no package can be had."""
    try:
        dockerfile.run(target, root, interpreter)
    except dockerfile.StepError as error:
        if OFFLINE.search(str(error)) and "CI" not in os.environ:
            pytest.skip("the package index can't be reached")
        raise
    return root


@pytest.fixture(scope="module")
def gateway_image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that stands for the / of the gateway's build stage."""
    root = tmp_path_factory.mktemp("gateway")
    yield build(stage("gateway.Dockerfile", "build"), root, Path(sys.executable))
    shutil.rmtree(root)


@pytest.fixture(scope="module")
def triton_image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that stands for the Triton image's /, with a fresh environment in the place of its Python."""
    root = tmp_path_factory.mktemp("triton")
    subprocess.run([sys.executable, "-m", "venv", root / "usr"], check=True)
    yield build(stage("triton.Dockerfile", "cpu"), root, root / "usr/bin/python3")
    shutil.rmtree(root)


def python(environment: Path, code: str) -> str:
    """Run code with a virtual environment's interpreter, outside the source tree, and return what it prints."""
    done = subprocess.run([environment / "bin/python3", "-c", code], env={}, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def running(command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Run a server and end it."""
    process = subprocess.Popen(
        command, env=environment, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=SERVER_SECONDS)


def wait_for(process: subprocess.Popen[str], healthy: Callable[[], bool]) -> None:
    """Wait until the server is healthy; fail with its output when it ends or takes too long."""
    deadline = time.monotonic() + SERVER_SECONDS
    while not healthy():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            pytest.fail(f"not healthy, exit status {process.returncode}\n{process.communicate()[0]}")
        time.sleep(0.1)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def test_the_gateway_image_holds_the_gateway_and_no_triton_or_torch(gateway_image: Path) -> None:
    listing = "import importlib.metadata as m; print(*(d.name for d in m.distributions()))"
    installed = set(python(gateway_image / "opt/venv", listing).split())
    assert {"plate-gateway", "fastapi", "tritonclient"} <= installed
    assert not {"torch", "nvidia-pytriton", "onnxruntime", "pytest"} & installed


def test_the_gateway_is_installed_with_its_pages(gateway_image: Path) -> None:
    environment = gateway_image / "opt/venv"
    package = Path(python(environment, "import gateway.app; print(gateway.__file__)").strip()).parent
    assert package.is_relative_to(environment)
    for name in context("gateway"):
        assert (package.parent / name).is_file(), name


def test_the_gateways_command_tells_what_it_can_do(gateway_image: Path) -> None:
    command = [str(gateway_image / "opt/venv/bin/plate-gateway"), "--help"]
    assert "serve" in subprocess.run(command, capture_output=True, text=True, check=True, env={}, cwd="/").stdout


def test_the_gateway_starts_without_triton_is_healthy_and_stops(gateway_image: Path) -> None:
    runtime = stage("gateway.Dockerfile", "")
    environment = runtime.environment({"PATH": "/usr/bin:/bin"})
    environment["PATH"] = dockerfile.moved(environment["PATH"], gateway_image)
    environment |= {"GATEWAY_HOST": "127.0.0.1", "GATEWAY_PORT": str(free_port()), "GATEWAY_TRITON_GRPC_PORT": "1"}
    check = runtime.all("HEALTHCHECK")[0].partition(" CMD ")[2]

    def healthy() -> bool:
        shell = ["/bin/sh", "-c", check]
        return subprocess.run(shell, env=environment, capture_output=True, check=False).returncode == 0

    assert not healthy()
    program, *arguments = words(runtime.all("ENTRYPOINT")[0]) + words(runtime.all("CMD")[0])
    path = shutil.which(program, path=environment["PATH"])
    assert path is not None
    with running([path, *arguments], environment) as process:
        wait_for(process, healthy)
        process.terminate()
        assert process.wait(SERVER_SECONDS) == 0


def test_the_kernel_and_what_it_needs_are_in_tritons_environment(triton_image: Path) -> None:
    environment = triton_image / "opt/kernel"
    code = "import cv2, numpy, plates.pipeline as p; print(cv2.__file__, numpy.__file__, p.__file__, sep='\\n')"
    found = python(environment, code).split("\n")[:3]
    assert all(Path(file).is_relative_to(environment) for file in found)
    assert not list(environment.rglob("gateway"))


def test_the_triton_image_holds_the_model_repository(triton_image: Path) -> None:
    for name in context("model_repository"):
        assert (triton_image / "models" / Path(name).relative_to("model_repository")).is_file(), name


def test_a_tritonserver_started_as_in_the_image_loads_the_python_models(triton_image: Path, tmp_path: Path) -> None:
    server = installation.find()
    environment = server.prepare(tmp_path)
    environment["PATH"] = f"{triton_image}/opt/kernel/bin:{server.server.parent}:/usr/bin:/bin"
    environment |= {"NVIDIA_TRITON_SERVER_VERSION": "24.10", "TRITON_SHM_KEY": "key", "TRITON_MODEL_CONFIG": "cpu"}
    script = tmp_path / "triton.sh"
    script.write_text(dockerfile.moved((DEPLOY / "triton.sh").read_text(), triton_image))
    port = free_port()
    command = ["/bin/sh", str(script), f"--backend-directory={tmp_path}/backends", "--exit-timeout-secs=5"]
    command += ["--http-address=127.0.0.1", f"--http-port={port}", "--allow-grpc=false", "--allow-metrics=false"]
    # This server has no native backends for the networks.
    command += ["--model-control-mode=explicit", "--load-model=yolo", "--load-model=plate_recognition"]

    def ready() -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{port}/v2/models/plate_recognition/ready").is_success
        except httpx.TransportError:
            return False

    with running(command, environment) as process:
        wait_for(process, ready)
