"""What Russian plates say: the types of GOST R 50577-2018 and of its forerunner of 1993, as texts.

Letters are Latin look-alikes. Where two types read the same, the colour of the ground tells them apart
(`plates.colour`): military plates are black and trailers' white, AB123777 is a taxi from 777 on yellow and a trailer
from 77 on white. A motorcycle's and a tractor's plate differ in their size in millimetres alone, which a photo doesn't
show: both are given as motorcycles.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from plates.regions import REGIONS, RegionName

__all__ = [
    "CODES",
    "PATTERNS",
    "Format",
    "Ground",
    "Pattern",
    "RegionName",
    "as_written",
    "interpretations",
    "parse",
    "region_name",
]


class Format(StrEnum):
    """Type of a plate, as the public JSON spells it."""

    CIVIL = "civil"
    TAXI = "taxi"
    TRAILER = "trailer"
    MOTORCYCLE = "motorcycle"
    TRACTOR = "tractor"
    POLICE = "police"
    MILITARY = "military"
    DIPLOMATIC = "diplomatic"
    TRANSIT = "transit"
    TEMPORARY = "temporary"
    UNKNOWN = "unknown"


class Ground(StrEnum):
    """Colour that a plate is written on."""

    WHITE = "white"
    YELLOW = "yellow"
    BLUE = "blue"
    BLACK = "black"
    RED = "red"


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way in which plates are written."""

    format: Format
    layout: str
    """"L" is one of the twelve letters, "0" a digit, "R" the code of a region, "M" one of the army, and others stand
    for themselves."""
    prior: float
    """How often one text of it is met, roughly, beside one of a car's: it decides between B123AB77 (a car's) and
    8123AB77 (the army's). A format that is seldom met but has few texts has each of them as often as another."""
    lines: tuple[int, ...] = (1,)
    """Numbers of lines on which it is written."""
    ground: Ground = Ground.WHITE


PATTERNS: Final = (
    # Type 1 and, on two lines, 1A.
    Pattern(Format.CIVIL, "L000LLR", 1.0, (1, 2)),
    # 1B: taxis and buses.
    Pattern(Format.TAXI, "LL000R", 0.2, ground=Ground.YELLOW),
    # 2.
    Pattern(Format.TRAILER, "LL0000R", 0.2),
    # 4, 4A (snowmobiles and quad bikes; the region is on the upper line) and 4B (mopeds).
    Pattern(Format.MOTORCYCLE, "0000LLR", 1.0, (2,)),
    Pattern(Format.MOTORCYCLE, "LLR0000", 0.2, (2,)),
    Pattern(Format.MOTORCYCLE, "LL00LLR", 0.2, (2,)),
    # 3.
    Pattern(Format.TRACTOR, "0000LLR", 1.0, (2,)),
    # 5 (also on two lines, 5A), 7, 8 and, for trailers, 6. Note 3 of the standard lets the army use codes of its own.
    Pattern(Format.MILITARY, "0000LLM", 0.05, (1, 2), Ground.BLACK),
    Pattern(Format.MILITARY, "LL0000M", 0.05, ground=Ground.BLACK),
    # 9 (heads of missions), 10 (D: diplomats, T: staff).
    Pattern(Format.DIPLOMATIC, "000CD0R", 0.05, ground=Ground.RED),
    Pattern(Format.DIPLOMATIC, "000D000R", 0.05, ground=Ground.RED),
    Pattern(Format.DIPLOMATIC, "000T000R", 0.05, ground=Ground.RED),
    # 20, 21 (trailers), 22 (motorcycles).
    Pattern(Format.POLICE, "L0000R", 0.1, ground=Ground.BLUE),
    Pattern(Format.POLICE, "000LR", 0.05, ground=Ground.BLUE),
    Pattern(Format.POLICE, "0000LR", 0.05, (2,), Ground.BLUE),
    # 15; the paper ones that said TRANSIT until 2019 read the same.
    Pattern(Format.TEMPORARY, "LL000LR", 0.1),
    # 19: cars that leave the country for good.
    Pattern(Format.TRANSIT, "TLL000R", 0.2),
)
"""The likelier of two that read the same comes first."""

CODES: Final = {
    "R": frozenset(REGIONS),
    "M": frozenset({f"{code:02d}" for code in range(1, 100)} | {code for code in REGIONS if len(code) == 3}),
}
"""What the symbols of a layout that stand for several digits may say. The army's two-digit codes aren't published."""

_CLASSES: Final = {
    "L": "[ABEKMHOPCTYX]",
    "0": "[0-9]",
    "R": "(?P<R>[0-9]{2,3})",
    "M": "(?P<M>[0-9]{2,3})",
}

_EXPRESSIONS: Final = tuple(
    re.compile("".join(_CLASSES.get(symbol, symbol) for symbol in pattern.layout)) for pattern in PATTERNS
)

_DIPLOMATIC_O: Final = re.compile("(?:(?<=^[0-9]{3}C)O(?=[0-9]{3,4}$))|(?:(?<=^[0-9]{3})O(?=[0-9]{5,6}$))")


def interpretations(text: str, lines: int = 1) -> list[tuple[Pattern, str]]:
    """Return every way to understand a Latin text on 1 or 2 lines: its pattern and region code, likeliest first.

    The region is "" for plates that name none: the army's.
    """
    found = []
    for pattern, expression in zip(PATTERNS, _EXPRESSIONS, strict=True):
        match = expression.fullmatch(text) if lines in pattern.lines else None
        if match is None:
            continue
        ((symbol, code),) = match.groupdict().items()
        if code in CODES[symbol]:
            found.append((pattern, code if symbol == "R" else ""))
    return found


def parse(text: str, lines: int = 1, ground: Ground | None = None) -> tuple[Format, str]:
    """Return the format of a text and its region code; `Format.UNKNOWN` and "" for one that fits none.

    Args:
        text: in Latin look-alikes, as `as_written` gives it.
        lines: on how many lines it was written, 1 or 2.
        ground: colour of the plate, which decides between formats that read the same; None: the likeliest is taken.
    """
    found = interpretations(text, lines)
    if not found:
        return Format.UNKNOWN, ""
    pattern, region = next((entry for entry in found if entry[0].ground == ground), found[0])
    return pattern.format, region


def as_written(text: str) -> str:
    """Return a text of the reader's characters as the plate shows it.

    The reader has no D and sees an O. On a diplomatic plate its place tells: 001O00177 -> 001D00177.
    """
    return _DIPLOMATIC_O.sub("D", text)


def region_name(code: str) -> RegionName | None:
    """Return the name of the region that a code stands for; None for codes that aren't in use."""
    return REGIONS.get(code)
