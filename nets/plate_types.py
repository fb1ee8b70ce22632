"""Draw a plate of every kind, the picture of docs/plate-types.md: `python -m nets.plate_types`."""

from pathlib import Path
from typing import Final

import cv2
import numpy as np

from nets.data.kinds import KINDS
from nets.data.plates import random_text, render_plate
from plates.geometry import Image

FILE: Final = Path(__file__).resolve().parents[1] / "docs" / "plate-types.png"
SEED: Final = 4
COLUMNS: Final = 4
PIXELS_PER_MM: Final = 0.42
CELL: Final = (126, 236)
"""Height and width of a plate's place with its name, in pixels."""


def figure(seed: int) -> Image:
    """Return a picture (h, w, 3), BGR, with one plate of every kind, all at the same scale, each with its name."""
    cells = [_cell(name, np.random.default_rng((seed, number))) for number, name in enumerate(KINDS)]
    cells += [_empty()] * (-len(cells) % COLUMNS)
    rows = [np.concatenate(cells[start : start + COLUMNS], axis=1) for start in range(0, len(cells), COLUMNS)]
    return np.concatenate(rows)


def _empty() -> Image:
    return np.full((*CELL, 3), 255, np.uint8)


def _cell(name: str, rng: np.random.Generator) -> Image:
    cell = _empty()
    height = round(KINDS[name].height * PIXELS_PER_MM)
    plate = render_plate(random_text(rng, name), rng, height, name)
    top, left = 100 - height, (CELL[1] - plate.shape[1]) // 2
    cell[top : top + height, left : left + plate.shape[1]] = plate
    cv2.putText(cell, name, (left, 117), cv2.FONT_HERSHEY_SIMPLEX, 0.42, (60, 60, 60), 1, cv2.LINE_AA)
    return cell


def main() -> None:
    """Write docs/plate-types.png."""
    # Fewer colours make a smaller file, and plates have few.
    colours = figure(SEED) // 8 * 8
    cv2.imwrite(str(FILE), colours, [cv2.IMWRITE_PNG_COMPRESSION, 9])


if __name__ == "__main__":
    main()
