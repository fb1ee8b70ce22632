"""What passages look like: a table for people, CSV and JSON lines for programs."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from gateway.client.outputs import (
    BOX,
    NOT_READ,
    Sink,
    csv_line,
    csv_path,
    json_line,
    printable,
    region_label,
)

CSV_COLUMNS: Final = (
    *("source", "first_seconds", "last_seconds", "first_time", "last_time", "frames"),
    *("text", "text_cyrillic", "score", "format", "region"),
    *BOX,
    "crop",
)
"""One row for each passage."""

_TABLE: Final = "{:>10} {:>10} {:>6} {:<11} {:>6} {:<11} {:<26} {}"


class PassageWriter(Protocol):
    """Writes passages, one by one."""

    def write(self, entry: Mapping[str, Any]) -> None:
        """Write one: `Passage.entry`, with `crop`, the file of its picture or null."""
        ...


class PassageTable:
    """Columns of fixed width, a line for each passage; a stream's show the time of day (UTC)."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._begun = False

    def write(self, entry: Mapping[str, Any]) -> None:
        """Write one line."""
        if not self._begun:
            head = _TABLE.format("first", "last", "frames", "plate", "score", "format", "region", "video")
            self._sink(head + "\n")
            self._begun = True
        row = _TABLE.format(
            _time(entry, "first"),
            _time(entry, "last"),
            entry["frames"],
            entry["text_cyrillic"] or NOT_READ,
            f"{entry['score']:.3f}",
            entry["format"],
            region_label(entry),
            printable(entry["source"]),
        )
        self._sink(row + "\n")


class PassageCsv:
    """Comma-separated values (RFC 4180) with a line of names; paths are written by `csv_path`."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._sink(csv_line(CSV_COLUMNS))

    def write(self, entry: Mapping[str, Any]) -> None:
        """Write one row."""
        region = (entry["region"] or {}).get("code", "")
        paths = {"source": csv_path(entry["source"]), "crop": entry["crop"] and csv_path(entry["crop"])}
        columns = {**entry, **entry["box"], **paths, "region": region}
        self._sink(csv_line(columns[name] for name in CSV_COLUMNS))


class PassageLines:
    """One JSON object per passage."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, entry: Mapping[str, Any]) -> None:
        """Write one line."""
        self._sink(json_line(entry))


def _time(entry: Mapping[str, Any], which: str) -> str:
    if (time := entry[f"{which}_time"]) is not None:
        return str(time[11:19])
    minutes, seconds = divmod(entry[f"{which}_seconds"], 60)
    return f"{int(minutes)}:{seconds:04.1f}"
