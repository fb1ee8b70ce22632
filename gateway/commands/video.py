"""`plate-gateway recognize` on videos and cameras: from the options to the exit status."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import typer

from gateway.client.http import GatewayClient
from gateway.client.outputs import Sink, printable
from gateway.commands.common import FAILED
from gateway.commands.connect import connect
from gateway.commands.destinations import make_folder, open_text
from gateway.commands.interrupts import Interrupt
from gateway.commands.photos import Order, OutputFormat
from gateway.commands.progress import Bar
from gateway.settings import Settings
from gateway.video import passages
from gateway.video.frames import Frames, Source, VideoError, configure_ffmpeg
from gateway.video.outputs import PassageCsv, PassageLines, PassageTable, PassageWriter
from gateway.video.passages import Passage

_WRITERS: Final[dict[OutputFormat, Callable[[Sink], PassageWriter]]] = {
    OutputFormat.TABLE: PassageTable,
    OutputFormat.JSONL: PassageLines,
    OutputFormat.CSV: PassageCsv,
}


@dataclass(frozen=True, slots=True)
class VideoOptions:
    """What the command was asked for beside what it is for photos; the fields are its options."""

    fps: float
    crops: Path | None
    least_frames: int
    least_score: float


@dataclass(slots=True)
class Tally:
    """What came of the videos so far."""

    passages: int = 0
    failed: int = 0
    """Videos that couldn't be opened."""
    refused: int = 0
    """Frames that the gateway refused."""

    def __str__(self) -> str:
        counts = {"passages": self.passages, "failed": self.failed, "frames refused": self.refused}
        return ", ".join(f"{name}: {count}" for name, count in counts.items() if count or name == "passages")


async def run(order: Order, options: VideoOptions, settings: Settings) -> int:
    """Do it, one video after the other, and return the exit status.

    Raises:
        ClientError: there is no gateway, or none any more.
        EmbeddedTritonError: no Triton can be started here.
        DestinationError: the output or the folder of pictures can't be made.
        OSError: the output or a picture can't be written any more.
    """
    configure_ffmpeg()
    if options.crops is not None:
        make_folder(options.crops)
    interrupt, tally = Interrupt(), Tally()
    sources = [Source(source) for source in order.sources]
    with Bar("frames") as bar, _output(order, sources, bar) as writer:
        async with connect(order.url, order.key, settings, order.jobs, bar.tell) as http:
            client = GatewayClient(http, order.jobs)
            with interrupt.caught():
                for source in sources:
                    if interrupt.event.is_set():
                        break
                    try:
                        async with Frames(source, options.fps) as frames, _ending(frames, interrupt.event):
                            bar.restart(frames.duration * options.fps or None)
                            steps = passages.follow(
                                client,
                                frames,
                                window=order.jobs,
                                stop=interrupt.event,
                                least_frames=options.least_frames,
                                pictures=options.crops is not None,
                            )
                            await _write(steps, source, frames, options, writer, bar, tally)
                    except VideoError as error:
                        bar.tell(printable(str(error)))
                        tally.failed += 1
                bar.close()
    typer.echo(f"{tally}.", err=True)
    # A camera has no end but this one.
    if interrupt.event.is_set() and not all(source.is_live for source in sources):
        return interrupt.status
    return FAILED if tally.failed or tally.refused else 0


async def _write(
    steps: AsyncGenerator[passages.Progress, None],
    source: Source,
    frames: Frames,
    options: VideoOptions,
    writer: PassageWriter,
    bar: Bar,
    tally: Tally,
) -> None:
    """Write the passages of one video as they end."""
    async with contextlib.aclosing(steps):
        async for step in steps:
            for passage in step.passages:
                if passage.score >= options.least_score:
                    crop = None if options.crops is None else _save(passage, options.crops, source)
                    writer.write(passage.entry(source.name) | {"crop": crop and str(crop)})
                    tally.passages += 1
            if step.refused is not None:
                if not tally.refused:
                    bar.tell(printable(f"{source.name}, second {step.seconds:.1f}: {step.refused}"))
                tally.refused += 1
            dropped = f", {frames.dropped} dropped" if frames.dropped else ""
            bar.advance(f"passages: {tally.passages}{dropped}", step.frames)


def _save(passage: Passage, folder: Path, source: Source) -> Path:
    """Write a passage's picture; its name says where, when and what."""
    when = f"{passage.first_seconds:010.3f}" if passage.first_time is None else f"{passage.first_time:%Y%m%dT%H%M%S.%f}"
    path = folder / f"{source.stem}-{when}-{passage.text or 'unread'}.jpg"
    path.write_bytes(passage.picture)
    return path


@contextlib.contextmanager
def _output(order: Order, sources: list[Source], bar: Bar) -> Iterator[PassageWriter]:
    if order.output is None:
        yield _WRITERS[order.format](bar.put)
        return
    # What a camera has shown before it can't show again.
    goes_on = order.format is OutputFormat.JSONL and all(source.is_live for source in sources)
    with open_text(order.output, restart=order.restart, append=goes_on) as file:
        yield _WRITERS[order.format](file.write)


@contextlib.asynccontextmanager
async def _ending(frames: Frames, stop: asyncio.Event) -> AsyncIterator[None]:
    """End the frames when the event is set: a camera may send none to notice it by."""

    async def end() -> None:
        await stop.wait()
        frames.stop()

    ending = asyncio.create_task(end())
    try:
        yield
    finally:
        ending.cancel()
        await asyncio.wait({ending})
