"""Other readers of plates beside ours, on the same photos in one run.

    python -m benchmarks.peers [--repository DIR] [--original DIR] [--every N] [--write]

Every peer reads the held-out scenes alone, on one core, from the file to the texts. A plate is found where a box covers
it (IoU 0.5), and read where its text is among those given for the photo, wherever: general OCR engines box words, not
plates. Processor time counts, because other work on the machine doesn't touch it. `--write` puts the table into
benchmarks/RESULTS.md.
"""

import argparse
import json
import platform
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
from rich.console import Console

from benchmarks.peers.environments import FOLDER, ROOT, Peer, UnavailableError
from benchmarks.peers.protocol import Run
from nets import held_out, report
from nets.held_out import Photo
from nets.metrics import match, ratio
from nets.repository import REPOSITORY
from plates.distance import edit_distance

RESULTS: Final = ROOT / "benchmarks" / "RESULTS.md"
OURS: Final = "this project"


def peers(repository: Path, original: Path | None) -> list[Peer]:
    """Return the peers, ours first."""
    ours = "benchmarks.peers.ours"
    own = [Peer(OURS, ours, arguments=(str(repository),))]
    if original:
        own.append(Peer("original STN + LPRNet, our detector", ours, arguments=(str(original), "greedy")))
    return [
        *own,
        Peer("platerec 0.0.3", "benchmarks.peers.platerec", ("platerec==0.0.3", "onnxruntime==1.20.1")),
        Peer("rapidocr-onnxruntime 1.4.4", "benchmarks.peers.rapidocr", ("rapidocr-onnxruntime==1.4.4",)),
        Peer(
            "OpenCV cascade + Tesseract",
            "benchmarks.peers.cascade_tesseract",
            ("opencv-python-headless==4.11.0.86",),
            programs=("tesseract",),
        ),
    ]


@dataclass(frozen=True, slots=True)
class Score:
    """What one peer achieved."""

    plates: int
    """With a labelled text."""
    found: int
    exact: int
    wrong: int
    """Texts given for a found plate that aren't its own."""
    characters: int
    edits: int
    """From each plate's label to the nearest text given for its photo, at most all of its characters."""


def score(photos: Sequence[Photo], run: Run) -> Score:
    """Count what a peer found and read."""
    found = exact = wrong = characters = edits = plates = 0
    for photo, answer in zip(photos, run.answers, strict=True):
        labelled = np.array([label.box for label in photo.labels], np.float32).reshape(-1, 4)
        boxes = np.array([box for box, _ in answer.plates], np.float32).reshape(-1, 4)
        texts = [text for _, text in answer.plates if text]
        matched = {label: answer.plates[place][1] for label, place, _ in match(labelled, boxes)}
        for number, label in enumerate(photo.labels):
            if label.text is None:
                continue
            plates += 1
            found += number in matched
            exact += label.text in texts
            wrong += matched.get(number, "") not in ("", label.text) and label.text not in texts
            characters += len(label.text)
            edits += min(edit_distance(label.text, text) for text in [*texts, ""])
    return Score(plates, found, exact, wrong, characters, edits)


def row(name: str, counted: Score, run: Run, ours: Run) -> tuple[str, ...]:
    """Return a row of the table."""
    cpu, own = (statistics.fmean(answer.cpu_seconds for answer in each.answers) for each in (run, ours))
    return (
        name,
        report.percent(ratio(counted.found, counted.plates)),
        report.percent(ratio(counted.exact, counted.plates)),
        report.percent(ratio(counted.wrong, counted.plates)),
        report.percent(ratio(counted.edits, counted.characters)),
        f"{1000 * statistics.fmean(answer.seconds for answer in run.answers):.0f}",
        f"{1000 * cpu:.0f}",
        f"{cpu / own:.1f}",
        f"{run.peak_bytes / 2**20:.0f}",
    )


COLUMNS: Final = ("reader", "found", "exact", "wrong", "CER", "ms", "CPU ms", "CPU / ours", "MiB")


def measure(chosen: Sequence[Peer], photos: Sequence[Photo], console: Console) -> tuple[report.Grid, list[str]]:
    """Have peers read photos; return the table, and why others are not in it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    listing = FOLDER / "photos.json"
    listing.write_text(json.dumps([str(photo.path) for photo in photos]), encoding="utf-8")
    rows, absent = [], []
    ours: Run | None = None
    for peer in chosen:
        output = FOLDER / f"{peer.name.replace(' ', '-')}.json"
        try:
            with console.status(peer.name):
                peer.read(listing, output)
        except UnavailableError as error:
            absent.append(f"{peer.name} is not in the table: {error}")
            continue
        run = Run.load(output)
        ours = ours or run
        rows.append(row(peer.name, score(photos, run), run, ours))
    return report.Grid(COLUMNS, rows), absent


def circumstances(photos: Sequence[Photo], arguments: Sequence[str]) -> str:
    """Say when, where and on what it was measured."""
    describe = (shutil.which("git") or "git", "-C", str(ROOT), "describe", "--always", "--dirty")
    commit = subprocess.run(describe, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603
    processor = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor(),
    )
    plates = sum(label.text is not None for photo in photos for label in photo.labels)
    return (
        f"`{' '.join(('python -m benchmarks.peers', *arguments))}`, commit {commit or 'unknown'}, "
        f"{datetime.now(UTC):%Y-%m-%d}: {len(photos)} held-out scenes with {plates} plates that have a labelled text, "
        f"one core of {processor}, one thread."
    )


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def main(arguments: list[str] | None = None) -> int:
    """Measure from the command line; return the exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(prog="benchmarks.peers", description="Other readers of plates beside ours.")
    parser.add_argument("--repository", type=Path, default=REPOSITORY, help="model repository of ours")
    parser.add_argument("--original", type=Path, help="the original's, as nets.import_weights writes it")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth photo only")
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/RESULTS.md")
    options = parser.parse_args(given)
    console = Console()
    try:
        held_out.check(options.repository, published=options.write, say=console.print)
        photos = [photo for photo in held_out.scenes() if photo.labels][:: options.every]
    except held_out.NothingToEvaluateError as error:
        console.print(str(error), markup=False)
        return 1
    grid, absent = measure(peers(options.repository, options.original), photos, console)
    where = circumstances(photos, given)
    console.print(where, markup=False)
    console.print(grid.rich())
    for sentence in absent:
        console.print(sentence, markup=False)
    if options.write:
        report.write_section(RESULTS, "peers", "\n".join((where, "", grid.markdown(), *absent)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
