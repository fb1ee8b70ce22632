"""A bar that says how far a command is, how fast it goes and when it will be done."""

import sys
from types import TracebackType
from typing import Self

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class Bar:
    """A bar on the standard error stream where that is a terminal, nothing elsewhere; a context manager.

    Args:
        unit: what is counted: "photos".
    """

    def __init__(self, unit: str) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(unit),
            _Rate(),
            TimeElapsedColumn(),
            _Left(),
            TextColumn("{task.fields[note]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
            # What goes to a file or a pipe must not come out above the bar.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._progress.add_task("", total=None, note="")
        self._shared = console.is_terminal and sys.stdout.isatty()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.stop()

    @property
    def shown(self) -> bool:
        """Whether anybody sees it."""
        return not self._progress.disable

    def close(self) -> None:
        """Take the bar away; what is told afterwards is told all the same."""
        self._progress.stop()

    def restart(self, total: float | None) -> None:
        """Begin to count anew, towards a total if it is known."""
        self._progress.reset(self._task, total=total)

    def expect(self, total: float | None) -> None:
        """Set how many there will be; None as long as nobody knows."""
        self._progress.update(self._task, total=total)

    def advance(self, note: str = "", count: int = 1) -> None:
        """Count so many more; the note stands beside the bar from then on."""
        self._progress.update(self._task, advance=count, note=note)

    def tell(self, sentence: str) -> None:
        """Write a sentence for the user on the standard error stream, above the bar."""
        if self._progress.disable:
            typer.echo(sentence, err=True)
        else:
            self._print(sentence + "\n")

    def put(self, lines: str) -> None:
        """Write lines on the standard output; above the bar where both are one terminal."""
        if self._shared:
            self._print(lines)
        else:
            sys.stdout.write(lines)

    def _print(self, lines: str) -> None:
        self._progress.console.print(Text(lines), end="", soft_wrap=True)


class _Left(TimeRemainingColumn):
    """The time that is left; nothing as long as nobody knows."""

    def render(self, task: Task) -> Text:
        """Return the time."""
        return super().render(task).append(" left") if task.time_remaining else Text("")


class _Rate(ProgressColumn):
    """Items per second."""

    def render(self, task: Task) -> Text:
        """Return the rate; nothing before there is one."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.1f}/s")
