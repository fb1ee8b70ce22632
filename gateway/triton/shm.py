"""Files in /dev/shm that say whether their owner lives.

Each is locked (flock) for as long as a descriptor of it is open in its owner or in a process that inherited it. The
kernel lets go of the lock however they end, so a file that can be locked belongs to nobody and may be swept: by any
later process, in any PID namespace that shares this /dev/shm.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path("/dev/shm")  # noqa: S108 - POSIX shared memory on Linux, not a temporary file
"""Where Linux keeps POSIX shared memory; the file `ROOT / "name"` is the key `/name`."""


def create(name: str) -> int:
    """Create an empty file, readable by its owner alone, and return its locked descriptor (not inheritable).

    Raises:
        OSError: there is no /dev/shm, it is full, or the name is taken.
    """
    while True:
        descriptor = os.open(ROOT / name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # A sweeper may have taken the file for abandoned before the lock was ours.
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)


def alive(name: str) -> bool:
    """Say whether a file has an owner; one that may not be opened has."""
    try:
        descriptor = os.open(ROOT / name, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        return not _lock(descriptor)
    finally:
        os.close(descriptor)


def sweep(names: re.Pattern[str]) -> Iterator[str]:
    """Remove the files without an owner whose whole name matches.

    Yields each name before the file is removed, while nobody else can take it for abandoned: what belongs to it goes
    first.
    """
    if not ROOT.is_dir():
        return
    for path in list(ROOT.iterdir()):
        if not names.fullmatch(path.name):
            continue
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            continue  # gone, or another user's
        try:
            if _lock(descriptor):
                yield path.name
                path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
