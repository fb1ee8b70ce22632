"""What a general OCR engine read -> the text of a plate, with every help that the plate's format gives.

A general engine knows no plates: it reads shop signs too, and takes O for 0. To compare it fairly, its texts are
cleaned, letters and digits are exchanged where the format asks for the other kind, and what then is no plate is left
out.
"""

import re
from typing import Final

from plates.alphabet import to_latin

_DIGIT_FOR: Final = str.maketrans("OQDILZSBGT", "0001125867")
_LETTER_FOR: Final = str.maketrans("084", "OBA")
_PLATE: Final = re.compile(r"([ABEKMHOPCTYX])(\d{3})([ABEKMHOPCTYX]{2})(\d{2,3})")


def clean(text: str) -> str:
    """Return the Latin capitals and digits of a text, Cyrillic look-alikes included, without the word RUS."""
    return re.sub(r"[^A-Z0-9]", "", to_latin(text.upper())).removesuffix("RUS")


def as_plate(text: str) -> str | None:
    """Return the civil plate that a text holds, None where it holds none."""
    cleaned = clean(text)
    for start in range(len(cleaned) - 7):
        for length in (9, 8):
            piece = cleaned[start : start + length]
            if len(piece) == length and (match := _PLATE.fullmatch(_by_place(piece))):
                return match[0]
    return None


def _by_place(text: str) -> str:
    """Exchange letters and digits that look alike, as a civil plate has them: L000LL00."""
    letters = [text[0:1], text[4:6]]
    digits = [text[1:4], text[6:]]
    first, series = (part.translate(_LETTER_FOR) for part in letters)
    number, region = (part.translate(_DIGIT_FOR) for part in digits)
    return first + number + series + region
