"""Models and processes that hang are noticed; those that are only busy are left alone."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator

import httpx
import psutil
import pytest

from gateway.errors import DeadlineExceeded, Unavailable
from gateway.settings import Settings
from gateway.triton import watch
from gateway.triton.client import TritonRecognizer
from gateway.triton.embedded import EmbeddedTriton
from plates import contract
from tests.triton.support import PATIENCE_SECONDS, grey, lives, until, until_ready

WAITING, IDLE = 3, 0


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polls follow one another quickly."""
    monkeypatch.setattr(watch, "_POLL_SECONDS", 0.05)


def metrics(executions: int, waiting: int) -> str:
    """What a Triton says of a model of two instances, and of another one that has nothing to do."""
    return f"""
# TYPE nv_inference_exec_count counter
nv_inference_exec_count{{gpu_uuid="a",model="busy",version="1"}} {executions}
nv_inference_exec_count{{gpu_uuid="b",model="busy",version="1"}} 0
nv_inference_exec_count{{model="idle",version="1"}} 7
nv_inference_request_failure{{model="busy",reason="REJECTED",version="1"}} {executions + waiting}
nv_inference_pending_request_count{{model="busy",version="1"}} {waiting}
nv_inference_pending_request_count{{model="idle",version="1"}} 0
"""


class Polled(Exception):
    """All of the answers were asked for, and nothing was found amiss."""


async def stuck_after(answers: list[tuple[int, int] | None]) -> int:
    """Return at which poll of these answers, executions and requests that wait, a model is found to be stuck.

    Raises:
        Polled: none is.
    """
    polls: Iterator[tuple[int, int] | None] = iter(answers)
    count = 0

    def answer(request: httpx.Request) -> httpx.Response:
        nonlocal count
        try:
            found = next(polls)
        except StopIteration:
            raise Polled from None
        count += 1
        if found is None:
            raise httpx.ReadTimeout("")
        return httpx.Response(200, text=metrics(*found))

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        assert "model busy" in await watch.until_stuck(client, "http://triton/metrics")
    return count


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_POLL_SECONDS", 0)


@pytest.mark.usefixtures("unhurried")
async def test_a_model_that_executes_nothing_while_requests_wait_is_stuck() -> None:
    assert await stuck_after([(5, WAITING)] * 20) == 11
    # Requests whose time is over leave the queue; others come.
    assert await stuck_after([(5, WAITING), (5, IDLE), (5, IDLE)] * 20) == 31
    # A server that doesn't answer says nothing either way.
    assert await stuck_after([(5, WAITING), None] * 20) == 21


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([(5, IDLE)] * 100, id="idle"),
        pytest.param([(number, WAITING) for number in range(100)], id="under load"),
        pytest.param([(number // 10, WAITING) for number in range(200)], id="slow"),
        pytest.param([None] * 100, id="away"),
    ],
)
async def test_a_model_that_is_idle_or_goes_on_is_not(answers: list[tuple[int, int] | None]) -> None:
    with pytest.raises(Polled):
        await stuck_after(answers)


@pytest.fixture
async def process() -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(600)")
    yield process
    process.kill()
    await process.wait()


@pytest.mark.usefixtures("fast")
async def test_a_process_that_stays_stopped_is_found_and_one_that_runs_or_is_gone_is_not(
    process: asyncio.subprocess.Process,
) -> None:
    gone = await asyncio.create_subprocess_exec("/bin/true")
    await gone.wait()
    watching = asyncio.create_task(watch.until_stopped([gone.pid, os.getpid(), process.pid]))
    process.send_signal(signal.SIGSTOP)
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert f"process {process.pid}," in await watching


async def test_a_process_that_is_stopped_for_a_moment_is_left_alone(
    process: asyncio.subprocess.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = iter([True] * 4 + [False] + [True] * 5)
    monkeypatch.setattr(watch, "_is_stopped", lambda pid: next(states))
    monkeypatch.setattr(watch, "_POLL_SECONDS", 0)
    assert await watch.until_stopped([1])
    assert next(states, None) is None


@pytest.fixture
async def client(settings: Settings, stand_in_triton: EmbeddedTriton) -> AsyncIterator[TritonRecognizer]:
    async with TritonRecognizer(settings, stand_in_triton.endpoint) as client:
        await until_ready(client)
        yield client


async def ask(client: TritonRecognizer, tenths: int, seconds: float = 10, name: str = "") -> None:
    deadline = asyncio.get_running_loop().time() + seconds
    await client.recognize(grey(tenths), deadline=deadline, client=name)


def stub(server: EmbeddedTriton, model: contract.Model) -> psutil.Process:
    """The process that runs a model."""
    return next(
        process
        for process in psutil.Process(server.pid).children()
        if any(f"/{model.name}/1/model.py" in argument for argument in process.cmdline())
    )


async def until_mended(server: EmbeddedTriton, client: TritonRecognizer, former: int) -> None:
    await until(lambda: server.pid != former)
    await until_ready(client)
    await until(lambda: client.pool.free == 8)
    await ask(client, 0)


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("model", [contract.PLATE_RECOGNITION, contract.LPRNET], ids=lambda model: model.name)
async def test_a_stopped_stub_is_replaced_with_its_server(
    stand_in_triton: EmbeddedTriton, client: TritonRecognizer, caplog: pytest.LogCaptureFixture, model: contract.Model
) -> None:
    former, victim = stand_in_triton.pid, stub(stand_in_triton, model)
    victim.suspend()
    with contextlib.suppress(DeadlineExceeded, Unavailable):  # its fault, where it is this model's
        await ask(client, 0)
    await until_mended(stand_in_triton, client, former)
    assert not lives(victim)
    assert f"process {victim.pid}, which runs one of Triton's models, is stopped" in caplog.text


@pytest.mark.usefixtures("fast")
async def test_a_model_that_hangs_is_replaced_with_its_server_and_requests_end_in_time(
    stand_in_triton: EmbeddedTriton, client: TritonRecognizer, caplog: pytest.LogCaptureFixture
) -> None:
    former = stand_in_triton.pid
    async with asyncio.timeout(PATIENCE_SECONDS):
        # One that takes longer than patience has, and others behind it.
        answers = await asyncio.gather(
            *(ask(client, 255 if number == 0 else 0, 5, str(number)) for number in range(4)), return_exceptions=True
        )
    assert all(isinstance(answer, DeadlineExceeded | Unavailable | None) for answer in answers), answers
    await until_mended(stand_in_triton, client, former)
    assert "the model plate_recognition executes none of the requests that wait for it" in caplog.text


async def test_a_model_under_load_is_left_alone(
    stand_in_triton: EmbeddedTriton,
    client: TritonRecognizer,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch, "_POLL_SECONDS", 0.1)
    caplog.set_level(logging.ERROR)
    former = stand_in_triton.pid
    # Each takes a tenth of a second, and all but one wait: for far longer than a model that hangs is given here.
    await asyncio.gather(*(ask(client, 1, 30, str(number % 8)) for number in range(40)))
    assert stand_in_triton.pid == former
    assert not caplog.records
