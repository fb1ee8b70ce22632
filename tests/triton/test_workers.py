"""Several workers behind one socket, with a real Triton whose models are stand-ins: death, replacement, end."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx
import pytest
import tritonclient.grpc

from benchmarks.survival.gateway import GatewayProcess, running_gateway
from gateway.commands import workers as workers_module
from gateway.commands.workers import WorkerError, Workers
from gateway.recognizer import Readiness
from gateway.settings import Settings
from gateway.triton import memory, runs
from gateway.triton.embedded import EmbeddedTriton
from gateway.triton.endpoint import Endpoint
from tests.triton.support import PATIENCE_SECONDS, grey, lives, until

SLOTS = 3


class Record:
    """A Reporter that remembers the last state."""

    def __init__(self) -> None:
        self.last = Readiness(ready=False, detail="nothing was said")

    def readiness(self, readiness: Readiness) -> None:
        self.last = readiness

    def stopping(self) -> None: ...


@pytest.fixture
def gateway(stand_in_repository: Path) -> Iterator[GatewayProcess]:
    """A gateway with two workers, ready."""
    with running_gateway({"workers": 2, "slots": SLOTS, "model_repository": stand_in_repository}) as process:
        yield process


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        yield sock


@contextlib.asynccontextmanager
async def working(endpoint: Endpoint, listener: socket.socket, count: int = 2) -> AsyncIterator[tuple[Workers, Record]]:
    """Workers of this process, ready."""
    record = Record()
    async with Workers(Settings(workers=count), [listener], record) as workers:
        workers.use(endpoint)
        await until(lambda: record.last.ready)
        yield workers, record


def registered(endpoint: Endpoint) -> set[str]:
    """Keys of the memory that the server knows."""
    with tritonclient.grpc.InferenceServerClient(endpoint.grpc_url) as client:
        regions = client.get_system_shared_memory_status(headers=endpoint.grpc_headers).regions
    return {region.rpartition(".")[0] for region in regions}


def recognize(url: str, tenths: int = 0) -> httpx.Response:
    """Send a picture that the stand-in answers after that many tenths of a second."""
    return httpx.post(f"{url}/recognize", files={"image": grey(tenths).data}, timeout=PATIENCE_SECONDS, trust_env=False)


async def test_a_killed_worker_is_replaced_and_what_it_left_is_swept_at_once(gateway: GatewayProcess) -> None:
    victim, survivor = gateway.workers()
    regions = {name for name in gateway.shared() if f"-{victim.pid}-" in name}
    assert len(regions) == SLOTS
    victim.kill()
    await until(lambda: not regions & gateway.shared())
    await until(lambda: len(gateway.workers()) == 2 and gateway.is_ready())
    assert survivor in gateway.workers()
    assert victim not in gateway.workers()
    assert (await asyncio.to_thread(recognize, gateway.url)).status_code == 200
    assert f"Worker 1 (process {victim.pid}) ended with signal SIGKILL" in gateway.log


async def test_requests_under_way_are_answered_before_the_end(gateway: GatewayProcess) -> None:
    asking = [asyncio.create_task(asyncio.to_thread(recognize, gateway.url, 10)) for _ in range(2)]
    await asyncio.sleep(0.5)  # both have been sent: each takes a second
    assert await asyncio.to_thread(gateway.stop) == 0
    assert [(await task).status_code for task in asking] == [200, 200]
    assert not gateway.shared()
    assert not gateway.temporary()
    assert "Stopped" in gateway.log.splitlines()[-1]


async def test_a_killed_parent_takes_workers_and_triton_with_it(
    gateway: GatewayProcess, leftovers: Callable[[], set[str]]
) -> None:
    server = gateway.triton()
    assert server is not None
    family = [*gateway.workers(), server, *gateway.stubs()]
    # A stopped process takes no signal but SIGKILL, and would keep the port.
    gateway.workers()[0].suspend()
    gateway.kill()
    await until(lambda: not any(map(lives, family)))
    memory.sweep()
    runs.sweep()
    assert not leftovers()


async def test_a_second_interrupt_waits_for_no_request(gateway: GatewayProcess) -> None:
    asking = asyncio.create_task(asyncio.to_thread(recognize, gateway.url, 90))
    await asyncio.sleep(0.5)
    for _ in range(2):
        gateway.parent.send_signal(signal.SIGINT)
        await asyncio.sleep(0.3)
    with pytest.raises(httpx.TransportError):
        await asking
    await until(lambda: not lives(gateway.parent))
    assert not gateway.shared()


async def test_a_worker_that_hangs_is_replaced(
    stand_in_triton: EmbeddedTriton, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(stand_in_triton.endpoint, listener) as (workers, record):
        hung = workers._running[1].pid
        # Workers say something every second.
        monkeypatch.setattr(workers_module, "_SILENCE_SECONDS", 0.5)
        os.kill(hung, signal.SIGSTOP)
        await until(lambda: 1 in workers._running and workers._running[1].pid != hung)
        monkeypatch.undo()
        await until(lambda: record.last.ready)


async def test_triton_lets_go_of_a_killed_workers_memory(
    stand_in_triton: EmbeddedTriton, listener: socket.socket
) -> None:
    endpoint = stand_in_triton.endpoint
    before = registered(endpoint)
    async with working(endpoint, listener) as (workers, _):
        victim = workers._running[2].pid
        assert [key for key in registered(endpoint) if f"-{victim}-" in key]
        os.kill(victim, signal.SIGKILL)
        await until(lambda: not [key for key in registered(endpoint) if f"-{victim}-" in key])
    assert registered(endpoint) == before


async def test_gateways_that_share_a_triton_leave_each_others_memory_alone(
    stand_in_triton: EmbeddedTriton, listener: socket.socket
) -> None:
    endpoint = stand_in_triton.endpoint
    with socket.create_server(("127.0.0.1", 0)) as other_listener:
        url = f"http://127.0.0.1:{other_listener.getsockname()[1]}"
        async with working(endpoint, other_listener, 1):
            theirs = registered(endpoint)
            assert theirs
            async with working(endpoint, listener, 1) as (workers, record):
                assert theirs < registered(endpoint)
                victim = workers._running[1].pid
                os.kill(victim, signal.SIGKILL)
                await until(lambda: not record.last.ready)
                await until(lambda: record.last.ready)
                assert theirs < registered(endpoint)
            assert theirs == registered(endpoint)
            assert (await asyncio.to_thread(recognize, url)).status_code == 200


async def test_a_transport_that_cannot_work_is_no_reason_to_start_workers_again_and_again(
    stand_in_triton: EmbeddedTriton, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_TRANSPORT", "cuda")
    async with Workers(Settings(workers=2), [listener], Record()) as workers:
        workers.use(stand_in_triton.endpoint)
        async with asyncio.timeout(PATIENCE_SECONDS):
            with pytest.raises(WorkerError, match="GATEWAY_TRANSPORT=cuda can't be had"):
                await workers.until_failure()
