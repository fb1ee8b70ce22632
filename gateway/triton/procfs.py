"""What the kernel says about processes, proc(5): those of this PID namespace."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_ROOT: Final = Path("/proc")


class Process(NamedTuple):
    """A process at the moment of asking."""

    pid: int
    state: str
    """One letter: R runs, S sleeps, T is stopped, Z is dead and not yet taken notice of..."""
    session: int
    """The id of the process that leads its session, dead or alive; 0 where that is in another namespace."""


def read(pid: int) -> Process | None:
    """Return a process; None where there is none."""
    try:
        # pid (name) state parent group session ...; the name may hold anything.
        fields = (_ROOT / f"{pid}" / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return Process(pid, fields[0], int(fields[3]))


def processes() -> Iterator[Process]:
    """Yield every process."""
    for path in _ROOT.iterdir():
        if path.name.isdecimal() and (process := read(int(path.name))):
            yield process


def program(pid: int) -> str:
    """Return the path by which a process was started, its first argument; "" where it can't be told."""
    with contextlib.suppress(OSError):
        return (_ROOT / f"{pid}" / "cmdline").read_bytes().partition(b"\0")[0].decode(errors="replace")
    return ""
