"""Count what the running service finds and reads in the held-out photos, through HTTP.

    python -m nets.evaluate [--url URL] [--json FILE] [--minimum-recall R] [--minimum-exact R]

Without `--url`, a service at its default address is asked, or one is started for the time being on a free port. The
photos are the scenes of the fold that is never trained on, and those without plates.
"""

import argparse
import asyncio
import json
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import httpx
from rich.console import Console
from rich.progress import Progress
from rich.table import Column, Table

from nets.data import index
from nets.data.unlabelled import unlabelled_plates
from nets.metrics import BUCKETS, HEADLINE_WIDTH, Answer, Label, Report, Tally

DEFAULT_URL: Final = "http://127.0.0.1:8080"
SERVE: Final = (sys.executable, "-m", "gateway.cli", "serve")
CONCURRENT: Final = 4
TIMEOUT_SECONDS: Final = 60.0
START_SECONDS: Final = 180.0
STOP_SECONDS: Final = 45.0
"""Triton lets requests finish for up to 30 s."""


class EvaluationError(Exception):
    """There is nothing to evaluate, or nothing to evaluate with."""


@dataclass(frozen=True, slots=True)
class Photo:
    """A photo to send, and what is to come back."""

    path: Path
    labels: tuple[Label, ...]
    complete: bool
    """Whether every plate is labelled, so that any other answer is a mistake."""


@dataclass(slots=True)
class Outcome:
    """What the service did with all photos."""

    report: Report = field(default_factory=Report)
    failures: list[str] = field(default_factory=list)
    """Photos that got no answer, and why; their plates count as not found."""


def held_out_photos(root: Path = index.ROOT) -> list[Photo]:
    """Return the scenes of the held-out fold and the photos without plates.

    Raises:
        EvaluationError: the photos are not there.
    """
    if not index.available(root):
        raise EvaluationError(f"There is nothing to evaluate on: the labelled photos are not at {root}.")
    scenes = [
        Photo(image.path, tuple(Label(plate.box, plate.text) for plate in image.plates), image.complete)
        for image in index.load(root)
        if image.kind == "scene" and image.fold == index.HELD_OUT_FOLD
    ]
    return scenes + [Photo(path, (), True) for path in index.negatives(root)]


async def evaluate(
    client: httpx.AsyncClient, photos: Sequence[Photo], advance: Callable[[], None] = lambda: None
) -> Outcome:
    """Send photos, a few at once, and count the answers; `advance` is called after each."""
    limit = asyncio.Semaphore(CONCURRENT)

    async def ask(photo: Photo) -> list[Answer] | str:
        async with limit:
            try:
                return await recognize(client, photo.path)
            except httpx.HTTPError as error:
                return f"{photo.path.name}: {error!r}"
            finally:
                advance()

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(photo)) for photo in photos]
    outcome = Outcome()
    for photo, task in zip(photos, tasks, strict=True):
        answers = task.result()
        if isinstance(answers, str):
            outcome.failures.append(answers)
            answers = []
        ignored = unlabelled_plates().get(photo.path.name, ())
        outcome.report.add(photo.labels, answers, photo.complete, ignored)
    return outcome


async def recognize(client: httpx.AsyncClient, path: Path) -> list[Answer]:
    """Send one photo as it lies on the disk; return its plates, best detection first.

    Raises:
        httpx.HTTPError: no answer, or one that isn't 200.
    """
    content = await asyncio.to_thread(path.read_bytes)
    response = await client.post("/recognize", files={"image": (path.name, content)})
    response.raise_for_status()
    return [_answer(plate) for plate in response.json()["plates"]]


def _answer(plate: dict[str, Any]) -> Answer:
    box = plate["box"]
    return Answer((box["x_min"], box["y_min"], box["x_max"], box["y_max"]), plate["text"])


@contextmanager
def service(url: str | None) -> Iterator[str]:
    """Give the address of a service: the one asked for, the one that runs, or one that is started and stopped here.

    Raises:
        EvaluationError: nothing answers at the address asked for, or the service doesn't start.
    """
    if _answers(url or DEFAULT_URL):
        yield url or DEFAULT_URL
    elif url:
        raise EvaluationError(f"Nothing answers at {url}.")
    else:
        with tempfile.TemporaryFile("w+") as log:
            yield from _started(log)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health/live", timeout=5).is_success
    except httpx.HTTPError:
        return False


def _started(log: IO[str]) -> Iterator[str]:
    port = _free_port()
    environment = os.environ | {
        "GATEWAY_PORT": str(port),
        "GATEWAY_TRITON_HTTP_PORT": "0",
        "GATEWAY_TRITON_GRPC_PORT": "0",
        "GATEWAY_TRITON_METRICS_PORT": "0",
    }
    process = subprocess.Popen(SERVE, env=environment, stdout=log, stderr=log)  # noqa: S603 - our own command
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_ready(process, url, log)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: IO[str]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/health/ready", timeout=5).is_success:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    log.seek(0)
    last_lines = "".join(log.readlines()[-20:])
    raise EvaluationError(f"The service did not become ready. Its last lines:\n{last_lines}")


