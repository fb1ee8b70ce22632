"""The peers, and a virtual environment for each that isn't ours."""

import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "runs" / "peers"
"""Environments and results: not part of the project."""


class UnavailableError(Exception):
    """A peer can't be had on this machine."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A reader of plates and the script that asks it."""

    name: str
    module: str
    requirements: tuple[str, ...] = ()
    """What pip installs for it; without any it runs in this project's environment."""
    programs: tuple[str, ...] = ()
    """What must be on the machine beside Python, by the name of its Debian package."""
    arguments: tuple[str, ...] = ()

    def python(self, folder: Path = FOLDER) -> Path:
        """Return the Python that the peer runs with; its environment is made when there is none.

        Raises:
            UnavailableError: a program is missing, or pip can't install the peer.
        """
        missing = [program for program in self.programs if shutil.which(program) is None]
        if missing:
            raise UnavailableError(f"not on this machine: {', '.join(missing)}")
        if not self.requirements:
            return Path(sys.executable)
        place = folder / self.module.rpartition(".")[2]
        python, stamp = place / "bin" / "python", place / "installed.txt"
        wanted = "\n".join(self.requirements)
        if not stamp.is_file() or stamp.read_text() != wanted:
            venv.create(place, clear=True, with_pip=True)
            _run((str(python), "-m", "pip", "install", "--quiet", *self.requirements))
            stamp.write_text(wanted)
        return python

    def read(self, photos: Path, output: Path, folder: Path = FOLDER) -> None:
        """Have it read photos; see `benchmarks.peers.protocol`.

        Raises:
            UnavailableError: it can't be installed, or it fails.
        """
        _run((str(self.python(folder)), "-m", self.module, str(photos), str(output), *self.arguments))


def _run(command: tuple[str, ...]) -> None:
    """Run a command of a peer, whose libraries are to use one thread.

    Raises:
        UnavailableError: it fails; its last line says why.
    """
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1"}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise UnavailableError((done.stderr.strip().splitlines() or ["no reason given"])[-1])
