"""Many requests through a gateway whose memory is watched: `python -m benchmarks.soak -n 10000`.

The gateway runs with Triton and the real networks; concurrent clients send pictures of several sizes and compare every
answer. Exit status 0 says that after the warm-up nothing grew: not the resident memory of the gateway's processes, of
Triton and of the stubs that run its Python models, nor what lies in /dev/shm; and that no answer was wrong or missing.

What is resident without shared memory is told beside. All of /dev/shm is taken when a file gets its size, but counts as
a process's resident memory only as the process touches it, page by page; Triton and its stubs choose places in their
regions by what is free at the moment, and may take thousands of requests to have touched all. So a part may grow though
no more memory is taken; that none has more shared memory than /dev/shm holds is checked.
"""

import argparse
import asyncio
import itertools
import os
import statistics
import time
from dataclasses import dataclass
from typing import Final

from rich.console import Console

from benchmarks.survival.clients import Clients, Outcome, Tally
from benchmarks.survival.gateway import GatewayProcess, resident_bytes, running_gateway, shared_resident_bytes
from benchmarks.survival.report import Check, conclude

GROWTH: Final = 0.05
WARM_UP: Final = 1000
"""Requests after which everything that is allocated once has been."""

_PARTS: Final = ("gateway", "triton", "stubs", "shared memory")
_SAMPLES: Final = 100
_SHARE: Final = 0.1
"""Share of the samples after the warm-up that make its begin and its end: single ones waver."""
_POLL_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Sample:
    """Memory at one moment."""

    requests: int
    """Answered so far."""
    nbytes: dict[str, int]
    """By part."""
    own: dict[str, int]
    """Of processes, by part, without shared memory."""
    touched: int
    """Shared memory that is resident in the process that has most."""
    files: int
    """Of this gateway in /dev/shm."""


def sample(gateway: GatewayProcess, requests: int) -> Sample:
    """Measure."""
    server = gateway.triton()
    processes = (
        [gateway.parent, *gateway.workers()],
        [server] if server else [],
        gateway.stubs(),
    )
    shared = [[shared_resident_bytes(process) for process in part] for part in processes]
    resident = [sum(map(resident_bytes, part)) for part in processes]
    sizes = dict(zip(_PARTS, (*resident, gateway.shared_bytes()), strict=True))
    own = {name: size - sum(theirs) for (name, size), theirs in zip(sizes.items(), shared, strict=False)}
    return Sample(requests, sizes, own, max(itertools.chain(*shared)), len(gateway.shared()))


async def run(arguments: argparse.Namespace, gateway: GatewayProcess) -> tuple[Tally, list[Sample]]:
    """Send all requests; return what came of them, and the samples taken on the way."""
    samples: list[Sample] = []
    async with Clients(gateway.url, arguments.clients, arguments.deadline) as clients:
        counts = clients.tally.counts
        step = max(1, arguments.requests // _SAMPLES)
        load = asyncio.create_task(clients.run(lambda: counts.total() < arguments.requests))
        console = Console()
        while not load.done():
            if counts.total() >= step * (len(samples) + 1):
                samples.append(await asyncio.to_thread(sample, gateway, counts.total()))
                if len(samples) % 10 == 0:
                    console.print(describe(samples[-1]))
            await asyncio.sleep(_POLL_SECONDS)
        await load
        samples.append(await asyncio.to_thread(sample, gateway, counts.total()))
    return clients.tally, samples


def describe(taken: Sample) -> str:
    """Return a line about a sample."""
    sizes = ", ".join(f"{part} {size / 2**20:.1f} MiB" for part, size in taken.nbytes.items())
    touched = f"{taken.touched / 2**20:.1f} MiB of it touched by one process"
    return f"{taken.requests:6} requests: {sizes}, {touched}, {taken.files} files"


def judge(tally: Tally, samples: list[Sample], warm_up: int) -> list[Check]:
    """Return what has to be so, and whether it is."""
    counts = tally.counts
    warm = [taken for taken in samples if taken.requests >= warm_up]
    failed = counts.total() - counts[Outcome.RIGHT]
    checks = [
        Check("right answers", counts[Outcome.RIGHT], "some", counts[Outcome.RIGHT] > 0),
        Check("other answers or none", failed, "0", not failed),
    ]
    count = max(1, round(_SHARE * len(warm)))
    for part in _PARTS:
        begin, end = (statistics.mean(taken.nbytes[part] for taken in some) for some in (warm[:count], warm[-count:]))
        found = f"{begin / 2**20:.1f} -> {end / 2**20:.1f} MiB, {end / begin - 1:+.1%}"
        if part in warm[0].own:
            found += f"; not shared {warm[0].own[part] / 2**20:.1f} -> {warm[-1].own[part] / 2**20:.1f} MiB"
        checks.append(Check(part, found, f"< {GROWTH:+.0%}", end < begin * (1 + GROWTH)))
    touched, taken = samples[-1].touched, samples[-1].nbytes["shared memory"]
    found = f"{touched / 2**20:.1f} of {taken / 2**20:.1f} MiB"
    checks.append(Check("shared by one process", found, "no more than all", touched <= taken))
    files = {taken.files for taken in warm}
    checks.append(Check("files in /dev/shm", ", ".join(map(str, sorted(files))), "one number", len(files) == 1))
    return checks


def soak(arguments: argparse.Namespace) -> int:
    """Do all of it and return the exit status."""
    begin = time.monotonic()
    settings = {"workers": arguments.workers, "deadline_seconds": arguments.deadline}
    with running_gateway(settings) as gateway:
        tally, samples = asyncio.run(run(arguments, gateway))
    for attempt in (*tally.bad, *tally.lost)[:10]:
        Console().print(f"{attempt.outcome}: {attempt.detail}")
    seconds = time.monotonic() - begin
    title = f"{tally.counts.total()} requests, {arguments.clients} clients, {arguments.workers} workers"
    cores = len(os.sched_getaffinity(0))
    warm_up = min(WARM_UP, arguments.requests // 2)
    return conclude(f"{title}, {seconds:.0f} s, {cores} cores", judge(tally, samples, warm_up))


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--requests", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--deadline", type=float, default=10.0, help="seconds, GATEWAY_DEADLINE_SECONDS")
    return soak(parser.parse_args())


if __name__ == "__main__":
    raise SystemExit(main())
