"""What HTTP, the gateway and Triton cost: the service beside a bare loop of the same networks on the same photo.

The bare loop runs in one process per core: decode the JPEG, then `plates.pipeline.recognize` on ONNX Runtime sessions
with one thread each. Both sides take turns, round by round, so that a machine whose speed drifts slows both; the ratio
of each round counts. The clients of the service run on the same machine and are part of what is measured.
"""

import argparse
import asyncio
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path

import cv2
import httpx
import numpy as np
import onnxruntime
import simplejpeg
from rich.console import Console
from rich.progress import track

from nets.data.plates import render_scene
from nets.service import service
from plates import contract, pipeline
from plates.geometry import Floats

REPOSITORY = Path(__file__).resolve().parents[1] / "model_repository"


def session(model: contract.Model) -> Callable[[np.ndarray], Floats]:  # type: ignore[type-arg]
    """Return a network as a function on one array, run by ONNX Runtime in one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    loaded = onnxruntime.InferenceSession(
        REPOSITORY / model.name / "1" / "model.onnx", options, providers=["CPUExecutionProvider"]
    )
    return lambda array: loaded.run(None, {model.inputs[0].name: array})[0]


def check(plates: int) -> None:
    """Stop where no plate was found: the reader would be left out on that side."""
    if not plates:
        raise RuntimeError("no plate was found in the photo")


def bare_worker(photo: bytes, seconds: float, start: Barrier, counts: "multiprocessing.Queue[int]") -> None:
    """Recognise the photo again and again for some seconds, each time the barrier opens."""
    detector, stn, lprnet = session(contract.YOLO_NET), session(contract.STN), session(contract.LPRNET)
    options = pipeline.Options()
    while True:
        start.wait()
        count, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            image = simplejpeg.decode_jpeg(photo, "BGR")
            readings = pipeline.recognize(image, detector, lambda crops: lprnet(stn(crops)), options)
            check(len(readings.texts))
            count += 1
        counts.put(count)


async def through_service(client: httpx.AsyncClient, photo: bytes, seconds: float, clients: int) -> float:
    """Return the photos per second that some clients get through the service."""
    end = time.monotonic() + seconds

    async def one() -> int:
        count = 0
        while time.monotonic() < end:
            response = await client.post("/recognize", files={"image": ("photo.jpg", photo, "image/jpeg")})
            response.raise_for_status()
            check(len(response.json()["plates"]))
            count += 1
        return count

    return sum(await asyncio.gather(*(one() for _ in range(clients)))) / seconds


async def run(arguments: argparse.Namespace, url: str, photo: bytes) -> list[tuple[float, float]]:
    """Return photos per second, bare and through the service, for each round."""
    context = multiprocessing.get_context("spawn")
    cores = len(os.sched_getaffinity(0))
    start, counts = context.Barrier(cores + 1), context.Queue()
    workers = [
        context.Process(target=bare_worker, args=(photo, arguments.seconds, start, counts), daemon=True)
        for _ in range(cores)
    ]
    for worker in workers:
        worker.start()
    rounds = []
    limits = httpx.Limits(max_connections=arguments.clients)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:
        await through_service(client, photo, 2, arguments.clients)
        for _ in track(range(arguments.rounds), "rounds"):
            await asyncio.to_thread(start.wait)
            bare = sum([await asyncio.to_thread(counts.get) for _ in workers]) / arguments.seconds
            rounds.append((bare, await through_service(client, photo, arguments.seconds, arguments.clients)))
    for worker in workers:
        worker.terminate()
    return rounds


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photo", type=Path, help="a JPEG with a plate; by default one is drawn, 1920 x 1080")
    parser.add_argument("--url", help="a running service; by default one is started")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=6, help="of each side in each round")
    parser.add_argument("--clients", type=int, default=8, help="concurrent requests")
    arguments = parser.parse_args()
    if arguments.photo:
        photo = arguments.photo.read_bytes()
    else:
        image, _, _ = render_scene("B840OK197", 1, 1920, 1080, 260)
        photo = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 92])[1].tobytes()
    with service(arguments.url) as url:
        rounds = asyncio.run(run(arguments, url, photo))
    console = Console()
    console.print(f"photo {len(photo) / 1e6:.2f} MB, {arguments.clients} clients, {len(os.sched_getaffinity(0))} cores")
    for bare, served in rounds:
        console.print(f"bare {bare:6.1f}/s   service {served:6.1f}/s   ratio {served / bare:.3f}")
    console.print(f"median ratio {statistics.median(served / bare for bare, served in rounds):.3f}")


if __name__ == "__main__":
    main()
