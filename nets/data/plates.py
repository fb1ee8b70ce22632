"""Drawn plates of every kind in `nets.data.kinds`, straight from the front, and a drawn car with one.

Colours are BGR, positions millimetres from the plate's top left corner.
"""

import itertools
from dataclasses import dataclass, replace
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from nets.data import cars, degrade, glyphs
from nets.data.canvas import Canvas, Colour, Image, rounded_rectangle
from nets.data.index import Box, Quad
from nets.data.kinds import KINDS, Kind, RegionBox, Row
from nets.data.texts import issued_text, random_text

__all__ = ["issued_text", "random_text", "render_plate", "render_scene"]

_SUPERSAMPLING: Final = 2

_WIDEST: Final = 0.86
"""Largest share of its pitch that a digit may be wide."""

_CIVIL: Final = KINDS["civil"]

_FLAG_SHARE: Final = 0.85
"""Plates of the nineties have none, nor have many yellow ones."""

_FLAG: Final[tuple[Colour, ...]] = ((235, 235, 235), (160, 70, 30), (50, 40, 190))


@dataclass(frozen=True, slots=True)
class _Ink:
    """What strokes are drawn with."""

    colour: Colour
    pen: float
    """Width of the strokes as a share of the characters' height: 11 of 76 by the standard, 9 of 58, 3 of 20."""


def render_plate(text: str, rng: np.random.Generator, height: int = 112, kind: str = "civil") -> Image:
    """Draw a plate as seen straight from the front, clean and evenly lit.

    What differs between makers (weight of the pen, tint, bolts, frame line, flag) is drawn from `rng`.

    Args:
        text: in the reader's characters, region included, as `random_text` gives it.
        rng: source of the variation.
        height: of the result in pixels; the width follows from the kind's proportions, rounded.
        kind: a name of `nets.data.kinds.KINDS`.

    Returns:
        (height, width, 3), BGR.

    Raises:
        ValueError: there is no such kind, or the text is not one of it.
    """
    if kind not in KINDS:
        raise ValueError(f"no such kind of plate: {kind!r}")
    chosen = KINDS[kind]
    match = chosen.pattern().fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not the text of a {kind} plate")
    region = match[1]
    series = text[: match.start(1)] + text[match.end(1) :]
    width = round(height * chosen.width / chosen.height)
    shape = (height * _SUPERSAMPLING, width * _SUPERSAMPLING)
    ground, colour = _colours(rng, chosen)
    ink = _Ink(colour, rng.uniform(0.12, 0.165))
    sheet = Canvas(np.full((*shape, 3), ground, np.uint8), shape[0] / chosen.height)
    box = chosen.region
    left = box.lefts[len(region) - 2] + rng.uniform(-0.006, 0.006) * chosen.width
    _border(sheet, chosen, left, colour, rng)
    characters = iter(_glyph_names(chosen, series))
    for number, row in enumerate(chosen.rows):
        drawn = "".join(itertools.islice(characters, len(row.layout)))
        right = row.right - (box.lefts[0] - left) if number == box.row else row.right
        _row(sheet, drawn, replace(row, right=right), ink, rng)
    _region(sheet, region, box, left, ink, rng)
    if chosen.word:
        _word(sheet, chosen, ink)
    _bolts(sheet, chosen, rng)
    return np.asarray(cv2.resize(sheet.image, (width, height), interpolation=cv2.INTER_AREA), np.uint8)


