"""Drawn plates: GOST R 50577 type 1 (cars), 1B (taxis and buses, yellow) and 2 (trailers).

All three are 520 x 112 mm. Colours are BGR, positions millimetres from the plate's top left corner.
"""

import itertools
import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

import cv2
import numpy as np
from numpy.typing import NDArray

from nets.data import cars, degrade, glyphs
from nets.data.canvas import Canvas, Colour, Image, rounded_rectangle
from nets.data.index import Box, Quad

Kind = Literal["standard", "yellow", "trailer"]

WIDTH_MM: Final = 520
HEIGHT_MM: Final = 112

LETTERS: Final = "ABEKMHOPCTYX"
"""The letters that plates use."""

_FORMATS: Final[dict[Kind, str]] = {"standard": "LDDDLL", "yellow": "LLDDD", "trailer": "LLDDDD"}
"""What stands before the region: L a letter, D a digit."""

_PATTERNS: Final = {
    kind: re.compile(layout.replace("L", f"[{LETTERS}]").replace("D", "[0-9]") + "[0-9]{2,3}")
    for kind, layout in _FORMATS.items()
}

_LETTER_MM: Final = 58.0


@dataclass(frozen=True, slots=True)
class _Row:
    """Where a row of characters stands and how high its digits are."""

    baseline: float
    digit: float


_SERIES: Final = _Row(baseline=94.0, digit=76.0)
_REGION: Final = _Row(baseline=70.0, digit=58.0)


@dataclass(frozen=True, slots=True)
class _Ink:
    """What strokes are drawn with."""

    colour: Colour
    pen: float
    """Width of the strokes."""


_PITCH_MM: Final = 53.5
_LARGEST_GAP_MM: Final = 75.0
"""Distances between the middles of two characters of a group, and of two groups."""

_REGIONS_2: Final = tuple(f"{code:02d}" for code in range(1, 100) if code not in (20, 88, 94))
_REGIONS_3: Final = tuple(
    f"{code}"
    for code in (
        *(102, 113, 116, 121, 123, 124, 125, 126, 134, 136, 138, 142, 147, 150, 152, 154, 155, 156, 158, 159, 161),
        *(163, 164, 173, 174, 177, 178, 180, 181, 184, 186, 190, 193, 196, 197, 198, 199, 250, 252, 277, 299, 323),
        *(550, 702, 716, 750, 754, 761, 763, 774, 777, 778, 790, 797, 799, 977),
    )
)

_LARGE_REGIONS: Final = tuple(
    f"{code}"
    for code in (16, 50, 77, 78, 90, 97, 98, 99, 116, 123, 150, 161, 163, 177, 178, 190, 197, 198, 199, 750, 777, 799)
)

_LARGE_SHARE: Final = 0.3
"""Share of the texts from regions with the most cars."""

_NEW_SHARE: Final = 0.1
"""Share of the texts with any code. Regions get new ones, and the reader must not lean on today's list."""

_TRIPLE_SHARE: Final = 0.1
"""Share of the numbers that are one digit repeated: the hardest to read for a network that drops repeats."""

_SUPERSAMPLING: Final = 2


