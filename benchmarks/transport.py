"""System shared memory against gRPC: photos per second, and what is copied for each photo.

Both transports run in one process against one embedded Triton with the real networks, and take turns, round by round,
so that a machine whose speed drifts slows both; the ratio of each round counts.

What is copied is counted in three ways, each by its own means, for single requests on a quiet machine: by the gateway,
where it copies pixels (`TritonRecognizer.copied`); by the kernel, in bytes that pass the loopback; and by tracemalloc,
as the most memory that Python and numpy held at once beyond what they held before. A photo that is decoded where Triton
reads it shows in none of the three.
"""

import argparse
import asyncio
import contextlib
import logging
import statistics
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cv2
from rich.console import Console
from rich.progress import track
from rich.table import Table

from gateway import images
from gateway.images import EncodedImage
from gateway.settings import Settings
from gateway.triton.client import TritonRecognizer
from gateway.triton.embedded import EmbeddedTriton
from nets.data.plates import render_scene

TRANSPORTS: Final = ("system", "grpc")

_COUNTED: Final = 10
"""Requests whose copies are counted."""
_DEADLINE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Copies:
    """Bytes for one photo."""

    counted: float
    """Pixels that the gateway copied after decoding."""
    loopback: float
    """What passed the loopback, both ways."""
    peak: float
    """The most memory held at once."""


def loopback_bytes() -> int:
    """Return how many bytes have passed the loopback since it is up (proc_net_dev(5))."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, counters = line.partition(":")
        if name.strip() == "lo":
            return int(counters.split()[0])
    raise RuntimeError("there is no loopback")


async def ask(client: TritonRecognizer, photo: EncodedImage) -> None:
    """Recognise the photo.

    Raises:
        RuntimeError: no plate was found: the reader would be left out.
    """
    deadline = asyncio.get_running_loop().time() + _DEADLINE_SECONDS
    if not (await client.recognize(photo, deadline=deadline)).plates:
        raise RuntimeError("no plate was found in the photo")


async def throughput(client: TritonRecognizer, photo: EncodedImage, seconds: float, concurrency: int) -> float:
    """Return the photos per second that so many requests at once get."""
    loop = asyncio.get_running_loop()
    begin = loop.time()

    async def one() -> int:
        count = 0
        while loop.time() - begin < seconds:
            await ask(client, photo)
            count += 1
        return count

    count = sum(await asyncio.gather(*(one() for _ in range(concurrency))))
    return count / (loop.time() - begin)


async def copies(client: TritonRecognizer, photo: EncodedImage) -> Copies:
    """Count what is copied for one photo."""
    counted, passed = client.copied.total(), loopback_bytes()
    for _ in range(_COUNTED):
        await ask(client, photo)
    counted, passed = client.copied.total() - counted, loopback_bytes() - passed
    tracemalloc.start()
    await ask(client, photo)
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    await ask(client, photo)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Copies(counted / _COUNTED, passed / _COUNTED, peak - before)


async def until_ready(client: TritonRecognizer) -> None:
    """Wait until the client is ready."""
    while not (await client.readiness()).ready:  # noqa: ASYNC110 - readiness has to be asked for
        await asyncio.sleep(0.1)


async def run(arguments: argparse.Namespace, photo: EncodedImage) -> tuple[list[Copies], list[tuple[float, float]]]:
    """Return the copies of each transport, and the photos per second of both in each round."""
    settings = Settings(triton_http_port=0, triton_grpc_port=0, triton_metrics_port=0)
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(EmbeddedTriton(settings))
        clients = []
        for transport in TRANSPORTS:
            forced = settings.model_copy(update={"transport": transport})
            clients.append(await stack.enter_async_context(TritonRecognizer(forced, server.endpoint)))
            await until_ready(clients[-1])
            await throughput(clients[-1], photo, 2, arguments.concurrency)
        counted = [await copies(client, photo) for client in clients]
        rounds = []
        for _ in track(range(arguments.rounds), "rounds", refresh_per_second=1):
            system, grpc = [
                await throughput(client, photo, arguments.seconds, arguments.concurrency) for client in clients
            ]
            rounds.append((system, grpc))
        return counted, rounds


def report(photo: EncodedImage, counted: Sequence[Copies], rounds: Sequence[tuple[float, float]]) -> Table:
    """Return a table of the results."""
    table = Table(title=f"{photo.width} x {photo.height}, {photo.width * photo.height * 3 / 1e6:.2f} MB of pixels")
    table.add_column("")
    for transport in (*TRANSPORTS, "system / grpc"):
        table.add_column(transport, justify="right")
    for name in Copies.__slots__:
        values = [getattr(entry, name) / 1e6 for entry in counted]
        table.add_row(f"MB per photo: {name}", *(f"{value:.3f}" for value in values))
    for number, (system, grpc) in enumerate(rounds, 1):
        table.add_row(f"photos/s, round {number}", f"{system:.1f}", f"{grpc:.1f}", f"{system / grpc:.2f}")
    table.add_row("median ratio", "", "", f"{statistics.median(system / grpc for system, grpc in rounds):.2f}")
    return table


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photo", type=Path, help="a JPEG with a plate; by default one is drawn, 1920 x 1080")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4, help="of each transport in each round")
    parser.add_argument("--concurrency", type=int, default=6, help="requests under way at once")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    if arguments.photo:
        data = arguments.photo.read_bytes()
    else:
        pixels, _, _ = render_scene("B840OK197", 1, 1920, 1080, 260)
        data = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, 92])[1].tobytes()
    photo = images.inspect(data, 10**8)
    counted, rounds = asyncio.run(run(arguments, photo))
    Console().print(report(photo, counted, rounds))


if __name__ == "__main__":
    main()
