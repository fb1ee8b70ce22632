"""From the reader's logits to texts and how sure they are.

The reader is trained with connectionist temporal classification (CTC, Graves et al., ICML 2006): it gives one
distribution over the characters and a blank for each of 18 steps along the plate. A path of 18 classes spells a text by
dropping repeats, then blanks.
"""

import numpy as np
from numpy.typing import NDArray

from plates.alphabet import BLANK, CHARACTERS

Floats = NDArray[np.float32]

_NEVER = -np.inf


def decode(logits: Floats) -> tuple[list[str], Floats]:
    """Read plates by their most probable paths.

    Args:
        logits: (n, 23, 18), n may be 0.

    Returns:
        The texts, and for each the probability that the reader gives to it: summed over all paths that spell it, not
        only the one it was read from (float32, shape (n,)).
    """
    paths = logits.argmax(axis=1)
    spoken = paths != BLANK
    spoken[:, 1:] &= paths[:, 1:] != paths[:, :-1]
    labels = [path[mask] for path, mask in zip(paths, spoken, strict=True)]
    texts = ["".join(CHARACTERS[label] for label in row) for row in labels]
    return texts, np.exp(_log_probability(log_softmax(logits), labels)).astype(np.float32)


def log_softmax(logits: Floats) -> NDArray[np.float64]:
    """Return the logarithm of the softmax over the classes (axis 1)."""
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True, initial=_NEVER)
    normalised: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return normalised


def _log_probability(log_probabilities: NDArray[np.float64], labels: list[NDArray[np.intp]]) -> NDArray[np.float64]:
    """Return log p(labels) of each sample by CTC's forward algorithm (Graves et al., section 4.1), all at once.

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
    total: NDArray[np.float64] = np.logaddexp(last_blank, last_character)
    return total
