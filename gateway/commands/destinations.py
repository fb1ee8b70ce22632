"""The files and folders that a command writes to: made before any work begins, so that none is lost."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO


class DestinationError(Exception):
    """A file or folder that the options name can't be written to; nothing was done. The message says why."""


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, where there is none.

    Raises:
        DestinationError: it can't be made, or not be written into.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise DestinationError(f"{folder} is no folder.") from None
    except OSError as error:
        raise DestinationError(f"The folder {folder} can't be made: {error.strerror or error}.") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DestinationError(f"The folder {folder} may not be written into.")


def is_stream(path: Path) -> bool:
    """Say whether a path is a pipe or a device: what was written there can't be read again, nor written over."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextlib.contextmanager
def open_text(path: Path, *, restart: bool = False, append: bool = False) -> Iterator[IO[str]]:
    """Open a file for lines of text in UTF-8, each written at once.

    Args:
        path: the file; made where there is none. A pipe or a device is written to as it is.
        restart: write over what is there.
        append: go on after what is there.

    Raises:
        DestinationError: it exists, and neither `restart` nor `append` is set; or it can't be opened.
    """
    mode = "w" if restart or is_stream(path) else "a" if append else "x"
    try:
        file = path.open(mode, encoding="utf-8", errors="backslashreplace", buffering=1)
    except FileExistsError:
        raise DestinationError(f"{path} exists: choose another file, or begin anew with --restart.") from None
    except OSError as error:
        raise DestinationError(f"{path} can't be written: {error.strerror or error}.") from error
    with file:
        yield file
