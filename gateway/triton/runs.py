"""What a run of an embedded Triton has on this machine besides its processes, and when others may take it away.

A run has a name. Of that name are a folder of temporary files and a file in /dev/shm, and the names of the regions
between the server and its Python models begin with it. Folder and file are locked (flock) as long as the gateway, the
server or one of its stubs lives. Two locks, because machines and containers share the two places independently:
/dev/shm can be empty after a restart that leaves /tmp as it was, or be a container's own while /tmp is the host's. What
nobody has locked is nobody's.
"""

import contextlib
import fcntl
import logging
import os
import re
import secrets
import select
import shutil
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from gateway.triton import procfs, shm

logger = logging.getLogger(__name__)

_NAME: Final = re.compile(r"plate-triton-[0-9a-f]{12}")
_REGION: Final = re.compile(rf"({_NAME.pattern})-.+")

_KILL_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Run:
    """One run, from `begin` to `end`."""

    name: str
    folder: Path
    """For temporary files; no one else may look into it."""
    locks: tuple[int, int]
    """Descriptors that the run's processes hold open."""

    @classmethod
    def begin(cls) -> Self:
        """Claim a new name.

        Raises:
            OSError: there is no /dev/shm or no temporary folder, or one of them is full.
        """
        name = f"plate-triton-{secrets.token_hex(6)}"
        with contextlib.ExitStack() as undo:
            lock = shm.create(name)
            undo.callback(_remove_file, name, lock)
            folder = Path(tempfile.gettempdir(), name)
            run = cls(name, folder, (lock, _create_folder(folder)))
            undo.pop_all()
        return run

    def end(self) -> None:
        """Give everything back; the processes have ended."""
        lock, folder = self.locks
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(folder)
        _remove_file(self.name, lock)

    def make_regions_private(self) -> None:
        """Let this user alone open the regions: Triton makes them readable by everyone, whatever the umask."""
        for path in _regions(self.name):
            with contextlib.suppress(FileNotFoundError):
                path.chmod(0o600)

    def remove_regions(self) -> None:
        """Remove what the server left; it has ended."""
        _remove_regions(self.name)


def sweep() -> None:
    """Remove what runs left whose gateway and server are dead, and stubs that live on."""
    _end_orphans()
    for name in shm.sweep(_NAME):
        logger.info("Sweeping what the dead run %s left", name)
        _remove_regions(name)
        _sweep_folder(Path(tempfile.gettempdir(), name))
    _sweep_regions()
    for folder in Path(tempfile.gettempdir()).iterdir():
        if _NAME.fullmatch(folder.name) and not shm.alive(folder.name) and _sweep_folder(folder):
            logger.info("Sweeping the folder of the dead run %s", folder.name)


def _end_orphans() -> None:
    """Kill stubs whose server is dead: one that waits for a lock which the server held doesn't notice by itself."""
    for process in procfs.processes():
        started_by = Path(procfs.program(process.pid))
        if not any(_NAME.fullmatch(parent.name) for parent in started_by.parents):
            continue
        # The server led their session. While one of them lives, no other process gets its id.
        if not process.session or procfs.read(process.session):
            continue
        with contextlib.suppress(OSError):  # it ended just now, is another user's, or the kernel has no pidfd
            _kill(process.pid)
            logger.info("Killed process %d, which had outlived its Triton", process.pid)


def _kill(pid: int) -> None:
    """Kill a process and wait for its end, when its locks are gone: that is soon."""
    descriptor = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        select.select([descriptor], [], [], _KILL_SECONDS)
    finally:
        os.close(descriptor)


def _create_folder(path: Path) -> int:
    """Make a folder and return its locked descriptor (not inheritable)."""
    while True:
        path.mkdir(mode=0o700)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # A sweeper that sees another /dev/shm may have taken the folder for abandoned before the lock was ours.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(descriptor)):
                return descriptor
        os.close(descriptor)


def _sweep_folder(path: Path) -> bool:
    """Remove a folder that nobody has locked; say whether it was there and is no more."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False  # gone, another user's, or no folder
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return not path.exists()


def _sweep_regions() -> None:
    """Remove regions of runs without a file: it comes before them, and a run that ends orderly takes it away last.

    Where something goes wrong at its end, the server may be killed after that, and leave them.
    """
    for path in _regions("plate-triton"):
        match = _REGION.fullmatch(path.name)
        if match is not None and not (shm.ROOT / match[1]).exists():
            with contextlib.suppress(OSError):  # gone, or another user's
                path.unlink()
                logger.info("Sweeping %s, which an ended run left", path.name)


def _remove_file(name: str, lock: int) -> None:
    (shm.ROOT / name).unlink(missing_ok=True)
    os.close(lock)


def _remove_regions(name: str) -> None:
    for path in _regions(name):
        path.unlink(missing_ok=True)


def _regions(name: str) -> list[Path]:
    return list(shm.ROOT.glob(f"{name}-*"))
