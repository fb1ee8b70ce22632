"""Characters of Russian plates and their indices in the reader's output.

GOST R 50577 uses the twelve Cyrillic letters that have a Latin look-alike. Texts travel in Latin; Cyrillic is for
people.
"""

from typing import Final

CHARACTERS: Final = "0123456789ABEKMHOPCTYX"
"""The 22 characters in the order of the reader's classes; the CTC blank comes after them."""

BLANK: Final = len(CHARACTERS)
"""Index of the CTC blank, 22."""

CLASSES: Final = BLANK + 1
"""Number of the reader's classes: the characters and the blank."""

_INDEX: Final = {character: index for index, character in enumerate(CHARACTERS)}
_TO_CYRILLIC: Final = str.maketrans("ABEKMHOPCTYX", "АВЕКМНОРСТУХ")
_TO_LATIN: Final = str.maketrans("АВЕКМНОРСТУХ", "ABEKMHOPCTYX")


def encode(text: str) -> list[int]:
    """Return the class index of each character of a Latin text.

    Raises:
        ValueError: a character is not one of `CHARACTERS`.
    """
    try:
        return [_INDEX[character] for character in text]
    except KeyError as error:
        raise ValueError(f"{error.args[0]!r} is not a character of Russian plates") from None


def to_cyrillic(text: str) -> str:
    """Return the text with Latin letters replaced by the Cyrillic ones they stand for: B840OK197 -> В840ОК197."""
    return text.translate(_TO_CYRILLIC)


def to_latin(text: str) -> str:
    """Return the text with Cyrillic letters replaced by their Latin look-alikes: В840ОК197 -> B840OK197."""
    return text.translate(_TO_LATIN)
