"""Count what is found of drawn plates of every kind, pasted into photos without plates.

    python -m nets.evaluate_kinds [--repository DIR] [--plates 50] [--docs]

The labelled photos show hardly any but the common white plates. So plates of every kind are drawn, seen at an angle,
lit as what is around them, and laid at some place of a held-out photo without plates, 30 pixels wide and more.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from rich.progress import track

from nets import report, repository
from nets.data import drawn
from nets.data.kinds import KINDS
from nets.data.scenes import SceneMaker
from nets.given_boxes import load
from nets.held_out import Photo
from nets.metrics import match
from nets.tabulate import tabulate
from plates.geometry import Image
from plates.pipeline import DetectorNet, Options, detect

SIZE: Final = 640
"""Pixels of the square pictures, what the photos have at least."""

WIDTH: Final = 30
"""Least width of a plate, pixels: below, the service promises nothing."""

_DRAWN: Final = 30
"""Plates of a kind that those pasted are taken from."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of a kind."""

    kind: str
    plates: int
    found: int


def evaluate(grounds: Sequence[Image], detector: DetectorNet, options: Options, count: int, seed: int) -> list[Found]:
    """Paste `count` plates of each kind, one in a picture; the same seed pastes the same ones."""
    counted = []
    for number, kind in track(list(enumerate(KINDS)), "kinds", transient=True):
        rng = np.random.default_rng((seed, number))
        maker = SceneMaker([], [], [drawn.draw_plate(rng, kind) for _ in range(_DRAWN)])
        found: list[bool] = []
        while len(found) < count:
            image = grounds[rng.integers(len(grounds))].copy()
            boxes = maker.paste_drawn(rng, image, np.empty((0, 4), np.float32))
            if boxes[0, 2] - boxes[0, 0] >= WIDTH:
                found.append(bool(match(boxes, detect(image, detector, options).boxes)))
        counted.append(Found(kind, count, sum(found)))
    return counted


def grid(counted: Sequence[Found]) -> report.Grid:
    """Return a row per kind, the sum last."""
    total = Found("all", sum(kind.plates for kind in counted), sum(kind.found for kind in counted))
    return report.Grid(
        ("kind", "plates", "found"),
        [(kind.kind, str(kind.plates), report.percent(kind.found / kind.plates)) for kind in (*counted, total)],
    )


def main(arguments: list[str] | None = None) -> int:
    """Count from the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="nets.evaluate_kinds", description="Count what is found of drawn plates.")
    parser.add_argument("--plates", type=int, default=50, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    return tabulate(parser, arguments, "kinds", _count)


def _count(options: argparse.Namespace, photos: Sequence[Photo]) -> report.Grid:
    empty = [load(photo) for photo in photos if photo.complete and not photo.labels]
    grounds = [np.ascontiguousarray(image[:SIZE, :SIZE]) for image in empty if min(image.shape[:2]) >= SIZE]
    served = repository.options(options.repository)
    return grid(evaluate(grounds, repository.detector(options.repository), served, options.plates, options.seed))


if __name__ == "__main__":
    sys.exit(main())
