"""Which characters are taken for which."""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plates.alphabet import CHARACTERS

NOTHING: Final = "·"
"""Stands for a character that is left out, or read where there is none."""

SYMBOLS: Final = CHARACTERS + "D" + NOTHING
"""The characters of plates (the D of diplomatic ones comes from the grammar, not the reader) and `NOTHING`."""


def align(label: str, text: str) -> list[tuple[str, str]]:
    """Pair the characters of two texts with the fewest edits; `NOTHING` faces what is left out or added."""
    costs = np.zeros((len(label) + 1, len(text) + 1), int)
    costs[:, 0], costs[0] = np.arange(len(label) + 1), np.arange(len(text) + 1)
    for i, left in enumerate(label, start=1):
        for j, right in enumerate(text, start=1):
            costs[i, j] = min(costs[i - 1, j - 1] + (left != right), costs[i - 1, j] + 1, costs[i, j - 1] + 1)
    pairs = []
    i, j = len(label), len(text)
    while i or j:
        if i and j and costs[i, j] == costs[i - 1, j - 1] + (label[i - 1] != text[j - 1]):
            i, j = i - 1, j - 1
            pairs.append((label[i], text[j]))
        elif i and costs[i, j] == costs[i - 1, j] + 1:
            i -= 1
            pairs.append((label[i], NOTHING))
        else:
            j -= 1
            pairs.append((NOTHING, text[j]))
    return pairs[::-1]


def confusion(texts: Iterable[tuple[str, str]]) -> NDArray[np.int64]:
    """Count characters over (label, text) pairs.

    Returns:
        (24, 24): a row for each labelled one of `SYMBOLS`, a column for each that was read.

    Raises:
        ValueError: a text holds another character.
    """
    counts = np.zeros((len(SYMBOLS), len(SYMBOLS)), np.int64)
    for label, text in texts:
        for left, right in align(label, text):
            counts[SYMBOLS.index(left), SYMBOLS.index(right)] += 1
    return counts


def commonest(counts: NDArray[np.int64], limit: int = 10) -> list[tuple[str, str, int]]:
    """Return the commonest mistakes: labelled and read character (or `NOTHING`), and how often."""
    mistakes = counts.copy()
    np.fill_diagonal(mistakes, 0)
    order = np.argsort(-mistakes, axis=None, kind="stable")[:limit]
    places = (divmod(int(place), len(SYMBOLS)) for place in order)
    return [
        (SYMBOLS[row], SYMBOLS[column], int(mistakes[row, column])) for row, column in places if mistakes[row, column]
    ]
