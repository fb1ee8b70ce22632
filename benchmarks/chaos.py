"""Kill and stop the parts of a running gateway under load: `python -m benchmarks.chaos`.

Each of the concurrent clients sends a picture of its own with a plate of its own and compares the answer. Meanwhile
Triton is killed (SIGKILL) and stopped for a while (SIGSTOP, SIGCONT), processes that run its models are stopped for
good, and workers of the gateway are killed, in random order; each blow falls when the service has recovered from the
one before. Exit status 0 says that no answer was wrong, none came after the deadline, every failure had its form or was
the killed worker's, and nothing was left behind.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import statistics
import time
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import psutil
from rich.console import Console

from benchmarks.survival.clients import Clients, Outcome, Tally
from benchmarks.survival.gateway import GatewayProcess, resident_bytes, running_gateway
from benchmarks.survival.report import Check, conclude

KILL_TRITON: Final = "Triton killed"
STOP_TRITON: Final = "Triton stopped"
STOP_STUB: Final = "stub stopped"
KILL_WORKER: Final = "worker killed"

RECOVERY_SECONDS: Final = 60.0
REPORT_SECONDS: Final = 1.5
"""In which the gateway's processes have noticed what happened, and said so."""

RESET_SECONDS: Final = 1.0
"""How long after a worker's death its clients may notice it: a connection may have been idle."""

READY_SECONDS: Final = 5.0
"""From Triton's readiness to that of the gateway."""

GROWTH: Final = 0.05

_STOP_SECONDS: Final = (0.3, 4.0)
_POLL_SECONDS: Final = 0.02


@dataclass(frozen=True, slots=True)
class Blow:
    """What was done, when (`time.monotonic`), and how long the service needed to be whole again."""

    kind: str
    time: float
    recovery: float


async def strike(kind: str, gateway: GatewayProcess, rng: random.Random) -> None:
    """Do it.

    Raises:
        RuntimeError: the victim isn't there.
    """
    if kind == KILL_WORKER:
        rng.choice(gateway.workers()).kill()
        return
    server = gateway.triton()
    if server is None:
        raise RuntimeError("there is no Triton to strike")
    if kind == KILL_TRITON:
        server.kill()
        return
    if kind == STOP_STUB:
        rng.choice(gateway.stubs()).suspend()
        await _ended(server)
        return
    server.suspend()
    await asyncio.sleep(rng.uniform(*_STOP_SECONDS))
    # The gateway may have found it hung.
    with contextlib.suppress(psutil.NoSuchProcess):
        server.resume()


async def _ended(server: psutil.Process) -> None:
    """Wait until the gateway has found out and ended the server.

    Raises:
        RuntimeError: that doesn't happen.
    """
    deadline = time.monotonic() + RECOVERY_SECONDS
    with contextlib.suppress(psutil.NoSuchProcess):
        while server.status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > deadline:
                raise RuntimeError(f"nobody noticed within {RECOVERY_SECONDS:g} s that a process of Triton is stopped")
            await asyncio.sleep(_POLL_SECONDS)


async def recovered(gateway: GatewayProcess, tally: Tally, workers: int, struck: float) -> None:
    """Wait until all processes are there and ready and a right answer has come since the blow.

    Raises:
        RuntimeError: that doesn't happen.
    """
    while time.monotonic() - struck < RECOVERY_SECONDS:
        # Before that, its last word may be older than the blow.
        if time.monotonic() - struck > REPORT_SECONDS:
            whole = len(gateway.workers()) == workers and await asyncio.to_thread(gateway.is_whole)
            if whole and tally.last_right > struck:
                return
        await asyncio.sleep(_POLL_SECONDS)
    raise RuntimeError(f"the gateway didn't recover within {RECOVERY_SECONDS:g} s; its log:\n{gateway.log[-5000:]}")


async def torment(
    gateway: GatewayProcess, clients: Clients, blows: list[str], workers: int, rng: random.Random
) -> list[Blow]:
    """Strike under load until all blows have fallen."""
    done: list[Blow] = []
    over = False
    load = asyncio.create_task(clients.run(lambda: not over))
    console = Console()
    try:
        for number, kind in enumerate(blows, 1):
            await asyncio.sleep(rng.uniform(0.2, 1.0))
            begin = time.monotonic()
            await strike(kind, gateway, rng)
            await recovered(gateway, clients.tally, workers, time.monotonic())
            done.append(Blow(kind, begin, time.monotonic() - begin))
            console.print(f"{number:3} of {len(blows)}: {kind}, recovered after {done[-1].recovery:.1f} s")
    finally:
        over = True
        await load
    return done


def unexplained(tally: Tally, blows: list[Blow]) -> list[str]:
    """Return the lost connections that no worker's death explains."""
    deaths = [blow.time for blow in blows if blow.kind == KILL_WORKER]
    return [
        attempt.detail
        for attempt in tally.lost
        if not any(attempt.begin - RESET_SECONDS <= death <= attempt.end for death in deaths)
    ]


