"""What HTTP, the gateway and Triton cost: the service beside a bare loop of the same networks on the same photo.

The bare loop runs in one process per core: decode the JPEG, then `plates.pipeline.recognize` on ONNX Runtime sessions
with one thread each. Both sides take turns, round by round, so that a machine whose speed drifts slows both; the ratio
of each round counts. Photos per second tell something on a quiet machine alone: beside other work, many processes get
more of it than two. The processor time for each photo, counted by the kernel, tells about the same on a busy one.

The clients of the service run on the same cores, and what they take from it belongs to neither side: they send a form
that was made once, over connections of the standard library, and what they take all the same is told.
"""

import argparse
import contextlib
import http.client
import json
import math
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Final, Self

import cv2
import httpx
import numpy as np
import onnxruntime
import psutil
import simplejpeg
from rich.console import Console
from rich.progress import track
from rich.table import Table

from nets.data.plates import render_scene
from nets.service import service
from plates import contract, pipeline
from plates.geometry import Floats

REPOSITORY: Final = Path(__file__).resolve().parents[1] / "model_repository"

_WARM_UP_SECONDS: Final = 2.0
_ANSWER_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Side:
    """What one side gave in one round."""

    rate: float
    """Photos per second."""
    milliseconds: float
    """Processor time for each photo."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round gave."""

    bare: Side
    service: Side
    """Processor time: NaN where the service wasn't started here."""
    client_milliseconds: float
    """Processor time that the clients took for each photo."""


def processor_seconds(apart: Collection[int]) -> float:
    """Return the processor time of all processes below this one, but for those apart, by their ids."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        if process.pid not in apart:
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system
    return total


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


def bare_worker(
    photo: bytes, seconds: float, start: Barrier, results: "multiprocessing.Queue[tuple[int, float]]"
) -> None:
    """Recognise the photo again and again for some seconds, each time the barrier opens.

    Puts the count of photos and the seconds of processor time into `results`.
    """
    cv2.setNumThreads(1)  # as in the service: the other processes have the other cores
    detector, stn, lprnet = session(contract.YOLO_NET), session(contract.STN), session(contract.LPRNET)
    options = pipeline.Options()
    while True:
        start.wait()
        count, begin, end = 0, time.process_time(), time.monotonic() + seconds
        while time.monotonic() < end:
            image = simplejpeg.decode_jpeg(photo, "BGR")
            readings = pipeline.recognize(image, detector, lambda crops: lprnet(stn(crops)), options)
            check(len(readings.texts))
            count += 1
        results.put((count, time.process_time() - begin))


class BareLoop:
    """The processes of the bare loop, as a context manager."""

    def __init__(self, photo: bytes, seconds: float) -> None:
        context = multiprocessing.get_context("spawn")
        cores = len(os.sched_getaffinity(0))
        self._seconds = seconds
        self._start, self._results = context.Barrier(cores + 1), context.Queue()
        arguments = (photo, seconds, self._start, self._results)
        self._workers = [context.Process(target=bare_worker, args=arguments, daemon=True) for _ in range(cores)]

    def __enter__(self) -> Self:
        """Start them; they load the networks before the first round."""
        for worker in self._workers:
            worker.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        """End them."""
        for worker in self._workers:
            worker.terminate()

    @property
    def pids(self) -> set[int]:
        """Their ids."""
        return {worker.pid for worker in self._workers if worker.pid is not None}

    def run(self) -> Side:
        """Recognise photos for some seconds."""
        self._start.wait()
        counts, seconds = zip(*(self._results.get() for _ in self._workers), strict=True)
        return Side(sum(counts) / self._seconds, 1000 * sum(seconds) / sum(counts))


class Clients:
    """Some clients that send the same photo to a service, each over a connection of its own."""

    def __init__(self, url: str, photo: bytes, count: int) -> None:
        request = httpx.Request("POST", f"{url}/recognize", files={"image": ("photo.jpg", photo, "image/jpeg")})
        self._address = (request.url.host, request.url.port)
        self._body = request.read()
        self._headers = {"Content-Type": request.headers["Content-Type"]}
        self._count = count

    def run(self, seconds: float, apart: Collection[int] = ()) -> tuple[Side, float]:
        """Ask for some seconds.

        Args:
            seconds: that long.
            apart: ids of processes that aren't the service's.

        Returns:
            What the service gave, and the milliseconds of processor time that the clients took for each photo.
        """
        of_service, of_clients = processor_seconds(apart), time.process_time()
        end = time.monotonic() + seconds
        with ThreadPoolExecutor(self._count) as pool:
            count = sum(pool.map(self._ask_until, [end] * self._count))
        of_service, of_clients = processor_seconds(apart) - of_service, time.process_time() - of_clients
        return Side(count / seconds, 1000 * of_service / count or math.nan), 1000 * of_clients / count

    def _ask_until(self, end: float) -> int:
        count = 0
        with contextlib.closing(http.client.HTTPConnection(*self._address, timeout=_ANSWER_SECONDS)) as connection:
            while time.monotonic() < end:
                connection.request("POST", "/recognize", self._body, self._headers)
                response = connection.getresponse()
                answer = response.read()
                if response.status != http.HTTPStatus.OK:
                    raise RuntimeError(f"the service answered {response.status}: {answer.decode()}")
                check(len(json.loads(answer)["plates"]))
                count += 1
        return count


def measure(url: str, photo: bytes, rounds: int, seconds: float, clients: int) -> list[Round]:
    """Run both sides in turns."""
    asking = Clients(url, photo, clients)
    asking.run(_WARM_UP_SECONDS)
    with BareLoop(photo, seconds) as bare:
        return [
            Round(bare.run(), *asking.run(seconds, bare.pids))
            for _ in track(range(rounds), "rounds", refresh_per_second=1)
        ]


def report(rounds: Sequence[Round]) -> Table:
    """Return a table of the results."""
    table = Table(caption="processor time: milliseconds for each photo")
    for name in ("round", "bare/s", "service/s", "ratio", "bare ms", "service ms", "ratio", "clients ms"):
        table.add_column(name, justify="right")
    ratios = [
        (entry.service.rate / entry.bare.rate, entry.bare.milliseconds / entry.service.milliseconds) for entry in rounds
    ]
    for number, (entry, (by_clock, by_processor)) in enumerate(zip(rounds, ratios, strict=True), 1):
        rates = (f"{entry.bare.rate:.1f}", f"{entry.service.rate:.1f}", f"{by_clock:.3f}")
        times = (f"{entry.bare.milliseconds:.1f}", f"{entry.service.milliseconds:.1f}", f"{by_processor:.3f}")
        table.add_row(f"{number}", *rates, *times, f"{entry.client_milliseconds:.1f}")
    by_clock, by_processor = (statistics.median(column) for column in zip(*ratios, strict=True))
    table.add_row("median", "", "", f"{by_clock:.3f}", "", "", f"{by_processor:.3f}", "")
    return table


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
        rounds = measure(url, photo, arguments.rounds, arguments.seconds, arguments.clients)
    console = Console()
    console.print(f"photo {len(photo) / 1e6:.2f} MB, {arguments.clients} clients, {len(os.sched_getaffinity(0))} cores")
    console.print(report(rounds))


if __name__ == "__main__":
    main()
