"""Random texts of plates, as the registry could have given them out."""

from collections.abc import Callable
from typing import Final

import numpy as np

from nets.data.kinds import KINDS, LETTERS
from plates.regions import REGIONS

_REGIONS_2: Final = tuple(sorted(code for code in REGIONS if len(code) == 2))
_REGIONS_3: Final = tuple(sorted(code for code in REGIONS if len(code) == 3))

_LARGE_REGIONS: Final = tuple(
    f"{code}"
    for code in (16, 50, 77, 78, 90, 97, 98, 99, 116, 123, 150, 161, 163, 177, 178, 190, 197, 198, 199, 750, 777, 799)
)

_LARGE_SHARE: Final = 0.3
"""Share of the texts from regions with the most cars."""

_NEW_SHARE: Final = 0.1
"""Share of the texts with any code. Regions get new ones, and the reader must not lean on today's list."""

_REPEATED_SHARE: Final = 0.1
"""Share of the codes that repeat a digit (777, 177, 799): the hardest to read for a network that drops repeats."""

_REPEATED: Final = tuple(code for code in (*_REGIONS_3, "555", "111") if code[0] == code[1] or code[1] == code[2])

_TRIPLE_SHARE: Final = 0.1
"""Share of the numbers that are one digit repeated."""


def random_text(rng: np.random.Generator, kind: str = "civil") -> str:
    """Return a text in the reader's characters: letters of the twelve, never 000, more of what is hard to read.

    Raises:
        KeyError: there is no such kind.
    """
    return _text(rng, kind, _TRIPLE_SHARE, _random_region)


def issued_text(rng: np.random.Generator, kind: str = "civil") -> str:
    """Return a text as `random_text`, every number as likely as another and the region one that has the code.

    Raises:
        KeyError: there is no such kind.
    """
    return _text(rng, kind, 0, _known_region)


def _text(
    rng: np.random.Generator, kind: str, triple_share: float, region: Callable[[np.random.Generator], str]
) -> str:
    chosen = KINDS[kind]
    text = ""
    for number, row in enumerate(chosen.rows):
        text += _series(rng, row.layout, triple_share)
        if number == chosen.region.row:
            text += region(rng)
    return text


def _series(rng: np.random.Generator, layout: str, triple_share: float) -> str:
    count = layout.count("0")
    number = 0
    if count:
        same = 1 if rng.random() >= triple_share else (10**count - 1) // 9
        number = int(rng.integers(1, (10**count - 1) // same + 1)) * same
    digits = iter(f"{number:0{count}d}")
    fixed = {"D": "O"}
    return "".join(
        next(digits)
        if symbol == "0"
        else LETTERS[rng.integers(len(LETTERS))]
        if symbol == "L"
        else fixed.get(symbol, symbol)
        for symbol in layout
    )


def _random_region(rng: np.random.Generator) -> str:
    choice = rng.random()
    if choice < _NEW_SHARE:
        return f"{rng.integers(1, 10)}{rng.integers(100):02d}" if rng.random() < 0.6 else f"{rng.integers(1, 100):02d}"
    if choice < _NEW_SHARE + _LARGE_SHARE:
        return _LARGE_REGIONS[rng.integers(len(_LARGE_REGIONS))]
    if choice < _NEW_SHARE + _LARGE_SHARE + _REPEATED_SHARE:
        return _REPEATED[rng.integers(len(_REPEATED))]
    return _known_region(rng)


def _known_region(rng: np.random.Generator) -> str:
    regions = _REGIONS_3 if rng.random() < 0.5 else _REGIONS_2
    return regions[rng.integers(len(regions))]
