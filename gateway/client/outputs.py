"""What the outcomes of photos look like: a table for people, CSV and JSON lines for programs.

Each writer takes one outcome at a time and keeps none, so that the number of photos doesn't matter.
"""

import csv
import io
import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

from gateway.client.batch import Outcome

Sink = Callable[[str], object]
"""Takes whole lines of text, line ends included."""

BOX: Final = ("x_min", "y_min", "x_max", "y_max")

CSV_COLUMNS: Final = (
    *("path", "text", "text_cyrillic", "score", "detection_score", "format", "region", "lines"),
    *BOX,
    *("error", "bytes", "modified_ns"),
)
"""One row for each plate; one without a plate for a photo that has none, or that couldn't be answered. The last two,
what a file that was answered is known again by, stand in its last row alone."""

_TABLE: Final = "{:<11} {:>6} {:<11} {:<26} {}"
NOT_READ: Final = "?"
_FORMULA: Final = ("=", "+", "-", "@")
"""What spreadsheets take for the beginning of a formula."""


class Writer(Protocol):
    """Writes outcomes, one by one."""

    def write(self, outcome: Outcome) -> None:
        """Write what came of one photo."""
        ...


class Table:
    """Columns of fixed width, a line for each plate; the file's name comes last because it may be long."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._begun = False

    def write(self, outcome: Outcome) -> None:
        """Write the lines of one photo."""
        if not self._begun:
            self._sink(_TABLE.format("plate", "score", "format", "region", "photo") + "\n")
            self._begun = True
        self._sink("".join(f"{row}\n" for row in self._rows(outcome)))

    def _rows(self, outcome: Outcome) -> Iterator[str]:
        path = printable(outcome.photo.path)
        if outcome.error is not None:
            yield _TABLE.format("-", "", "", "", f"{path}: {printable(outcome.error.detail)}")
        elif not outcome.plates:
            yield _TABLE.format("-", "", "", "", path)
        for plate in outcome.plates:
            text = plate["text_cyrillic"] or NOT_READ
            yield _TABLE.format(text, f"{plate['score']:.3f}", plate["format"], region_label(plate), path)


class Csv:
    """Comma-separated values (RFC 4180) with a line of names; paths are written by `csv_path`.

    Args:
        sink: takes the rows of one photo at a time.
        headed: the line of names is there already.
    """

    def __init__(self, sink: Sink, *, headed: bool = False) -> None:
        self._sink = sink
        if not headed:
            self._sink(csv_line(CSV_COLUMNS))

    def write(self, outcome: Outcome) -> None:
        """Write the rows of one photo."""
        path = csv_path(outcome.photo.path) if outcome.photo.is_file else outcome.photo.path
        detail = "" if outcome.error is None else escaped(outcome.error.detail)
        rows: list[dict[str, Any]] = [
            {**plate, **plate["box"], "region": (plate["region"] or {}).get("code", "")} for plate in outcome.plates
        ] or [{"error": detail}]
        if outcome.identity is not None:
            rows[-1]["bytes"], rows[-1]["modified_ns"] = outcome.identity
        self._sink("".join(csv_line({"path": path, **row}.get(name, "") for name in CSV_COLUMNS) for row in rows))


class JsonLines:
    """One JSON object per photo."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, outcome: Outcome) -> None:
        """Write the line of one photo."""
        self._sink(json_line(outcome.entry()))


def region_label(entry: Mapping[str, Any]) -> str:
    """Return code and name of the region of a plate or a passage, as far as they are known."""
    region = entry["region"] or {}
    return " ".join(filter(None, (region.get("code"), region.get("name"))))


def json_line(entry: Mapping[str, Any]) -> str:
    """Return an entry as a line of JSON.

    A file name whose bytes aren't UTF-8 holds lone surrogates (PEP 383): they become JSON's own escapes.
    """
    line = json.dumps(dict(entry), ensure_ascii=False) + "\n"
    return line.encode("utf-8", "backslashreplace").decode()


def csv_line(values: Iterable[Any]) -> str:
    """Return values as a line of CSV."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(values)
    return line.getvalue()


def csv_path(path: str) -> str:
    """Return a path as it stands in CSV: on one line, and no formula to a spreadsheet.

    A relative path that begins like a formula gets "./" before it, which names the same file; the usual apostrophe
    would name another one.
    """
    return escaped(f"./{path}" if path.startswith(_FORMULA) else path)


def escaped(text: str) -> str:
    """Return a text with control characters, and whatever else isn't printed, as Python's escapes."""
    return "".join(
        character if character.isprintable() or unicodedata.category(character) == "Zs" else ascii(character)[1:-1]
        for character in text
    )


def printable(text: str) -> str:
    """Return a text without what would move a terminal's cursor or colour it."""
    return "".join(character if character.isprintable() else "?" for character in text)