def render_scene(
    text: str, rng_or_seed: np.random.Generator | int, width: int, height: int, plate_width: float
) -> tuple[Image, Box, Quad]:
    """Draw a car with a standard plate: the "photo" where no real one may be shown.

    Args:
        text: of the plate.
        rng_or_seed: source of the variation; the same seed gives the same picture.
        width: of the picture in pixels.
        height: of the picture in pixels.
        plate_width: of the plate in pixels, about: it is seen in a slight perspective.

    Returns:
        The picture (height, width, 3), BGR; the box around the plate; its corners top left, top right, bottom right,
        bottom left. Pixels.

    Raises:
        ValueError: the text is not one of a standard plate, or the plate doesn't fit the picture.
    """
    rng = np.random.default_rng(rng_or_seed)
    half = np.array([plate_width, plate_width * _CIVIL.height / _CIVIL.width]) / 2
    # The tilt makes the plate a little wider and, by its width, higher.
    room = half * 1.1 + (2.0, 2.0 + 0.1 * half[0])
    low, high = room, np.array([width, height]) - room
    if np.any(low > high):
        raise ValueError(f"a plate {plate_width:.0f} pixels wide doesn't fit a picture of {width} x {height}")
    wanted = np.array([width, height]) * (rng.uniform(0.35, 0.65), rng.uniform(0.5, 0.7))
    centre = np.clip(wanted, low, high)
    image = cars.draw_car(rng, width, height, (float(centre[0]), float(centre[1])), plate_width)

    plate = render_plate(text, rng, max(8, round(2 * half[1])))
    front = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * half + centre
    tilt = degrade.projection(front, rng, rotation=1.5, shear=0.04, perspective=0.03)
    quad = cv2.perspectiveTransform(front[None], tilt)[0]
    rows, columns = plate.shape[:2]
    drawn = np.array([(0, 0), (columns, 0), (columns, rows), (0, rows)], np.float32) - np.float32(0.5)
    place = cv2.getPerspectiveTransform(drawn, (quad - 0.5).astype(np.float32))
    mask = cv2.warpPerspective(np.ones((rows, columns), np.float32), place, (width, height))[..., None]
    warped = cv2.warpPerspective(plate, place, (width, height), borderMode=cv2.BORDER_REPLICATE)
    blended = np.rint(image * (1 - mask) + warped * mask).astype(np.uint8)
    (left, top), (right, bottom) = quad.min(axis=0), quad.max(axis=0)
    return blended, (float(left), float(top), float(right), float(bottom)), _quad(quad)


def _quad(corners: NDArray[np.float64]) -> Quad:
    top_left, top_right, bottom_right, bottom_left = ((float(x), float(y)) for x, y in corners)
    return top_left, top_right, bottom_right, bottom_left


def _glyph_names(kind: Kind, series: str) -> str:
    """Return what is drawn: the series, with the D that the reader calls O."""
    layout = "".join(row.layout for row in kind.rows)
    return "".join("D" if symbol == "D" else character for symbol, character in zip(layout, series, strict=True))


def _colours(rng: np.random.Generator, kind: Kind) -> tuple[Colour, Colour]:
    ground = _varied(rng, kind.paint.ground, 18)
    return ground, _varied(rng, kind.paint.ink, 22)


def _varied(rng: np.random.Generator, colour: Colour, spread: int) -> Colour:
    values = np.array(colour) + rng.integers(-spread, spread + 1) + rng.integers(-8, 9, 3)
    blue, green, red = (int(value) for value in np.clip(values, 5, 250))
    return blue, green, red


def _border(sheet: Canvas, kind: Kind, left: float, colour: Colour, rng: np.random.Generator) -> None:
    """Draw the line along the plate's edge and the one around the region."""
    box = kind.region
    if kind.region_ground is not None and rng.random() < 0.5:
        right, bottom = kind.width - 5.0, min(box.bottom, kind.height - 5.0)
        corners = [(left, box.top), (right, box.top), (right, bottom), (left, bottom)]
        sheet.polygon(corners, _varied(rng, kind.region_ground, 15))
    inset = rng.uniform(1.5, 3.5)
    if not kind.word or rng.random() < 0.5:
        edge = rounded_rectangle(inset, inset, kind.width - inset, kind.height - inset, 8.0)
        sheet.polyline(np.concatenate([edge, edge[:1]]), rng.uniform(2.5, 5.0), colour)
    divider = rng.uniform(2.0, 3.5)
    top, bottom = (4.0, kind.height - 4.0) if kind.lines == 1 else (box.top, box.bottom)
    line = [(left, bottom), (left, top)]
    if kind.lines == 2:
        line = [(left, bottom), (left, top), (box.right, top)] if box.row else [*line[::-1], (box.right, bottom)]
    sheet.polyline(line, divider, colour)


def _row(sheet: Canvas, text: str, row: Row, ink: _Ink, rng: np.random.Generator) -> None:
    """Draw characters, each stamped a little off its place."""
    centres, pitch = _centres(text, row)
    centres = centres + rng.uniform(-0.015, 0.015) * (row.right - row.left)
    widest = _WIDEST * pitch / glyphs.aspect("0")
    taller = rng.uniform(0.96, 1.04)
    for character, centre in zip(text, centres, strict=True):
        height = min(row.digit, widest) if character.isdigit() else min(row.letter, 0.9 * pitch / 0.7)
        _stamped(sheet, character, centre, row.baseline, height * taller, ink, rng)


