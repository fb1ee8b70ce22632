"""How a peer's script is asked and what it answers. Standard library only: it runs in every peer's environment.

A script is called with a file of photos (their paths, a JSON list) and the file to write: what the peer found in each,
what that cost, and how much memory the whole took.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

Box = tuple[float, float, float, float]

Plates = list[tuple[Box, str]]
"""x_min, y_min, x_max, y_max in pixels and the Latin text, "" where none could be read; best first."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a peer made of one photo."""

    plates: Plates
    seconds: float
    """From the file to the texts, by the clock."""
    cpu_seconds: float
    """The same in processor time, of processes that it started too: other work on the machine doesn't count."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a peer made of all photos."""

    answers: list[Answer] = field(default_factory=list)
    peak_bytes: int = 0
    """Most memory that any one of its processes used at any time."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `serve` wrote."""
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        answers = [
            Answer([(tuple(box), text) for box, text in answer["plates"]], answer["seconds"], answer["cpu_seconds"])
            for answer in content["answers"]
        ]
        return cls(answers, content["peak_bytes"])


def serve(read: Callable[[Path], Plates]) -> None:
    """Read the photos that the command line names with a function, on one core, and write what it cost."""
    photos = [Path(name) for name in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))]
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    # The first call pays for what is loaded late.
    read(photos[0])
    run = Run([_answer(read, photo) for photo in photos], _peak_bytes())
    Path(sys.argv[2]).write_text(json.dumps(asdict(run)), encoding="utf-8")


def _answer(read: Callable[[Path], Plates], photo: Path) -> Answer:
    begin, cpu_begin = time.perf_counter(), _cpu_seconds()
    plates = read(photo)
    return Answer(plates, time.perf_counter() - begin, _cpu_seconds() - cpu_begin)


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _peak_bytes() -> int:
    peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return 1024 * max(peaks)
