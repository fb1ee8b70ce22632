"""How the lines of `gateway.client.outputs` tell which photos are done: see `gateway.client.journal`."""

import csv
import json
from typing import Any, Final

from gateway.client.journal import Done
from gateway.client.outputs import CSV_COLUMNS, csv_line, csv_path


class JsonNotation:
    """Each line is an object with `path`; that of a file that was answered has `bytes` and `modified_ns` too."""

    _BEGINNING: Final = b'{"path": '

    def name(self, path: str) -> str:
        """Return the path: JSON can write any."""
        return path

    def done(self, line: bytes, number: int) -> Done | None:
        """Return the file of a line; None for one that couldn't be answered."""
        try:
            entry: Any = json.loads(line)
        except RecursionError as error:
            raise ValueError("too deep for an answer") from error
        match entry:
            case {"path": str(path), "bytes": int(size), "modified_ns": int(modified_ns)}:
                return Done(path, size, modified_ns)
            case {"path": str()} if "modified_ns" not in entry:
                return None
        raise ValueError("no answer about a photo")

    def is_begun(self, line: bytes, number: int) -> bool:
        """Say whether it begins as every line does."""
        return line.startswith(self._BEGINNING) or self._BEGINNING.startswith(line)


class CsvNotation:
    """The first row names the columns; `bytes` and `modified_ns` stand in the last row of a photo that was answered.

    So a photo of whose rows some are lost isn't done.
    """

    _HEAD: Final = csv_line(CSV_COLUMNS).encode()

    def name(self, path: str) -> str:
        """Return the path as a cell."""
        return csv_path(path)

    def done(self, line: bytes, number: int) -> Done | None:
        """Return the file of a row that says so."""
        if number == 1:
            if line != self._HEAD:
                raise ValueError("other columns")
            return None
        try:
            (cells,) = csv.reader([line.decode()], strict=True)
        except csv.Error as error:
            raise ValueError("no row") from error
        row = dict(zip(CSV_COLUMNS, cells, strict=True))
        return Done(row["path"], int(row["bytes"]), int(row["modified_ns"])) if row["modified_ns"] else None

    def is_begun(self, line: bytes, number: int) -> bool:
        """Say whether it is a part of the first row, or anything below a whole one."""
        return number > 1 or self._HEAD.startswith(line)