def ready_delays(log: str) -> list[float]:
    """Return the seconds from each time that Triton was ready again to the time when the gateway was, from its log."""
    delays: list[float] = []
    ready, pending = True, None
    for line in log.splitlines():
        record = json.loads(line)
        message, moment = record["message"], datetime.fromisoformat(record["time"]).timestamp()
        if message.startswith("Not ready"):
            ready = False
        elif message.startswith("Triton is ready again") and not ready:
            pending = moment
        elif message.startswith("Ready again"):
            ready = True
            if pending is not None:
                delays.append(moment - pending)
            pending = None
    return delays


async def run(arguments: argparse.Namespace, gateway: GatewayProcess) -> tuple[Tally, list[Blow], list[int]]:
    """Return what the clients saw, what was done, and the parent's memory before and after."""
    rng = random.Random(arguments.seed)  # noqa: S311 - a repeatable order
    blows = [KILL_TRITON] * arguments.triton_kills
    blows += [STOP_TRITON] * arguments.triton_stops + [STOP_STUB] * arguments.stub_stops
    blows += [KILL_WORKER] * arguments.worker_kills
    rng.shuffle(blows)
    async with Clients(gateway.url, arguments.clients, arguments.deadline) as clients:
        # One of each kind first: code and buffers that the parent needs for them are there then.
        first = await torment(gateway, clients, sorted(set(blows)), arguments.workers, rng)
        memory = [resident_bytes(gateway.parent)]
        for blow in first:
            blows.remove(blow.kind)
        rest = await torment(gateway, clients, blows, arguments.workers, rng)
        memory.append(resident_bytes(gateway.parent))
    return clients.tally, first + rest, memory


def judge(
    tally: Tally, blows: list[Blow], memory: list[int], log: str, leftovers: set[str], status: int
) -> list[Check]:
    """Return what has to be so, and whether it is."""
    counts, strange = tally.counts, unexplained(tally, blows)
    delay = max(ready_delays(log), default=0.0)
    growth = memory[1] / memory[0] - 1
    checks = [
        Check("right answers", counts[Outcome.RIGHT], "some", counts[Outcome.RIGHT] > 0),
        *(Check(str(kind), counts[kind], "0", not counts[kind]) for kind in (Outcome.WRONG, Outcome.FAULT)),
        Check(str(Outcome.HANG), counts[Outcome.HANG], "0", not counts[Outcome.HANG]),
        Check(str(Outcome.REFUSED), counts[Outcome.REFUSED], "any", passed=True),
        Check(str(Outcome.RESET), counts[Outcome.RESET], "any", passed=True),
        Check("... not by a worker's death", len(strange), "0", not strange),
        Check("longest request, s", f"{tally.longest:.1f}", "any", passed=True),
        Check("ready after Triton is, s", f"{delay:.1f}", f"< {READY_SECONDS:g}", delay < READY_SECONDS),
        Check("memory of the parent", f"{growth:+.1%}", f"< {GROWTH:+.0%}", growth < GROWTH),
        Check("regions and files left", len(leftovers), "0", not leftovers),
        Check("exit status of the gateway", status, "0", status == 0),
    ]
    for kind in sorted(Counter(blow.kind for blow in blows)):
        times = [blow.recovery for blow in blows if blow.kind == kind]
        found = f"{len(times)} x, {statistics.median(times):.1f} s, at most {max(times):.1f}"
        checks.append(Check(f"{kind}, mended", found, f"< {RECOVERY_SECONDS:g} s", passed=True))
    return checks


def chaos(arguments: argparse.Namespace) -> int:
    """Do all of it and return the exit status."""
    begin = time.monotonic()
    settings = {"workers": arguments.workers, "deadline_seconds": arguments.deadline, "log_format": "json"}
    with running_gateway(settings) as gateway:
        tally, blows, memory = asyncio.run(run(arguments, gateway))
        if not gateway.shared():
            raise RuntimeError("nothing of the gateway is in /dev/shm: this machine's shared memory can't be judged")
        status = gateway.stop()
        leftovers = gateway.shared() | set(gateway.temporary())
        checks = judge(tally, blows, memory, gateway.log, leftovers, status)
    title = f"{arguments.clients} clients, {arguments.workers} workers, {len(blows)} blows"
    for attempt in tally.bad[:10]:
        Console().print(f"{attempt.outcome}: {attempt.detail} after {attempt.end - attempt.begin:.1f} s")
    return conclude(f"{title}, {time.monotonic() - begin:.0f} s, {len(os.sched_getaffinity(0))} cores", checks)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the command's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--workers", type=int, default=2, help="at least 2: a lone gateway isn't replaced")
    parser.add_argument("--triton-kills", type=int, default=20)
    parser.add_argument("--triton-stops", type=int, default=5)
    parser.add_argument("--stub-stops", type=int, default=2)
    parser.add_argument("--worker-kills", type=int, default=20)
    parser.add_argument("--deadline", type=float, default=10.0, help="seconds, GATEWAY_DEADLINE_SECONDS")
    parser.add_argument("--seed", type=int, default=0, help="of the order of the blows")
    return parser.parse_args(arguments)


def main() -> int:
    """Run the command."""
    return chaos(parse())


if __name__ == "__main__":
    raise SystemExit(main())
