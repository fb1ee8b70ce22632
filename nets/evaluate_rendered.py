"""Count what the reader reads of drawn plates of every kind, clean and moderately degraded.

    python -m nets.evaluate_rendered [--weights FOLDER] [--plates 200] [--seed 0] [--docs]

Clean plates are seen straight from the front in their true box. Degraded ones are turned and tilted, the box is off as
a detector's is, and two of the camera's faults (`nets.data.degrade`), any two, are added. They are read as the service
reads them, by what plates can hold and by their colour, and greedily: the most probable path, whatever it spells.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

import numpy as np
import torch

from nets import report
from nets.data import degrade, plates
from nets.data.kinds import KINDS
from nets.data.readings import Image, on_car, view
from nets.reader import WEIGHTS, Reader, load_reader
from nets.train_reader import normalised
from plates import decoding
from plates.formats import as_written
from plates.geometry import CROP_MARGIN_X, CROP_MARGIN_Y, Floats, cut_deskewed, cut_lines
from plates.pipeline import SKEWED_RATIO, Options, ReaderNet, narrower, read_crops, read_deskewed

TWO_LINE_WIDTH: Final = 64
"""Of a degraded plate on two lines, pixels: its characters are hardly larger than those of a plate on one line."""

FAULTS: Final = 2
"""Number of a camera's faults that a degraded plate has."""


@dataclass(frozen=True, slots=True)
class Share:
    """Share of one kind's plates that are read exactly."""

    kind: str
    clean: float
    degraded: float
    clean_greedy: float
    degraded_greedy: float


def as_net(reader: Reader) -> ReaderNet:
    """Return a network as it is asked here."""

    @torch.inference_mode()
    def net(crops: Floats) -> Floats:
        logits: Floats = reader(torch.from_numpy(np.ascontiguousarray(crops))).numpy()
        return logits

    return net


def evaluate(reader: ReaderNet, count: int, seed: int) -> list[Share]:
    """Read `count` plates of each kind twice; the same seed draws the same plates."""
    shares = []
    for number, kind in enumerate(KINDS):
        rng = np.random.default_rng((seed, number))
        texts, clean, degraded = [], list[Image](), list[Image]()
        for _ in range(count):
            plate = on_car(plates.issued_text(rng, kind), rng, kind)
            texts.append(plate.text)
            clean.append(view(plate))
            degraded.append(photograph(view(plate, rng, width=TWO_LINE_WIDTH), rng))
        exact, exact_greedy = _exact(reader, clean, texts, KINDS[kind].lines)
        exact_degraded, exact_degraded_greedy = _exact(reader, degraded, texts, KINDS[kind].lines)
        shares.append(Share(kind, exact, exact_degraded, exact_greedy, exact_degraded_greedy))
    return shares


def photograph(image: Image, rng: np.random.Generator) -> Image:
    """Add any two of the camera's faults, in the order of `degrade.PIPELINE`."""
    for place in sorted(rng.choice(len(degrade.PIPELINE), FAULTS, replace=False)):
        image = degrade.PIPELINE[place][1](image, rng)
    return image


def mean(shares: Sequence[Share]) -> Share:
    """Return the mean over the kinds."""
    return Share(
        "all",
        fmean(share.clean for share in shares),
        fmean(share.degraded for share in shares),
        fmean(share.clean_greedy for share in shares),
        fmean(share.degraded_greedy for share in shares),
    )


def table(shares: Sequence[Share]) -> str:
    """Return the shares as a Markdown table, the mean last."""
    columns = ("kind", "clean", "degraded", "clean, greedy", "degraded, greedy")
    return report.Grid(
        columns,
        [
            (share.kind, *map(report.percent, (share.clean, share.degraded, share.clean_greedy, share.degraded_greedy)))
            for share in [*shares, mean(shares)]
        ],
    ).markdown()


def _exact(reader: ReaderNet, views: list[Image], texts: list[str], lines: int) -> tuple[float, float]:
    """Return the shares that are read exactly, as the service reads and greedily."""
    crops = _cut(views, 1)
    halves = _cut(views, 2) if lines == 2 else crops[:0]
    square = np.arange(len(halves) // 2)
    seen = read_deskewed(
        read_crops(crops, halves, square, reader, Options()),
        narrower(_boxes(views), SKEWED_RATIO),
        lambda chosen: _normalised([crop for plate in chosen for crop in cut_deskewed(views[plate])]),
        reader,
        Options(),
    )
    greedy = [decoding.decode(plate.logits[None])[0][0] for plate in seen]
    return _share([plate.reading.text for plate in seen], [as_written(text) for text in texts]), _share(greedy, texts)


def _cut(views: list[Image], lines: int) -> Floats:
    return _normalised([crop for image in views for crop in cut_lines(image, lines)])


def _normalised(crops: list[Image]) -> Floats:
    ready: Floats = normalised(np.stack(crops)).numpy()
    return ready


def _boxes(views: list[Image]) -> Floats:
    """Return the boxes that plates would be cut out of as these views, margins and all."""
    heights, widths = np.array([image.shape[:2] for image in views], np.float32).T
    none = np.zeros(len(views), np.float32)
    return np.stack([none, none, widths / (1 + 2 * CROP_MARGIN_X), heights / (1 + 2 * CROP_MARGIN_Y)], axis=1)


def _share(read: Sequence[str], texts: Sequence[str]) -> float:
    return sum(a == b for a, b in zip(read, texts, strict=True)) / len(texts)


def main(arguments: list[str] | None = None) -> int:
    """Evaluate from the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="nets.evaluate_rendered", description="Count what is read of drawn plates.")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="folder of the reader's weights")
    parser.add_argument("--plates", type=int, default=200, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--docs", action="store_true", help="write the table into docs/model-card.md")
    parser.add_argument("--threads", type=int, default=1, help="threads of PyTorch")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    shares = evaluate(as_net(load_reader(options.weights)), options.plates, options.seed)
    sys.stdout.write(table(shares) + "\n")
    if options.docs:
        report.write_section(report.CARD, "rendered", table(shares))
    return 0


if __name__ == "__main__":
    sys.exit(main())