def table(report: Report) -> Table:
    """Lay out the counts: a row per width of the plates, then all of them, then those that the service promises."""
    counts = ("plates", "found", "IoU", "texts", "exact", "of found", "wrong", "CER")
    columns = [Column("width", no_wrap=True), *(Column(name, justify="right", no_wrap=True) for name in counts)]
    # Without lines the columns fit the 80 characters of a log.
    result = Table(*columns, box=None, padding=(0, 1, 0, 0))
    rows = [(_bucket_name(*bucket), tally) for bucket, tally in zip(BUCKETS, report.buckets, strict=True)]
    rows.append(("all", report.everything))
    rows.append((f"{HEADLINE_WIDTH:.0f}+ px with text", report.headline))
    for name, tally in rows:
        result.add_row(
            name,
            str(tally.plates),
            _percent(tally.recall),
            _number(tally.mean_iou),
            str(tally.texts),
            _percent(tally.exact_of_all),
            _percent(tally.exact_of_found),
            _percent(tally.wrong_of_all),
            _percent(tally.character_error_rate),
        )
    return result


def _bucket_name(low: float, high: float) -> str:
    return f"{low:.0f}-{high:.0f} px" if math.isfinite(high) else f"{low:.0f}+ px"


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.1%}"


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def figures(outcome: Outcome) -> dict[str, Any]:
    """Return the counts for machines; null where there was nothing to measure."""
    report = outcome.report
    tallies = {_bucket_name(*bucket): tally for bucket, tally in zip(BUCKETS, report.buckets, strict=True)}
    tallies |= {"all": report.everything, "headline": report.headline}
    return {
        "photos": report.photos,
        "failures": outcome.failures,
        "precision": _null(report.precision),
        "judged": report.judged,
        "plates": {name: _tally_figures(tally) for name, tally in tallies.items()},
    }


def _tally_figures(tally: Tally) -> dict[str, float | int | None]:
    return {
        "plates": tally.plates,
        "found": tally.found,
        "texts": tally.texts,
        "exact": tally.exact,
        "recall": _null(tally.recall),
        "mean_iou": _null(tally.mean_iou),
        "exact_of_all": _null(tally.exact_of_all),
        "exact_of_found": _null(tally.exact_of_found),
        "wrong_of_all": _null(tally.wrong_of_all),
        "character_error_rate": _null(tally.character_error_rate),
    }


def _null(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def shortfalls(report: Report, minimum_recall: float, minimum_exact: float) -> list[str]:
    """Say in which respects the plates that the service promises to read fall short."""
    headline = report.headline
    wanted = (("found", headline.recall, minimum_recall), ("read exactly", headline.exact_of_all, minimum_exact))
    return [
        f"{_percent(value)} of the plates are {what}, less than {minimum:.1%}"
        for what, value, minimum in wanted
        # Negated so that "not measured" falls short of any minimum.
        if minimum > 0 and not value >= minimum
    ]


async def _evaluate_at(url: str, photos: Sequence[Photo], console: Console) -> Outcome:
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("photos", total=len(photos))
        async with httpx.AsyncClient(base_url=url, timeout=TIMEOUT_SECONDS) as client:
            return await evaluate(client, photos, lambda: progress.advance(task))


def main(arguments: list[str] | None = None) -> int:
    """Evaluate from the command line; return the exit status: 1 when the service falls short or can't be asked."""
    parser = argparse.ArgumentParser(prog="nets.evaluate", description="Count found and read plates via HTTP.")
    parser.add_argument("--url", help=f"address of the service (default: {DEFAULT_URL}, or one is started)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--minimum-recall", type=float, default=0.0, help="least share found, 0 to 1")
    parser.add_argument("--minimum-exact", type=float, default=0.0, help="least share read exactly, 0 to 1")
    options = parser.parse_args(arguments)
    console = Console()
    try:
        photos = held_out_photos()
        with service(options.url) as url:
            outcome = asyncio.run(_evaluate_at(url, photos, console))
    except EvaluationError as error:
        console.print(str(error), markup=False)
        return 1
    report = outcome.report
    console.print(f"{report.photos} photos, {report.everything.plates} labelled plates")
    console.print(table(report))
    console.print(f"precision {_percent(report.precision)} of {report.judged} answers where every plate is labelled")
    for failure in outcome.failures:
        console.print(f"no answer: {failure}", markup=False)
    if options.json:
        options.json.write_text(json.dumps(figures(outcome), indent=2) + "\n", encoding="utf-8")
    short = shortfalls(report, options.minimum_recall, options.minimum_exact)
    for sentence in short:
        console.print(sentence, markup=False)
    return 1 if short or outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
