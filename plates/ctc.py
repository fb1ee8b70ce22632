"""Connectionist temporal classification: what the reader's output says about texts.

Graves et al., "Connectionist temporal classification", ICML 2006. Each of the steps along the plate has one
distribution over the characters and a blank. A path of one class per step spells a text by dropping repeats, then
blanks; a text's probability is the sum over all paths that spell it.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from plates.alphabet import BLANK

Doubles = NDArray[np.float64]
Labels = NDArray[np.intp]
"""(length,): class indices of a text."""

_NEVER: Final = -np.inf


def log_softmax(logits: NDArray[np.float32]) -> Doubles:
    """Return the logarithm of the softmax over the classes (axis 1)."""
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True, initial=_NEVER)
    normalised: Doubles = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return normalised


def collapse(paths: NDArray[np.intp]) -> list[Labels]:
    """Return the texts that paths (n, steps) spell."""
    spoken = paths != BLANK
    spoken[:, 1:] &= paths[:, 1:] != paths[:, :-1]
    return [path[mask] for path, mask in zip(paths, spoken, strict=True)]


def log_probability(log_probabilities: Doubles, labels: list[Labels]) -> Doubles:
    """Return log p of a text for each sample (n, 23, steps) by the forward algorithm (section 4.1), all at once.

    The states of a text are its characters with blanks before, between and after them. From one step to the next a path
    stays in its state, moves to the next one, or skips the blank between two different characters.
    """
    samples, _, steps = log_probabilities.shape
    lengths = np.array([len(row) for row in labels], np.intp)
    states = 2 * int(lengths.max(initial=0)) + 1
    extended = np.full((samples, states), BLANK, np.intp)
    for row, label in zip(extended, labels, strict=True):
        row[1 : 2 * len(label) : 2] = label
    may_skip = np.zeros((samples, states), bool)
    may_skip[:, 3::2] = extended[:, 3::2] != extended[:, 1:-2:2]

    rows = np.arange(samples)
    emitted = log_probabilities[rows[:, None], extended]  # (samples, states, steps)
    forward = np.full((samples, states), _NEVER)
    forward[:, :2] = emitted[:, :2, 0]
    for step in range(1, steps):
        arrived = forward.copy()
        arrived[:, 1:] = np.logaddexp(arrived[:, 1:], forward[:, :-1])
        arrived[:, 2:] = np.logaddexp(arrived[:, 2:], np.where(may_skip[:, 2:], forward[:, :-2], _NEVER))
        forward = arrived + emitted[:, :, step]

    last_blank = forward[rows, 2 * lengths]
    last_character = np.where(lengths > 0, forward[rows, np.maximum(2 * lengths - 1, 0)], _NEVER)
    total: Doubles = np.logaddexp(last_blank, last_character)
    return total
