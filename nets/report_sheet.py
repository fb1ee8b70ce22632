"""The worst cases as one picture, to be looked at. It shows real photos: it stays out of the project (`runs/`)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cv2
import numpy as np

from nets.metrics import Box, Report
from plates.geometry import Image

_TILE_WIDTH: Final = 300
_PICTURE_HEIGHT: Final = 96
_CAPTION_HEIGHT: Final = 44
_COLUMNS: Final = 4
_SURROUNDINGS: Final = 0.25
"""Share of a box's size that is shown around it."""


@dataclass(frozen=True, slots=True)
class Case:
    """Something that went wrong: a piece of a photo and two lines about it."""

    photo: str
    box: Box
    heading: str
    detail: str


def worst(report: Report, limit: int = 48) -> list[Case]:
    """Return what went wrong: the surest wrong texts first, then finds that are no plates, then what is missing."""
    wrong = sorted(
        (sample for sample in report.samples if sample.wrong),
        key=lambda sample: -sample.answer.score if sample.answer else 0.0,
    )
    extras = sorted(
        (extra for extra in report.extras if extra.complete or extra.answer.text),
        key=lambda extra: -extra.answer.detection_score,
    )
    missing = sorted(
        (sample for sample in report.samples if sample.label.text and not sample.wrong and not sample.exact),
        key=lambda sample: -sample.label.width,
    )
    cases = []
    for sample in wrong + missing:
        heading = f"label {sample.label.text}"
        if sample.answer is None:
            cases.append(Case(sample.photo, sample.label.box, heading, f"not found, {sample.label.width:.0f} px"))
        else:
            read = sample.answer.text or f"({sample.answer.candidate})"
            detail = f"read {read} {sample.answer.score:.2f}"
            cases.append(Case(sample.photo, sample.answer.box, heading, detail))
    ghosts = [
        Case(extra.photo, extra.answer.box, "not labelled", f"{extra.answer.text} {extra.answer.detection_score:.2f}")
        for extra in extras
    ]
    return (cases[: len(wrong)] + ghosts + cases[len(wrong) :])[:limit]


def contact_sheet(cases: Sequence[Case]) -> Image:
    """Lay cases out in rows of four: BGR uint8. An empty one is a single white tile."""
    tiles = [_tile(case) for case in cases] or [_white()]
    tiles += [_white()] * (-len(tiles) % min(_COLUMNS, len(tiles)))
    columns = min(_COLUMNS, len(tiles))
    rows = [np.hstack(tiles[start : start + columns]) for start in range(0, len(tiles), columns)]
    return np.vstack(rows)


def save(cases: Iterable[Case], path: Path) -> None:
    """Write a contact sheet.

    Raises:
        OSError: it can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not cv2.imwrite(str(path), contact_sheet(list(cases))):
        raise OSError(f"{path} can't be written")


def _tile(case: Case) -> Image:
    tile = _white()
    image = cv2.imread(case.photo, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    if image is not None:
        piece = _surroundings(np.asarray(image, np.uint8), case.box)
        scale = min((_TILE_WIDTH - 8) / piece.shape[1], (_PICTURE_HEIGHT - 8) / piece.shape[0])
        size = max(1, round(piece.shape[1] * scale)), max(1, round(piece.shape[0] * scale))
        shown = cv2.resize(piece, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)
        tile[4 : 4 + size[1], 4 : 4 + size[0]] = shown
    for line, text in enumerate((case.heading, case.detail)):
        place = (6, _PICTURE_HEIGHT + 14 + 20 * line)
        cv2.putText(tile, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.5, (0, 0, 0), 1, cv2.LINE_AA)
    return tile


def _surroundings(image: Image, box: Box) -> Image:
    height, width = image.shape[:2]
    x_min, y_min, x_max, y_max = box
    aside, above = (x_max - x_min) * _SURROUNDINGS, (y_max - y_min) * _SURROUNDINGS
    left, right = (round(min(max(x, 0), width)) for x in (x_min - aside, x_max + aside))
    top, bottom = (round(min(max(y, 0), height)) for y in (y_min - above, y_max + above))
    return image[min(top, height - 1) : max(bottom, top + 1), min(left, width - 1) : max(right, left + 1)]


def _white() -> Image:
    return np.full((_PICTURE_HEIGHT + _CAPTION_HEIGHT, _TILE_WIDTH, 3), 255, np.uint8)
