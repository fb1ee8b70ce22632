"""The kinds of plates of GOST R 50577-2018 that are on the road: sizes, layouts and colours.

Lengths are millimetres, x right and y down from the plate's top left corner; colours are BGR. Sizes of plates and the
heights of characters (76, 58, 20) are the standard's. Where exactly the characters of the rarer kinds stand was
estimated from pictures, and `render_plate` varies it.
"""

import re
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from nets.data.canvas import Colour
from plates.formats import Format

LETTERS: Final = "ABEKMHOPCTYX"
"""The letters that plates use."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of characters before, above or below the region."""

    layout: str
    """"L" is one of the twelve letters, "0" a digit, others stand for themselves."""
    left: float
    right: float
    """The characters are centred between these; a region of three digits pushes `right` to the left."""
    baseline: float
    digit: float = 76.0
    letter: float = 58.0
    """Heights."""
    pitch: float = 53.5
    gap: float = 70.0
    """Distances between the middles of two characters of a group, and of two groups."""


@dataclass(frozen=True, slots=True)
class RegionBox:
    """The box with the region's code and RUS."""

    lefts: tuple[float, float]
    """Its left side with a code of two and of three digits."""
    right: float
    top: float
    bottom: float
    digit: float
    """Height of the digits."""
    baseline: float
    pitch: float
    flag: bool = False
    """Whether the flag stands beside RUS."""
    rus: float = 20.0
    """Height of RUS, which stands at the bottom."""
    row: int = 0
    """Row after whose characters the code is read."""


@dataclass(frozen=True, slots=True)
class Paint:
    """Colours of a plate."""

    ground: Colour
    ink: Colour


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of plate."""

    format: Format
    width: float
    height: float
    rows: tuple[Row, ...]
    region: RegionBox
    paint: Paint
    region_ground: Colour | None = None
    """Ground of the region's box where some makers colour it."""
    word: str = ""
    """Small word above the row."""

    @property
    def lines(self) -> int:
        """Number of lines."""
        return len(self.rows)

    def split(self, text: str) -> tuple[str, ...]:
        """Return what of a text of this kind stands on each line; the region's digits are what the rows leave."""
        region = len(text) - sum(len(row.layout) for row in self.rows)
        ends = accumulate(
            len(row.layout) + (region if number == self.region.row else 0) for number, row in enumerate(self.rows)
        )
        return tuple(text[start:end] for start, end in pairwise((0, *ends)))

    def pattern(self) -> re.Pattern[str]:
        """Return what the reader's texts of this kind look like; the D of diplomats is the reader's O."""
        parts = []
        for number, row in enumerate(self.rows):
            parts += [_CLASSES.get(symbol, symbol) for symbol in row.layout]
            if number == self.region.row:
                parts.append("([0-9]{2,3})")
        return re.compile("".join(parts))


_CLASSES: Final = {"L": f"[{LETTERS}]", "0": "[0-9]", "D": "O"}

_BLACK_ON_WHITE: Final = Paint((228, 230, 230), (35, 35, 35))
_BLACK_ON_YELLOW: Final = Paint((40, 185, 240), (30, 30, 30))
_WHITE_ON_BLUE: Final = Paint((150, 80, 15), (235, 235, 235))
_WHITE_ON_BLACK: Final = Paint((30, 30, 30), (230, 230, 230))
_WHITE_ON_RED: Final = Paint((35, 25, 185), (235, 235, 235))
_YELLOW: Final = (40, 215, 235)


def _long(
    format_: Format,
    layout: str,
    paint: Paint = _BLACK_ON_WHITE,
    *,
    digit: float = 76.0,
    pitch: float = 53.5,
    gap: float = 70.0,
    flag: bool = False,
    region_ground: Colour | None = None,
    word: str = "",
) -> Kind:
    """Return a kind on one line, 520 x 112."""
    row = Row(layout, 28.0, 377.0, 94.0, digit, 58.0, pitch, gap)
    region = RegionBox((391.0, 366.0), 505.0, 4.0, 108.0, 58.0, 70.0, 43.5, flag)
    return Kind(format_, 520.0, 112.0, (row,), region, paint, region_ground, word)


def _square(
    format_: Format,
    layouts: tuple[str, str],
    size: tuple[float, float],
    paint: Paint = _BLACK_ON_WHITE,
    *,
    flag: bool = False,
    region_row: int = 1,
) -> Kind:
    """Return a kind on two lines; everything scales with its size, as in the standard's drawings."""
    width, height = size
    unit = height / 100
    lefts = (0.58 * width, 0.52 * width)
    baselines = (46 * unit, 90 * unit)
    rows = tuple(
        Row(
            layout,
            5 * unit,
            lefts[0] - 2 * unit if number == region_row else width - 5 * unit,
            baselines[number],
            digit=(37 if height > 150 else 39) * unit,
            letter=(33 if number == region_row else 36) * unit,
            pitch=28 * unit,
            gap=35 * unit,
        )
        for number, layout in enumerate(layouts)
    )
    top = (3 if region_row == 0 else 51) * unit
    region = RegionBox(
        lefts,
        width - 3 * unit,
        top,
        top + 46 * unit,
        digit=26 * unit,
        baseline=top + 30.5 * unit,
        pitch=20 * unit,
        flag=flag,
        rus=9.5 * unit,
        row=region_row,
    )
    return Kind(format_, width, height, rows, region, paint)


