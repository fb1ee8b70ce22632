"""Prefix search over CTC probabilities, among the texts of the grammar only.

Prefix search (Graves, "Supervised Sequence Labelling with Recurrent Neural Networks", 2008, 7.5.1) extends texts by a
character at a time and ranks them by the exact probability of all texts that begin like them. Here it keeps the `width`
likeliest prefixes of each length, for all plates at once, so that the only loop is over the length of the text: ten
characters at most. A text is missed only where `width` other beginnings of its length are likelier.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plates import grammar
from plates.alphabet import BLANK
from plates.ctc import Doubles

WIDTH: Final = 12
"""Prefixes that are kept for each plate."""

_FLOOR: Final = 1e-12
"""Least probability of a class at a step."""

_LEAST_PRODUCT: Final = 1e-290
"""Of such probabilities over all steps: it doesn't underflow and can be divided by. Two lines have 37 steps."""

_NEGLIGIBLE: Final = 1e-7
"""Probability of all longer texts that isn't worth another step."""


class Texts(NamedTuple):
    """What was found for n plates; k is the number of prefixes of all lengths together."""

    probabilities: Doubles
    """(n, k): the reader's, of each text; 0 where a prefix is no whole text."""
    priors: Doubles
    """(n, k, 5): of each text on a plate of each `Ground`, relative to a car's."""
    characters: NDArray[np.int8]
    """(n, k, longest): class indices, -1 after the end."""
    missed: Doubles
    """(n,): an upper bound of the probability of all other texts that the grammar admits."""
    marginals: Doubles
    """(n, longest, 22): how likely each character stands at each place, given that the text is longer."""


class _Beam(NamedTuple):
    """The prefixes of one length. Time runs over the steps; `before` means: by the end of the step before."""

    states: NDArray[np.int16]
    """(n, width): of the grammar, after the prefix."""
    characters: NDArray[np.int8]
    """(n, width, longest)."""
    before: Doubles
    """(n, width, steps): probability that the prefix was spelt, whatever came last."""
    blank_before: Doubles
    """(n, width, steps): the same, where a blank came last."""


def search(probabilities: Doubles, lines: int, width: int = WIDTH) -> Texts:
    """Find the likeliest texts that plates can hold.

    Args:
        probabilities: (n, 23, steps), n at least 1, sums over the classes are 1.
        lines: on how many lines the plates are written, 1 or 2.
        width: prefixes that are kept, 22 at most.
    """
    automaton = grammar.build()
    probabilities = np.maximum(probabilities, max(_FLOOR, _LEAST_PRODUCT ** (1 / probabilities.shape[2])))
    plates = len(probabilities)
    spoken = np.ascontiguousarray(probabilities[:, :BLANK].transpose(0, 2, 1))  # (n, steps, 22)
    blanks = np.cumprod(probabilities[:, BLANK], axis=1)[:, None]  # (n, 1, steps)
    beam = _Beam(
        np.full((plates, 1), automaton.start[lines], np.int16),
        np.full((plates, 1, automaton.longest), -1, np.int8),
        np.concatenate([np.ones((plates, 1, 1)), blanks[..., :-1]], axis=2),
        np.concatenate([np.ones((plates, 1, 1)), blanks[..., :-1]], axis=2),
    )
    rows = np.arange(plates)[:, None]
    found, priors, texts, missed = [], [], [], np.zeros(plates)
    marginals = np.zeros((plates, automaton.longest, BLANK))
    for length in range(automaton.longest):
        # Probability of all texts that begin with the prefix and one more character. One that repeats the last needs a
        # blank between.
        longer = beam.before @ spoken
        last = beam.characters[:, :, length - 1]
        if length:
            longer[rows, np.arange(width), last] = (beam.blank_before * probabilities[rows, last]).sum(axis=2)
        following = automaton.next[beam.states]
        longer *= following != grammar.DEAD
        place = marginals[:, length] = longer.sum(axis=1)

        reached = place.sum(axis=1)
        missed += reached
        if length and reached.max() < _NEGLIGIBLE:
            break
        flat = longer.reshape(plates, -1)
        chosen = np.argpartition(flat, -width, axis=1)[:, -width:]
        missed -= flat[rows, chosen].sum(axis=1)
        parent, character = np.divmod(chosen, BLANK)

        states = following.reshape(plates, -1)[rows, chosen]
        characters = beam.characters[rows, parent]
        characters[:, :, length] = character
        emitted = probabilities[rows, character]  # (n, width, steps)
        repeats = (character == last[rows, parent])[..., None] if length else False
        source = np.where(repeats, beam.blank_before[rows, parent], beam.before[rows, parent])
        # f[t] = p[t] (f[t-1] + source[t]) for all t at once: divided by the product of p so far, it is a plain sum.
        product = np.cumprod(emitted, axis=2)
        ended = product * np.cumsum(source * emitted / product, axis=2)
        ended_before = _later(ended)
        rested = blanks * np.cumsum(ended_before * probabilities[:, None, BLANK] / blanks, axis=2)
        rested_before = _later(rested)
        beam = _Beam(states, characters, ended_before + rested_before, rested_before)

        prior = automaton.priors[states]
        priors.append(prior)
        found.append((ended[..., -1] + rested[..., -1]) * prior.any(axis=2))
        texts.append(characters)
    return Texts(
        np.concatenate(found, axis=1), np.concatenate(priors, axis=1), np.concatenate(texts, axis=1), missed, marginals
    )


def _later(values: Doubles) -> Doubles:
    """Shift by one step of time."""
    shifted = np.empty_like(values)
    shifted[..., 0] = 0
    shifted[..., 1:] = values[..., :-1]
    return shifted
