"""The life of an embedded tritonserver: ports, log, death, end. Its models are stand-ins that load fast."""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
import pytest

from gateway.settings import Settings
from gateway.triton import ports, runs, shm
from gateway.triton.embedded import EmbeddedTriton, EmbeddedTritonError
from gateway.triton.endpoint import Endpoint
from gateway.triton.process import ServerProcess
from tests.triton.support import PATIENCE_SECONDS, lives, until

PARENT = """
import asyncio, sys
from pathlib import Path
from gateway.settings import Settings
from gateway.triton.embedded import EmbeddedTriton

async def main():
    settings = Settings(
        triton_http_port=0, triton_grpc_port=0, triton_metrics_port=0, model_repository=Path(sys.argv[1])
    )
    async with EmbeddedTriton(settings) as triton:
        print(triton.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder for temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def is_ready(endpoint: Endpoint) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"http://{endpoint.host}:{endpoint.http_port}/v2/health/ready", trust_env=False).is_success
    return False


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def modes(names: set[str]) -> set[int]:
    return {(shm.ROOT / name).stat().st_mode & 0o777 for name in names}


def family(pid: int) -> list[psutil.Process]:
    """The server and its stubs."""
    server = psutil.Process(pid)
    return [server, *server.children(recursive=True)]


async def test_nothing_is_left_after_the_end(
    stand_in: Settings, temporary: Path, leftovers: Callable[[], set[str]]
) -> None:
    async with EmbeddedTriton(stand_in) as triton:
        processes, endpoint = family(triton.pid), triton.endpoint
        assert len(processes) == 6
        assert is_ready(endpoint)
        # What the models are asked to read is nobody else's.
        assert len(leftovers()) == 6
        assert modes(leftovers()) == {0o600}
        assert files(temporary)
    assert not any(map(lives, processes))
    assert all(map(ports.is_free, (endpoint.http_port, endpoint.grpc_port, endpoint.metrics_port)))
    assert not files(temporary)


async def test_taken_ports_are_replaced_and_told_and_free_ones_taken(
    stand_in: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    (metrics,) = ports.choose([0])
    with socket.create_server((ports.LOOPBACK, 0)) as first, socket.create_server((ports.LOOPBACK, 0)) as second:
        http, grpc = first.getsockname()[1], second.getsockname()[1]
        wanted = {"triton_http_port": http, "triton_grpc_port": grpc, "triton_metrics_port": metrics}
        async with EmbeddedTriton(stand_in.model_copy(update=wanted)) as triton:
            endpoint = triton.endpoint
            assert is_ready(endpoint)
            assert endpoint.metrics_port == metrics
    told, ready = [r for r in caplog.records if r.name == "gateway.triton.embedded"]
    assert told.getMessage().endswith(f": {http} (HTTP), {grpc} (gRPC)")
    assert ready.getMessage().endswith(
        f"127.0.0.1: HTTP {endpoint.http_port}, gRPC {endpoint.grpc_port}, metrics {metrics}"
    )


async def test_a_port_lost_before_the_start_is_replaced(stand_in: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((ports.LOOPBACK, 0)) as thief:
        lost, choose = thief.getsockname()[1], ports.choose
        chosen: list[list[int]] = []

        def too_late(wanted: tuple[int, ...]) -> list[int]:
            chosen.append(choose(wanted))
            return chosen[-1] if len(chosen) > 1 else [lost, *chosen[-1][1:]]

        monkeypatch.setattr(ports, "choose", too_late)
        async with EmbeddedTriton(stand_in) as triton:
            assert len(chosen) == 2
            assert is_ready(triton.endpoint)


async def test_two_run_side_by_side_each_with_a_key_of_its_own(
    stand_in: Settings, leftovers: Callable[[], set[str]]
) -> None:
    async with EmbeddedTriton(stand_in) as first, EmbeddedTriton(stand_in) as second:
        assert is_ready(first.endpoint)
        assert is_ready(second.endpoint)
        assert first.endpoint.shm_key
        assert first.endpoint.shm_key != second.endpoint.shm_key
        # A run that lives isn't swept.
        before = leftovers()
        runs.sweep()
        assert leftovers() == before


async def test_a_killed_server_or_stub_is_replaced_on_the_same_ports(
    stand_in: Settings, leftovers: Callable[[], set[str]]
) -> None:
    async with EmbeddedTriton(stand_in) as triton:
        endpoint = triton.endpoint
        for victim in (0, -1):
            killed, regions = triton.pid, leftovers()
            processes = family(killed)
            processes[victim].kill()
            await until(lambda killed=killed: triton.pid != killed and is_ready(triton.endpoint))  # type: ignore[misc]
            assert triton.endpoint == endpoint
            assert not any(map(lives, processes))
            # The run's own file stays; of the first server's regions none does.
            assert len(regions & leftovers()) == 1
            assert modes(leftovers()) == {0o600}


async def test_a_server_that_hangs_is_replaced(
    stand_in: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("gateway.triton.process._HEALTH_POLL_SECONDS", 0.1)
    monkeypatch.setattr("gateway.triton.process._HEALTH_TIMEOUT_SECONDS", 0.5)
    async with EmbeddedTriton(stand_in) as triton:
        hung = triton.pid
        os.kill(hung, signal.SIGSTOP)
        await until(lambda: triton.pid != hung and is_ready(triton.endpoint))
    assert "tritonserver left 4 health checks in a row unanswered" in caplog.text


async def test_a_server_that_pauses_is_kept(stand_in: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.triton.process._HEALTH_POLL_SECONDS", 0.1)
    answers = [False, True, *[False] * 3, True]
    asked = asyncio.Event()

    async def answers_ok(*_: object) -> bool:
        if len(answers) == 1:
            asked.set()
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async with EmbeddedTriton(stand_in) as triton:
        first = triton.pid
        monkeypatch.setattr("gateway.triton.process._answers_ok", answers_ok)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asked.wait()
        assert triton.pid == first
        assert is_ready(triton.endpoint)


async def test_a_program_that_cannot_be_started_is_told_and_tried_again(
    stand_in: Settings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    leftovers: Callable[[], set[str]],
) -> None:
    start = ServerProcess.start

    async def refuse(*_: object) -> ServerProcess:
        raise BlockingIOError("no process to be had")

    with monkeypatch.context() as patch:
        patch.setattr(ServerProcess, "start", refuse)
        with pytest.raises(EmbeddedTritonError, match="can't be started: no process to be had"):
            async with EmbeddedTriton(stand_in):
                pass
    async with EmbeddedTriton(stand_in) as triton:
        killed = triton.pid
        monkeypatch.setattr(ServerProcess, "start", refuse)
        os.kill(killed, signal.SIGKILL)
        await until(lambda: "can't be started: no process to be had" in caplog.text)
        monkeypatch.setattr(ServerProcess, "start", start)
        await until(lambda: triton.pid != killed and is_ready(triton.endpoint))


async def test_a_restart_that_fails_is_tried_again(
    settings: Settings, stand_in_repository: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    repository = tmp_path / "repository"
    shutil.copytree(stand_in_repository, repository)
    model = repository / "stn" / "1" / "model.py"
    async with EmbeddedTriton(settings.model_copy(update={"model_repository": repository})) as triton:
        source = model.read_text()
        model.write_text("raise ImportError('not today')")
        os.kill(triton.pid, signal.SIGKILL)
        await until(lambda: "failed to load 'stn'" in caplog.text and "didn't start" in caplog.text)
        model.write_text(source)
        await until(lambda: is_ready(triton.endpoint))


async def test_a_server_that_dies_early_is_reported_with_its_own_words(
    settings: Settings, stand_in_repository: Path, tmp_path: Path, leftovers: Callable[[], set[str]]
) -> None:
    repository = tmp_path / "repository"
    shutil.copytree(stand_in_repository, repository)
    (repository / "stn" / "1" / "model.py").write_text("raise ImportError('no such thing')")
    with pytest.raises(EmbeddedTritonError, match=r"(?s)exit code 1.*failed to load 'stn'.*no such thing"):
        async with EmbeddedTriton(settings.model_copy(update={"model_repository": repository})):
            pass


async def test_a_server_that_is_not_ready_in_time_is_ended(
    stand_in: Settings, leftovers: Callable[[], set[str]]
) -> None:
    hurried = stand_in.model_copy(update={"triton_startup_seconds": 0.01})
    before = set(psutil.Process().children())
    with pytest.raises(EmbeddedTritonError, match=r"within 0\.01 s.*GATEWAY_TRITON_STARTUP_SECONDS"):
        async with EmbeddedTriton(hurried):
            pass
    assert not set(psutil.Process().children()) - before


async def test_a_start_that_is_cancelled_leaves_nothing(stand_in: Settings, leftovers: Callable[[], set[str]]) -> None:
    async def run() -> None:
        async with EmbeddedTriton(stand_in):
            raise AssertionError("it was cancelled before")

    start = asyncio.create_task(run())
    await until(lambda: len(leftovers()) > 1)  # the first stubs have been started
    start.cancel()
    await asyncio.wait({start})
    assert start.cancelled()


async def test_its_log_lines_come_with_their_levels(
    settings: Settings, stand_in_repository: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    repository = tmp_path / "repository"
    shutil.copytree(stand_in_repository, repository)
    model = repository / "stn" / "1" / "model.py"
    speak = (
        '        for level in ("info", "warn", "error"):\n'
        '            getattr(pb_utils.Logger, f"log_{level}")(f"said with {level}")\n'
        "        import sys\n"
        '        print(f"printed in {sys.prefix}", flush=True)\n'
    )
    head, define, tail = model.read_text().partition("        config = json.loads")
    model.write_text(head + speak + define + tail)
    caplog.set_level(logging.DEBUG)
    async with EmbeddedTriton(settings.model_copy(update={"model_repository": repository})):
        pass
    said = {r.getMessage(): r.levelno for r in caplog.records if r.name == "gateway.triton.server"}
    assert said["said with info"] == logging.DEBUG
    assert said["said with warn"] == logging.WARNING
    assert said["said with error"] == logging.ERROR
    # Models run in the environment that the gateway runs in.
    assert said[f"printed in {sys.prefix}"] == logging.INFO
    # Neither a start without a GPU nor the end alarms anybody.
    assert said["Signal (15) received."] == logging.DEBUG
    assert not [text for text, level in said.items() if level > logging.INFO and "said with" not in text]


@pytest.mark.parametrize("hung", [False, True])
async def test_a_killed_parent_takes_the_server_with_it(
    stand_in_repository: Path, temporary: Path, leftovers: Callable[[], set[str]], hung: bool
) -> None:
    parent = await start_parent(stand_in_repository)
    processes = family(await server_of(parent))
    if hung:
        processes[0].suspend()
    parent.kill()
    _, alive = await asyncio.to_thread(psutil.wait_procs, processes, PATIENCE_SECONDS)
    assert not alive
    await parent.wait()
    runs.sweep()
    assert not leftovers()
    assert not files(temporary)


async def test_what_a_killed_family_left_is_swept_by_the_next_start(
    stand_in: Settings, stand_in_repository: Path, temporary: Path, leftovers: Callable[[], set[str]]
) -> None:
    parent = await start_parent(stand_in_repository)
    processes = family(await server_of(parent))
    for process in (*processes, psutil.Process(parent.pid)):
        process.suspend()  # so that none sees another die
    parent.kill()
    for process in processes:
        process.kill()
    await parent.wait()
    await asyncio.to_thread(psutil.wait_procs, processes, PATIENCE_SECONDS)
    dead = leftovers()
    assert len(dead) == 6
    async with EmbeddedTriton(stand_in):
        assert not dead & leftovers()
        assert len(files(temporary)) == 1


async def start_parent(repository: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(repository), stdout=asyncio.subprocess.PIPE
    )


async def server_of(parent: asyncio.subprocess.Process) -> int:
    assert parent.stdout is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        return int(await parent.stdout.readline())
