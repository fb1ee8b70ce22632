"""The photos that a command was pointed at: files, folders, the standard input."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.client.errors import PhotoRefused

SUFFIXES: Final = frozenset({".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp"})
"""What a folder is searched for; a file that is named itself may have any name."""

STANDARD_INPUT: Final = "-"

MAX_BYTES: Final = 256 * 2**20
"""Larger files aren't read into memory: no gateway takes one."""


@dataclass(frozen=True, slots=True)
class Photo:
    """A photo that may be read."""

    path: str
    """As it was given or found; "-" is the standard input."""

    @property
    def is_file(self) -> bool:
        """Whether it can be read again: the standard input can't."""
        return self.path != STANDARD_INPUT

    def identity(self) -> tuple[int, int]:
        """Return its size in bytes and the time of its last change in nanoseconds since 1970.

        Raises:
            OSError: it is gone, or may not be looked at.
        """
        status = os.stat(self.path)  # noqa: PTH116 - a Path for each of a million files is of no use
        return status.st_size, status.st_mtime_ns

    def read(self) -> bytes:
        """Return its bytes. Blocks.

        Raises:
            PhotoRefused: it can't be read, or is far too large.
        """
        try:
            if not self.is_file:
                data = sys.stdin.buffer.read(MAX_BYTES + 1)
            else:
                # A named pipe would block without end.
                if not stat.S_ISREG(os.stat(self.path).st_mode):  # noqa: PTH116
                    raise PhotoRefused("It is not a regular file.")
                with Path(self.path).open("rb") as file:
                    data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise PhotoRefused(f"It can't be read: {error.strerror or error}.") from error
        if len(data) > MAX_BYTES:
            raise PhotoRefused(f"It has more than {MAX_BYTES // 2**20} MiB.")
        return data


def find(sources: Iterable[str]) -> Iterator[Photo]:
    """Yield the photos of files, folders (searched through, by name) and "-", in the order given.

    One folder's names are in memory at a time, so that a million files are no burden. A folder is entered once,
    whatever links lead to it; what can't be entered is passed over, as `find` does.
    """
    entered: set[tuple[int, int]] = set()
    for source in sources:
        if source != STANDARD_INPUT and is_folder(source):
            yield from _search(source, entered)
        else:
            yield Photo(source)


def is_folder(path: str) -> bool:
    """Say whether a path is a folder, or a link to one; one that can't be looked at is none."""
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises where a name is too long or may not be looked at


def _search(folder: str, entered: set[tuple[int, int]]) -> Iterator[Photo]:
    try:
        status = os.stat(folder)  # noqa: PTH116
        if (identity := (status.st_dev, status.st_ino)) in entered:
            return
        entered.add(identity)
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if is_folder(entry.path) if entry.is_symlink() else entry.is_dir():
            yield from _search(entry.path, entered)
        elif Path(entry.name).suffix.lower() in SUFFIXES:
            yield Photo(entry.path)
