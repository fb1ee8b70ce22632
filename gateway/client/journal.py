"""JSON lines in a file that is its own journal: what it says is done isn't done again.

One line is one write, so that a run that is interrupted leaves whole lines; the part of a line that a machine leaves
when it loses its power is cut off by the next run.
"""

import array
import fcntl
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

_DIGEST_BYTES: Final = 8
_CHUNK: Final = 2**20
_MAX_LINE: Final = 4 * 2**20
"""Bytes; a photo full of plates with all their candidates takes less."""
_HEAD: Final = b'{"path": '
"""What every line begins with."""


class JournalError(Exception):
    """The file can't be the journal: it can't be opened, another run writes to it, or it is something else."""


class Journal:
    """The output of a run, as a context manager.

    Each line is an object with `path`; the one of a file that was answered also has `bytes` and `modified_ns`. A file
    counts as done while both are what they were. Of several lines with one path the last one holds.

    A million entries take 8 MB: of each a 64-bit digest is kept. That two of a million files have the same one, so
    that one of them is left out, has a chance of 3e-8.

    Args:
        path: the file; made where there is none.
        restart: begin anew, whatever the file holds.

    Raises:
        JournalError: on entering; it can't be opened, another run has it, or it is or holds something else.
    """

    def __init__(self, path: Path, *, restart: bool = False) -> None:
        self._path = path
        self._restart = restart

    def __enter__(self) -> Self:
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise JournalError(f"{self._path} can't be written: {error.strerror or error}.") from error
        try:
            # A device may be read without end, and a pipe holds nothing that was written before.
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise JournalError(f"{self._path} is not a regular file: choose another one.")
            self._lock()
            if self._restart:
                os.ftruncate(self._file, 0)
            self._done = self._read()
        except BaseException:
            os.close(self._file)
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        os.close(self._file)

    def __len__(self) -> int:
        """Return how many entries earlier runs left that say that a file is done."""
        return len(self._done)

    def holds(self, path: str, size: int, modified_ns: int) -> bool:
        """Say whether an earlier run has done this file as it is now."""
        digest = _digest(path, size, modified_ns)
        index = int(np.searchsorted(self._done, np.uint64(digest)))
        return index < len(self._done) and int(self._done[index]) == digest

    def write(self, entry: dict[str, Any]) -> None:
        """Append an entry as one line.

        Raises:
            OSError: the disk is full, or gone.
        """
        line = encode_line(entry)
        while line:
            line = line[os.write(self._file, line) :]

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(f"Another run writes to {self._path}.") from None

    def _read(self) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        """Return the sorted digests of what is done; cut a broken last line off."""
        digests = array.array("Q")
        end = 0
        with open(self._file, "rb", buffering=_CHUNK, closefd=False) as lines:
            lines.seek(0)
            for number, line in enumerate(iter(lambda: lines.readline(_MAX_LINE), b""), 1):
                if not line.endswith(b"\n"):
                    if not self._is_broken(line):
                        raise self._not_an_answer(number)
                    os.ftruncate(self._file, end)
                    break
                end += len(line)
                entry = self._parse(line, number)
                if "modified_ns" in entry:
                    digests.append(_digest(entry["path"], entry["bytes"], entry["modified_ns"]))
        return np.sort(np.frombuffer(digests, np.uint64)) if digests else np.empty(0, np.uint64)

    def _parse(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
            raise self._not_an_answer(number)
        identity = [entry.get("bytes"), entry.get("modified_ns")]
        if "modified_ns" in entry and not all(isinstance(value, int) for value in identity):
            raise self._not_an_answer(number)
        return entry

    @staticmethod
    def _is_broken(line: bytes) -> bool:
        """Say whether a line without an end is the beginning of an entry, and not somebody else's text.

        After a loss of power, file systems may leave zeros where data was to come.
        """
        begun = line.rstrip(b"\0")
        return len(line) < _MAX_LINE and (begun.startswith(_HEAD) or _HEAD.startswith(begun))

    def _not_an_answer(self, number: int) -> JournalError:
        return JournalError(f"{self._path}, line {number}, isn't an answer about a photo: choose another file.")


def encode_line(entry: dict[str, Any]) -> bytes:
    """Return an entry as a line of JSON in UTF-8.

    A file name whose bytes aren't UTF-8 holds lone surrogates (PEP 383): they become JSON's own escapes.
    """
    return json.dumps(entry, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _digest(path: str, size: int, modified_ns: int) -> int:
    data = f"{size} {modified_ns} {path}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest(), "big")