_JAPANESE: Final = (290.0, 170.0)
_TRACTOR: Final = (288.0, 206.0)
_MOTORCYCLE_OLD: Final = (245.0, 185.0)
_MOTORCYCLE: Final = (190.0, 145.0)

KINDS: Final[dict[str, Kind]] = {
    # Type 1, 1A, 1B, 2.
    "civil": _long(Format.CIVIL, "L000LL", flag=True),
    "civil_square": _square(Format.CIVIL, ("L000", "LL"), _JAPANESE, flag=True),
    "taxi": _long(Format.TAXI, "LL000", _BLACK_ON_YELLOW, pitch=62.0, gap=98.0, flag=True),
    "trailer": _long(Format.TRAILER, "LL0000", gap=75.0, flag=True),
    # Type 3; 4 as made since 2019 and before; 4A (snowmobiles, quad bikes: the region on the upper line), 4B (mopeds).
    "tractor": _square(Format.TRACTOR, ("0000", "LL"), _TRACTOR),
    "motorcycle": _square(Format.MOTORCYCLE, ("0000", "LL"), _MOTORCYCLE),
    "motorcycle_old": _square(Format.MOTORCYCLE, ("0000", "LL"), _MOTORCYCLE_OLD),
    "motorcycle_offroad": _square(Format.MOTORCYCLE, ("LL", "0000"), _MOTORCYCLE, region_row=0),
    "motorcycle_moped": _square(Format.MOTORCYCLE, ("LL00", "LL"), _MOTORCYCLE),
    # Type 15; 19 (cars that leave the country for good); the paper ones that said TRANSIT until 2019.
    "temporary": _long(Format.TEMPORARY, "LL000L", region_ground=_YELLOW),
    "transit": _long(Format.TRANSIT, "TLL000"),
    "temporary_paper": _long(Format.TEMPORARY, "LL000L", pitch=50.0, gap=62.0, word="TPAH3ИT"),
    # Type 20, 21, 22.
    "police": _long(Format.POLICE, "L0000", _WHITE_ON_BLUE, pitch=58.0, gap=80.0),
    "police_trailer": _long(Format.POLICE, "000L", _WHITE_ON_BLUE, pitch=60.0, gap=85.0),
    "police_motorcycle": _square(Format.POLICE, ("0000", "L"), _MOTORCYCLE_OLD, _WHITE_ON_BLUE),
    # Type 5, 5A, 6, 7, 8.
    "military": _long(Format.MILITARY, "0000LL", _WHITE_ON_BLACK, gap=75.0),
    "military_square": _square(Format.MILITARY, ("0000", "LL"), _JAPANESE, _WHITE_ON_BLACK),
    "military_trailer": _long(Format.MILITARY, "LL0000", _WHITE_ON_BLACK, gap=75.0),
    "military_tractor": _square(Format.MILITARY, ("0000", "LL"), _TRACTOR, _WHITE_ON_BLACK),
    "military_motorcycle": _square(Format.MILITARY, ("0000", "LL"), _MOTORCYCLE_OLD, _WHITE_ON_BLACK),
    # Type 9 (heads of missions), 10 (diplomats, D; staff, T).
    "diplomatic_head": _long(Format.DIPLOMATIC, "000CD0", _WHITE_ON_RED, digit=66.0),
    "diplomatic": _long(Format.DIPLOMATIC, "000D000", _WHITE_ON_RED, digit=62.0, pitch=44.0, gap=56.0),
    "diplomatic_staff": _long(Format.DIPLOMATIC, "000T000", _WHITE_ON_RED, digit=62.0, pitch=44.0, gap=56.0),
}
"""Every kind by its name: the format's, and what sets it apart from the others of that format."""

COMMON: Final[dict[str, float]] = {
    "civil": 0.3,
    "civil_square": 0.06,
    "taxi": 0.05,
    "trailer": 0.05,
    "tractor": 0.025,
    "motorcycle": 0.025,
    "motorcycle_old": 0.025,
    "motorcycle_offroad": 0.03,
    "motorcycle_moped": 0.03,
    "temporary": 0.03,
    "transit": 0.015,
    "temporary_paper": 0.025,
    "police": 0.04,
    "police_trailer": 0.03,
    "police_motorcycle": 0.02,
    "military": 0.05,
    "military_square": 0.02,
    "military_trailer": 0.03,
    "military_tractor": 0.015,
    "military_motorcycle": 0.015,
    "diplomatic_head": 0.03,
    "diplomatic": 0.05,
    "diplomatic_staff": 0.035,
}
"""Share of each kind among drawn plates. Rare ones come far more often than on the road, or they wouldn't be learnt."""