def random_text(rng: np.random.Generator, kind: Kind = "standard") -> str:
    """Return a text that the registry could have given out: letters of the twelve, never 000, mostly real regions."""
    count = _FORMATS[kind].count("D")
    same = 1 if rng.random() > _TRIPLE_SHARE else (10**count - 1) // 9
    number = rng.integers(1, (10**count - 1) // same + 1) * same
    digits = iter(f"{number:0{count}d}")
    series = "".join(
        next(digits) if symbol == "D" else LETTERS[rng.integers(len(LETTERS))] for symbol in _FORMATS[kind]
    )
    return series + _random_region(rng)


def _random_region(rng: np.random.Generator) -> str:
    choice = rng.random()
    if choice < _NEW_SHARE:
        return f"{rng.integers(1, 10)}{rng.integers(100):02d}" if rng.random() < 0.6 else f"{rng.integers(1, 100):02d}"
    if choice < _NEW_SHARE + _LARGE_SHARE:
        return _LARGE_REGIONS[rng.integers(len(_LARGE_REGIONS))]
    regions = _REGIONS_3 if rng.random() < 0.5 else _REGIONS_2
    return regions[rng.integers(len(regions))]


def render_plate(text: str, rng: np.random.Generator, height: int = 112, kind: Kind = "standard") -> Image:
    """Draw a plate as seen straight from the front, clean and evenly lit.

    What differs between makers (weight of the pen, tint, bolts, frame line, flag) is drawn from `rng`.

    Args:
        text: in Latin look-alikes, region included, as `random_text` gives it.
        rng: source of the variation.
        height: of the result in pixels; the width is height * 520 / 112, rounded.
        kind: which type of plate.

    Returns:
        (height, width, 3), BGR.

    Raises:
        ValueError: the text is not one of this kind.
    """
    if kind not in get_args(Kind):
        raise ValueError(f"no such kind of plate: {kind!r}")
    if not _PATTERNS[kind].fullmatch(text):
        raise ValueError(f"{text!r} is not the text of a {kind} plate")
    width = round(height * WIDTH_MM / HEIGHT_MM)
    shape = (height * _SUPERSAMPLING, width * _SUPERSAMPLING)
    background, colour = _colours(rng, kind)
    ink = _Ink(colour, rng.uniform(8.5, 11.5))
    sheet = Canvas(np.full((*shape, 3), background, np.uint8), shape[0] / HEIGHT_MM)
    length = len(_FORMATS[kind])
    series, region = text[:length], text[length:]
    divider = (391.0 if len(region) == 2 else 366.0) + rng.uniform(-3, 3)
    _lines(sheet, divider, colour, rng)
    centres = _centres(series, rng.uniform(47, 57), divider - rng.uniform(39, 45))
    _row(sheet, series, centres, _SERIES, ink, rng)
    places = np.arange(len(region)) - (len(region) - 1) / 2
    centres = (divider + 505.0) / 2 + rng.uniform(-4, 4) + places * rng.uniform(42, 45)
    _row(sheet, region, centres, _REGION, ink, rng)
    _country(sheet, divider, colour, rng)
    _bolts(sheet, rng)
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
    half = np.array([plate_width, plate_width * HEIGHT_MM / WIDTH_MM]) / 2
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


def _colours(rng: np.random.Generator, kind: Kind) -> tuple[Colour, Colour]:
    base = np.array((40, 190, 240) if kind == "yellow" else (228, 230, 230)) + rng.integers(-18, 19)
    tinted = np.clip(base + rng.integers(-8, 9, 3), 0, 255)
    black = rng.integers(10, 60) + rng.integers(-5, 6, 3)
    return _colour(tinted), _colour(np.clip(black, 0, 255))


def _colour(values: NDArray[np.int64]) -> Colour:
    return int(values[0]), int(values[1]), int(values[2])


def _lines(sheet: Canvas, divider: float, colour: Colour, rng: np.random.Generator) -> None:
    """Draw the line along the plate's edge and the one before the region."""
    inset = rng.uniform(1.5, 3.5)
    edge = rounded_rectangle(inset, inset, WIDTH_MM - inset, HEIGHT_MM - inset, 8.0)
    sheet.polyline(np.concatenate([edge, edge[:1]]), rng.uniform(2.5, 5.0), colour)
    sheet.polyline([(divider, 4.0), (divider, HEIGHT_MM - 4.0)], rng.uniform(2.0, 3.5), colour)


def _row(
    sheet: Canvas, text: str, centres: NDArray[np.float64], row: _Row, ink: _Ink, rng: np.random.Generator
) -> None:
    """Draw characters about given positions, each stamped a little off its place."""
    for character, centre in zip(text, centres, strict=True):
        height = (row.digit if character.isdigit() else _LETTER_MM) * rng.uniform(0.98, 1.02)
        left = centre - height * glyphs.aspect(character) / 2 + rng.uniform(-1, 1)
        _glyph(sheet, character, left, row.baseline + rng.uniform(-1, 1), height, ink)


def _glyph(sheet: Canvas, character: str, left: float, baseline: float, height: float, ink: _Ink) -> None:
    size = np.array([height * glyphs.aspect(character), height])
    # Strokes reach beyond the glyph, and its cell cuts them.
    cell = sheet.part(left, baseline - height, *size)
    for stroke in glyphs.strokes(character):
        cell.polyline(ink.pen / 2 + stroke * (size - ink.pen), ink.pen, ink.colour)


def _centres(text: str, first: float, last: float) -> NDArray[np.float64]:
    """Return where the characters of a series stand: letters and digits in groups, a wider gap between the groups."""
    changes = np.array([a.isdigit() != b.isdigit() for a, b in itertools.pairwise(text)])
    gaps = np.count_nonzero(changes)
    gap = min(_LARGEST_GAP_MM, (last - first - (len(changes) - gaps) * _PITCH_MM) / gaps)
    pitch = (last - first - gaps * gap) / (len(changes) - gaps)
    steps = np.where(changes, gap, pitch)
    return np.cumsum(np.concatenate([[first], steps]))


def _country(sheet: Canvas, divider: float, colour: Colour, rng: np.random.Generator) -> None:
    """Draw RUS and the flag below the region; plates of the nineties have no flag."""
    has_flag = rng.random() < 0.85
    left = (divider + WIDTH_MM - 8) / 2 - (54.0 if has_flag else 27.0) + rng.uniform(-3, 3)
    for index, character in enumerate("RUS"):
        _glyph(sheet, character, left + 19.0 * index, HEIGHT_MM - 11.0, 20.0, _Ink(colour, 2.6))
    if has_flag:
        x, y = left + 60.0, HEIGHT_MM - 32.0
        for stripe, paint in enumerate(((235, 235, 235), (160, 70, 30), (50, 40, 190))):
            top = y + 7.0 * stripe
            sheet.polygon([(x, top), (x + 40, top), (x + 40, top + 7), (x, top + 7)], paint)
        sheet.polyline([(x, y), (x + 40, y), (x + 40, y + 21), (x, y + 21), (x, y)], 1.0, colour)


def _bolts(sheet: Canvas, rng: np.random.Generator) -> None:
    if rng.random() < 0.15:
        return
    radius = rng.uniform(2.0, 7.0)
    choices: tuple[Colour, ...] = ((40, 40, 40), (150, 150, 150), (50, 40, 160), (210, 210, 210))
    colour = choices[rng.integers(len(choices))]
    for x in (17.0, WIDTH_MM - 14.0):
        sheet.disc(x + rng.uniform(-2, 2), HEIGHT_MM / 2 + rng.uniform(-3, 3), radius, colour)
