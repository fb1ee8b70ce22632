import itertools

import numpy as np
import pytest

from plates import alphabet, formats, grammar


@pytest.mark.parametrize("lines", [1, 2])
def test_what_the_automaton_admits_is_what_the_formats_know(lines: int) -> None:
    """Random texts of every layout, right and with one character changed, must get the same answer from both."""
    rng = np.random.default_rng(0)
    agreed = {True: 0, False: 0}
    for pattern, _ in itertools.product(formats.PATTERNS, range(200)):
        layout = pattern.layout.replace("R", "0" * rng.integers(2, 4)).replace("M", "00")
        symbols = {"L": "ABEKMHOPCTYX", "0": "0123456789", "D": "O"}
        text = [str(rng.choice(list(symbols.get(symbol, symbol)))) for symbol in layout]
        if rng.random() < 0.3:
            text[rng.integers(len(text))] = str(rng.choice(list(alphabet.CHARACTERS)))
        read = "".join(text)
        known = bool(formats.interpretations(formats.as_written(read), lines))
        assert grammar.admits(alphabet.encode(read), lines) == known, read
        agreed[known] += 1
    assert min(agreed.values()) > 200


def test_states_from_which_the_same_follows_are_one() -> None:
    automaton = grammar.build()
    assert len(automaton.next) < 1000
    assert not automaton.next[grammar.DEAD].any()
    assert not automaton.priors[grammar.DEAD].any()
    assert automaton.longest == 10


def test_whatever_has_begun_can_end() -> None:
    """From each state but the dead one, some text goes on to its end."""
    automaton = grammar.build()
    alive = automaton.priors.any(axis=1)
    for _ in range(automaton.longest):
        alive |= alive[automaton.next].any(axis=1)
    assert alive.nonzero()[0].tolist() == list(range(1, len(alive)))
