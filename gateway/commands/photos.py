"""`plate-gateway recognize` on photos: from the options to the exit status."""

import asyncio
import contextlib
import itertools
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

import typer

from gateway.client import batch
from gateway.client.annotated import Annotator
from gateway.client.errors import GatewayUnusable
from gateway.client.http import GatewayClient
from gateway.client.journal import Journal, Notation
from gateway.client.notations import CsvNotation, JsonNotation
from gateway.client.outputs import Csv, JsonLines, Sink, Table, Writer, printable
from gateway.client.photos import SUFFIXES, Photo, find
from gateway.commands.common import FAILED
from gateway.commands.connect import connect
from gateway.commands.destinations import is_stream, make_folder, open_text
from gateway.commands.interrupts import Interrupt
from gateway.commands.progress import Bar
from gateway.settings import Settings

_WINDOW_PER_JOB: Final = 2
"""Photos in memory per request under way: the next ones are read meanwhile."""

_RECOUNT_SECONDS: Final = 0.5

_HOW_TO_RESUME: Final = " With -o plates.jsonl or -o plates.csv the same command would go on from there."


class OutputFormat(StrEnum):
    """How answers are written."""

    TABLE = "table"
    JSONL = "jsonl"
    CSV = "csv"


_WRITERS: Final[dict[OutputFormat, Callable[[Sink], Writer]]] = {
    OutputFormat.TABLE: Table,
    OutputFormat.JSONL: JsonLines,
    OutputFormat.CSV: Csv,
}

_NOTATIONS: Final[dict[OutputFormat, Notation]] = {
    OutputFormat.JSONL: JsonNotation(),
    OutputFormat.CSV: CsvNotation(),
}
"""Of the formats whose files tell what is done."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the command was asked for; the fields are its options."""

    sources: list[str]
    url: str | None
    key: str | None
    format: OutputFormat
    output: Path | None
    annotate: Path | None
    jobs: int
    restart: bool
    parameters: dict[str, str | float] = field(default_factory=dict)


@dataclass(slots=True)
class Tally:
    """What came of the photos so far."""

    done: int = 0
    failed: int = 0
    skipped: int = 0
    plates: int = 0

    def count(self, outcome: batch.Outcome) -> None:
        """Take in one outcome."""
        self.done += 1
        self.failed += outcome.error is not None
        self.plates += len(outcome.plates)

    def skip(self) -> None:
        """Take in a photo that an earlier run has done."""
        self.skipped += 1

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to do, and nothing that had been done."""
        return not self.done and not self.skipped

    def __str__(self) -> str:
        parts = [f"photos: {self.done}, plates: {self.plates}"]
        if self.failed:
            parts.append(f"failed: {self.failed}")
        if self.skipped:
            parts.append(f"done before: {self.skipped}")
        return ", ".join(parts)


async def run(order: Order, settings: Settings) -> int:
    """Do it, and return the exit status.

    Raises:
        ClientError: there is no gateway, or none any more.
        EmbeddedTritonError: no Triton can be started here.
        DestinationError, JournalError: the output or the folder of copies can't be made.
        OSError: the output can't be written any more.
    """
    tally, interrupt = Tally(), Interrupt()
    if order.annotate is not None:
        make_folder(order.annotate)
    annotator = None if order.annotate is None else Annotator(order.annotate, order.sources)
    with Bar("photos") as bar, _output(order, bar) as (writer, journal):
        photos: Iterable[Photo] = find(order.sources)
        if journal is not None:
            photos = batch.left_over(photos, journal, annotator.target if annotator else None, tally.skip)
        rest = _HOW_TO_RESUME if journal is None else " The same command goes on from here."
        async with (
            connect(order.url, order.key, settings, order.jobs, bar.tell) as http,
            _expecting(order.sources, bar, tally),
        ):
            recognizing = batch.recognize(
                GatewayClient(http, order.jobs),
                photos,
                window=_WINDOW_PER_JOB * order.jobs,
                parameters=order.parameters,
                stop=interrupt.event,
                keep=annotator.write if annotator else None,
            )
            with interrupt.caught():
                try:
                    async with aclosing(recognizing) as outcomes:
                        async for outcome in outcomes:
                            writer.write(outcome)
                            tally.count(outcome)
                            if outcome.error is not None and order.output is not None:
                                bar.tell(printable(f"{outcome.photo.path}: {outcome.error}"))
                            bar.advance(f"{tally.failed} failed" if tally.failed else "")
                except GatewayUnusable:
                    bar.tell(f"Ended early: {tally}.{rest}")
                    raise
                finally:
                    bar.close()
    if interrupt.event.is_set():
        typer.echo(f"Interrupted: {tally}.{rest}", err=True)
        return interrupt.status
    typer.echo(f"{tally}.{_searched_for(order.sources) if tally.is_empty else ''}", err=True)
    return FAILED if tally.failed else 0


def _searched_for(folders: Iterable[str]) -> str:
    """Return what to say where no photo was found."""
    suffixes = " ".join(sorted(SUFFIXES))
    return f" No photos in {printable(', '.join(folders))}: folders are searched for {suffixes}."


@contextlib.contextmanager
def _output(order: Order, bar: Bar) -> Iterator[tuple[Writer, Journal | None]]:
    """Give what writes outcomes, and the journal of what earlier runs wrote, where there is one."""
    if order.output is None:
        yield _WRITERS[order.format](bar.put), None
    elif order.format in _NOTATIONS and not is_stream(order.output):
        with Journal(order.output, _NOTATIONS[order.format], restart=order.restart) as journal:
            if order.format is OutputFormat.CSV:
                yield Csv(journal.append, headed=not journal.is_new), journal
            else:
                yield JsonLines(journal.append), journal
    else:
        with open_text(order.output, restart=order.restart) as file:
            yield _WRITERS[order.format](file.write), None


@contextlib.asynccontextmanager
async def _expecting(sources: list[str], bar: Bar, tally: Tally) -> AsyncIterator[None]:
    """Count the photos meanwhile, for the bar's sake: the work doesn't wait for that."""
    if not bar.shown:
        yield
        return
    ended = threading.Event()

    def count() -> None:
        total = sum(1 for _ in itertools.takewhile(lambda _: not ended.is_set(), find(sources)))
        while not ended.is_set():
            # Those that are done already come to light while the work goes on.
            bar.expect(total - tally.skipped)
            ended.wait(_RECOUNT_SECONDS)

    counting = asyncio.create_task(asyncio.to_thread(count))
    try:
        yield
    finally:
        ended.set()
        await counting