def _stamped(
    sheet: Canvas, character: str, centre: float, baseline: float, height: float, ink: _Ink, rng: np.random.Generator
) -> None:
    height *= rng.uniform(0.98, 1.02)
    left = centre - height * glyphs.aspect(character) / 2 + rng.uniform(-0.013, 0.013) * height
    _glyph(sheet, character, left, baseline + rng.uniform(-0.013, 0.013) * height, height, ink)


def _glyph(sheet: Canvas, character: str, left: float, baseline: float, height: float, ink: _Ink) -> None:
    pen = ink.pen * height
    size = np.array([height * glyphs.aspect(character), height])
    # Strokes reach beyond the glyph, and its cell cuts them.
    cell = sheet.part(left, baseline - height, *size)
    for stroke in glyphs.strokes(character):
        cell.polyline(pen / 2 + stroke * (size - pen), pen, ink.colour)


def _centres(text: str, row: Row) -> tuple[NDArray[np.float64], float]:
    """Return where characters stand, letters and digits in groups with a wider gap between them, and their pitch."""
    changes = np.array([a.isdigit() != b.isdigit() for a, b in itertools.pairwise(text)], bool)
    gaps = int(np.count_nonzero(changes))
    room = row.right - row.left - 0.73 * row.letter
    # Where room lacks, the gaps give way first.
    spare = (room - (len(changes) - gaps) * row.pitch) / max(gaps, 1)
    steps = np.where(changes, min(row.gap, max(row.pitch, spare)), row.pitch)
    squeezed = min(1.0, room / max(float(steps.sum()), 1.0))
    places = np.cumsum(np.concatenate([[0.0], steps * squeezed]))
    return places - places[-1] / 2 + (row.left + row.right) / 2, row.pitch * squeezed


def _region(sheet: Canvas, region: str, box: RegionBox, left: float, ink: _Ink, rng: np.random.Generator) -> None:
    """Draw the region's code, and RUS and the flag below it."""
    middle = (left + box.right) / 2 + rng.uniform(-0.03, 0.03) * (box.right - left)
    pitch = min(box.pitch * rng.uniform(0.97, 1.03), (box.right - left) / (len(region) + 0.1))
    height = min(box.digit, 0.92 * pitch / glyphs.aspect("0"))
    places = np.arange(len(region)) - (len(region) - 1) / 2
    for character, centre in zip(region, middle + places * pitch, strict=True):
        _stamped(sheet, character, centre, box.baseline, height, ink, rng)
    has_flag = box.flag and rng.random() < _FLAG_SHARE
    step = 0.95 * box.rus
    width = 2.85 * step + (2.1 * box.rus if has_flag else 0)
    start = (left + box.right) / 2 - width / 2 + rng.uniform(-0.1, 0.1) * box.rus
    base = box.bottom - 0.35 * box.rus
    for number, character in enumerate("RUS"):
        _glyph(sheet, character, start + step * number, base, box.rus, _Ink(ink.colour, 0.13))
    if has_flag:
        _flag(sheet, start + 3.05 * step, base, box.rus, ink.colour)


def _flag(sheet: Canvas, x: float, base: float, height: float, colour: Colour) -> None:
    width, stripe = 2.0 * height, 1.05 * height / 3
    y = base - 3 * stripe
    for number, paint in enumerate(_FLAG):
        top = y + stripe * number
        sheet.polygon([(x, top), (x + width, top), (x + width, top + stripe), (x, top + stripe)], paint)
    sheet.polyline([(x, y), (x + width, y), (x + width, base), (x, base), (x, y)], 0.05 * height, colour)


def _word(sheet: Canvas, kind: Kind, ink: _Ink) -> None:
    """Write a small word above the row."""
    for number, character in enumerate(kind.word):
        _glyph(sheet, character, 120.0 + 17.0 * number, 15.0, 11.0, ink)


def _bolts(sheet: Canvas, kind: Kind, rng: np.random.Generator) -> None:
    if rng.random() < 0.15:
        return
    radius = rng.uniform(2.0, 7.0)
    choices: tuple[Colour, ...] = ((40, 40, 40), (150, 150, 150), (50, 40, 160), (210, 210, 210))
    colour = choices[rng.integers(len(choices))]
    if kind.lines == 1:
        places = [(17.0, kind.height / 2), (kind.width - 14.0, kind.height / 2)]
    else:
        y = kind.height * (0.06 if rng.random() < 0.6 else 0.94)
        places = [(0.25 * kind.width, y), (0.75 * kind.width, y)]
    for x, y in places:
        sheet.disc(x + rng.uniform(-2, 2), y + rng.uniform(-3, 3), radius, colour)
