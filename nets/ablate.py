"""Change one thing at a time about how the same networks are used, and count what that does in the held-out photos.

    python -m nets.ablate [--repository DIR] [--docs]

No training is needed: what is changed are options of the pipeline. Processor time is that of a photo from the file to
the texts, on one thread.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from rich.progress import track

from nets import report, repository
from nets.evaluate_nets import end_to_end
from nets.held_out import Photo
from nets.metrics import Report
from nets.tabulate import tabulate
from plates.pipeline import DetectorNet, Options, ReaderNet

INPUT_SIZES: Final = (416, 512, 640, 800, 960)
"""Longer side of the detector's input, pixels."""

COLUMNS: Final = ("changed", "found", "precision", "exact", "wrong", "CPU ms")
"""Found and exact: of the plates that are promised to be; precision: as if nothing unlabelled were a plate."""


def variants(served: Options) -> Iterator[tuple[str, Options]]:
    """Yield what is compared, the served options first."""
    yield "nothing", served
    for size in INPUT_SIZES:
        if size != served.input_size:
            yield f"input size {size}", replace(served, input_size=size)
    compared = {
        "no second look at the whole picture": replace(served, second_look_size=0),
        "plates aslant are read as they lie": replace(served, deskew_threshold=0.0),
        "no preference for what a plate can hold": replace(served, grammar_odds=1.0),
        "no temperature": replace(served, temperature=1.0),
        "every text is given out": replace(served, text_threshold=0.0),
        "what looks blank is kept": replace(served, blank_detection_threshold=0.0),
    }
    yield from ((name, options) for name, options in compared.items() if options != served)


def row(name: str, counted: Report, seconds: float) -> tuple[str, ...]:
    """Return a row of `COLUMNS`; the time is that of all photos."""
    return (
        name,
        report.percent(counted.findable.recall),
        report.percent(counted.precision_at_least),
        report.percent(counted.headline.exact_of_all),
        report.percent(counted.everything.wrong_of_all),
        f"{1000 * seconds / counted.photos:.0f}",
    )


def ablate(
    photos: Sequence[Photo], detector: DetectorNet, reader: ReaderNet, compared: Iterable[tuple[str, Options]]
) -> report.Grid:
    """Count each of the variants."""
    rows = []
    for name, options in compared:
        begin = time.process_time()
        counted = end_to_end(photos, detector, reader, options)
        rows.append(row(name, counted, time.process_time() - begin))
    return report.Grid(COLUMNS, rows)


def main(arguments: list[str] | None = None) -> int:
    """Compare from the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="nets.ablate", description="Change one thing about the pipeline at a time.")
    return tabulate(parser, arguments, "ablation", _count)


def _count(options: argparse.Namespace, photos: Sequence[Photo]) -> report.Grid:
    detector, reader = repository.detector(options.repository), repository.reader(options.repository)
    compared = track(list(variants(repository.options(options.repository))), "variants", transient=True)
    return ablate(photos, detector, reader, compared)


if __name__ == "__main__":
    sys.exit(main())
