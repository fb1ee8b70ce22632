"""What `plate-gateway recognize` costs: the command beside a bare loop of requests, on the same photos and service.

The command is run as its user runs it, in a process of its own with its start and its end, and writes JSON lines into
a file. The loop reads the same files and sends them by as many connections. Both take turns, round by round, and who
comes first alternates, so that a machine whose speed drifts slows both; the ratio of each round counts. Both run beside
the service, on its processors.
"""

import argparse
import asyncio
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import httpx
from rich.console import Console
from rich.progress import track

from gateway.client.photos import find
from nets.service import service

SCENES: Final = Path(__file__).resolve().parents[2] / "shared" / "data" / "scenes"

_WARM_UP: Final = 40
"""Photos before the first round."""


async def by_loop(url: str, paths: Sequence[str], jobs: int) -> float:
    """Return the seconds that a loop takes to have the photos answered."""
    begin = time.perf_counter()
    left = iter(paths)
    limits = httpx.Limits(max_connections=jobs, max_keepalive_connections=jobs)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits, trust_env=False) as client:

        async def one() -> None:
            for path in left:
                response = await client.post(
                    "/recognize",
                    content=await asyncio.to_thread(Path(path).read_bytes),
                    headers={"Content-Type": "application/octet-stream"},
                )
                response.raise_for_status()
                response.json()

        async with asyncio.TaskGroup() as tasks:
            for _ in range(jobs):
                tasks.create_task(one())
    return time.perf_counter() - begin


def by_command(url: str, folder: Path, count: int, jobs: int) -> float:
    """Return the seconds that the command takes for the photos of a folder, from its start to its end.

    Raises:
        RuntimeError: not every one of them was answered.
    """
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch) / "plates.jsonl"
        command = [sys.executable, "-m", "gateway.cli", "recognize", str(folder), "-o", str(output), "-j", str(jobs)]
        begin = time.perf_counter()
        subprocess.run(command, env=os.environ | {"PLATE_GATEWAY_URL": url}, stderr=subprocess.PIPE, check=True)  # noqa: S603
        seconds = time.perf_counter() - begin
        answered = sum("plates" in json.loads(line) for line in output.read_text(encoding="utf-8").splitlines())
    if answered != count:
        raise RuntimeError(f"{answered} of {count} photos were answered")
    return seconds


def run(arguments: argparse.Namespace, url: str, folder: Path, paths: Sequence[str]) -> list[tuple[float, float]]:
    """Return photos per second, by the loop and by the command, for each round."""
    asyncio.run(by_loop(url, paths[:_WARM_UP], arguments.jobs))
    rounds = []
    for number in track(range(arguments.rounds), "rounds"):
        rates = {}
        for side in ("loop", "command") if number % 2 == 0 else ("command", "loop"):
            if side == "loop":
                seconds = asyncio.run(by_loop(url, paths, arguments.jobs))
            else:
                seconds = by_command(url, folder, len(paths), arguments.jobs)
            rates[side] = len(paths) / seconds
        rounds.append((rates["loop"], rates["command"]))
    return rounds


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, default=SCENES, help="folder; by default ../shared/data/scenes")
    parser.add_argument("--count", type=int, help="photos of it; by default all")
    parser.add_argument("--url", help="a running service; by default one is started")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=8, help="requests under way, on both sides")
    arguments = parser.parse_args()
    paths = [os.path.abspath(photo.path) for photo in itertools.islice(find([str(arguments.photos)]), arguments.count)]  # noqa: PTH100
    console = Console()
    with tempfile.TemporaryDirectory() as scratch, service(arguments.url) as url:
        # Links: the command is told one folder, whatever part of it is measured.
        for number, path in enumerate(paths):
            Path(scratch, f"{number:06}{Path(path).suffix}").symlink_to(path)
        rounds = run(arguments, url, Path(scratch), paths)
    console.print(f"{len(paths)} photos, {arguments.jobs} requests at once, {len(os.sched_getaffinity(0))} cores")
    for loop, command in rounds:
        console.print(f"loop {loop:6.1f}/s   command {command:6.1f}/s   ratio {command / loop:.3f}")
    console.print(f"median ratio {statistics.median(command / loop for loop, command in rounds):.3f}")


if __name__ == "__main__":
    main()
