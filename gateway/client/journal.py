"""An output file that is its own journal: what it says is done isn't done again.

What is told of one photo is one write, so that a run that is interrupted leaves it whole; the part of a line that a
machine leaves when it loses its power is cut off by the next run.
"""

import array
import fcntl
import hashlib
import os
import stat
from pathlib import Path
from typing import Final, NamedTuple, Protocol, Self

import numpy as np

MAX_LINE: Final = 4 * 2**20
"""Bytes; a photo full of plates with all their candidates takes less."""

_DIGEST_BYTES: Final = 8
_CHUNK: Final = 2**20


class JournalError(Exception):
    """The file can't be the journal: it can't be opened, another run writes to it, or it is something else."""


class Done(NamedTuple):
    """A file that was answered, as it was then."""

    path: str
    """As the notation writes it."""
    size: int
    """Bytes."""
    modified_ns: int
    """When it was changed last, nanoseconds since 1970."""


class Notation(Protocol):
    """How lines tell what is done: see `gateway.client.notations`."""

    def name(self, path: str) -> str:
        """Return a path as it stands in a line."""
        ...

    def done(self, line: bytes, number: int) -> Done | None:
        """Return the file that a line says is done; None where it says something else.

        Raises:
            ValueError: no run writes such a line there; the first one has the number 1.
        """
        ...

    def is_begun(self, line: bytes, number: int) -> bool:
        """Say whether a line without an end is the beginning of one that a run writes there."""
        ...


class Journal:
    """The output of a run, as a context manager.

    A file counts as done while its size and the time of its last change are what they were. A million entries take
    8 MB: of each a 64-bit digest is kept. That two of a million files have the same one, so that one of them is left
    out, has a chance of 3e-8.

    Args:
        path: the file; made where there is none.
        notation: that of its lines.
        restart: begin anew, whatever the file holds.

    Attributes:
        is_new: whether the file was empty.

    Raises:
        JournalError: on entering; it can't be opened, another run has it, or it is or holds something else.
    """

    def __init__(self, path: Path, notation: Notation, *, restart: bool = False) -> None:
        self._path = path
        self._notation = notation
        self._restart = restart
        self.is_new = True

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
        digest = _digest(Done(self._notation.name(path), size, modified_ns))
        index = int(np.searchsorted(self._done, np.uint64(digest)))
        return index < len(self._done) and int(self._done[index]) == digest

    def append(self, lines: str) -> None:
        """Write whole lines at the end.

        Raises:
            OSError: the disk is full, or gone.
        """
        data = lines.encode("utf-8", "backslashreplace")
        while data:
            data = data[os.write(self._file, data) :]

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
            for number, line in enumerate(iter(lambda: lines.readline(MAX_LINE), b""), 1):
                if not line.endswith(b"\n"):
                    # After a loss of power, file systems may leave zeros where data was to come.
                    if len(line) == MAX_LINE or not self._notation.is_begun(line.rstrip(b"\0"), number):
                        raise self._not_an_answer(number)
                    os.ftruncate(self._file, end)
                    break
                end += len(line)
                try:
                    done = self._notation.done(line, number)
                except ValueError:
                    raise self._not_an_answer(number) from None
                if done is not None:
                    digests.append(_digest(done))
        self.is_new = end == 0
        return np.sort(np.frombuffer(digests, np.uint64)) if digests else np.empty(0, np.uint64)

    def _not_an_answer(self, number: int) -> JournalError:
        return JournalError(f"{self._path}, line {number}, isn't an answer about a photo: choose another file.")


def _digest(done: Done) -> int:
    data = f"{done.size} {done.modified_ns} {done.path}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest(), "big")
