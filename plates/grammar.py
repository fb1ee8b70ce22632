"""The texts that plates can hold, as a finite automaton over the reader's characters.

Built once from `plates.formats`: a state is the set of what may still follow (subset construction; Hopcroft, Motwani,
Ullman, "Introduction to Automata Theory", 2.3.5), so that states from which the same texts follow are one.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plates.alphabet import CHARACTERS
from plates.formats import CODES, PATTERNS, Ground, Pattern

_DIGITS: Final = "0123456789"
_SETS: Final = {"L": CHARACTERS[10:], "0": _DIGITS, "D": "O"}
"""Characters that a symbol of a layout stands for, as the reader names them; it reads a D as an O."""

_BEGINNINGS: Final = {
    symbol: {code[:length] for code in codes for length in range(1, len(code))} for symbol, codes in CODES.items()
}
"""What codes go on from."""

DEAD: Final = 0
"""The state after which no text of a plate follows."""


class Automaton(NamedTuple):
    """All texts on one and on two lines."""

    next: NDArray[np.int16]
    """(states, 22): the state after each character."""
    priors: NDArray[np.float64]
    """(states, 5): of a text that ends here on a plate of each `Ground`, relative to a car's; 0: none may end here."""
    start: NDArray[np.int16]
    """(3,): the state before the first character, by number of lines (none with 0)."""
    longest: int
    """Characters of the longest text."""


class _Rest(NamedTuple):
    """What may follow: the rest of a layout, of whose code the first digits were read."""

    pattern: Pattern
    layout: str
    digits: str = ""


def admits(text: Sequence[int], lines: int = 1) -> bool:
    """Say whether a text (class indices) can stand on a plate with 1 or 2 lines."""
    automaton = build()
    state = automaton.start[lines]
    for index in text:
        state = automaton.next[state, index]
    return bool(automaton.priors[state].any())


@cache
def build() -> Automaton:
    """Build the automaton."""
    starts = [frozenset(_Rest(p, p.layout) for p in PATTERNS if lines in p.lines) for lines in (1, 2)]
    numbers: dict[frozenset[_Rest], int] = {frozenset(): DEAD}
    rows = [[DEAD] * len(CHARACTERS)]
    pending = [*starts]
    for state in starts:
        numbers[state] = len(rows)
        rows.append([])
    while pending:
        state = pending.pop()
        row = []
        for character in CHARACTERS:
            following = frozenset(rest for entry in state for rest in _after(entry, character))
            if following not in numbers:
                numbers[following] = len(rows)
                rows.append([])
                pending.append(following)
            row.append(numbers[following])
        rows[numbers[state]] = row
    return Automaton(
        np.array(rows, np.int16),
        np.array([_priors(state) for state in numbers]),
        np.array([DEAD, *(numbers[state] for state in starts)], np.int16),
        max(len(pattern.layout) for pattern in PATTERNS) + 2,
    )


def _priors(state: frozenset[_Rest]) -> list[float]:
    """Return the prior of what ends in a state, for each ground."""
    ended = [rest.pattern for rest in state if not rest.layout]
    return [sum(pattern.prior for pattern in ended if pattern.ground == ground) for ground in Ground]


def _after(rest: _Rest, character: str) -> list[_Rest]:
    """Return what may follow once a character was read; nothing if it can't stand there."""
    if not rest.layout:
        return []
    symbol, remaining = rest.layout[0], rest.layout[1:]
    if symbol not in CODES:
        return [_Rest(rest.pattern, remaining)] if character in _SETS.get(symbol, symbol) else []
    digits = rest.digits + character
    following = [_Rest(rest.pattern, remaining)] if digits in CODES[symbol] else []
    if digits in _BEGINNINGS[symbol]:
        following.append(_Rest(rest.pattern, rest.layout, digits))
    return following
