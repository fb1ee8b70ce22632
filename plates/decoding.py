"""From the reader's logits to texts and how sure they are.

`read` looks for the texts that a plate can hold (`plates.grammar`) and weighs them against what the reader saw without
that knowledge. Let p(y) be the reader's probability of a text y, and r(y) how much likelier y is on a plate than a text
that no plate holds: 1 for those, and for the others w (`grammar_odds`) times the prior of the format, times how much
likelier a plate of that format looks as this one does than any plate (`plates.colour`). Then

    score(y) = r(y) p(y) / sum over all texts z of r(z) p(z)

which is Bayes' rule with prior odds of w to 1 that the plate is Russian, whole and in view. Where the reader is sure of
a text that fits, nothing changes; where it wavers between O and 0, the place decides, and between B123AB77 and 8123AB77
the colour; and what it reads clearly on a foreign plate wins although it fits nothing. Of the sum only the largest
terms are known one by one; what the search left out is counted as if all of it were texts of cars, which makes the
scores of unclear plates a little too low.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plates import colour, formats, grammar
from plates.alphabet import BLANK, CHARACTERS, CLASSES
from plates.contract import CANDIDATES
from plates.ctc import Doubles, collapse, log_probability, log_softmax
from plates.formats import Ground
from plates.search import Texts, search

Floats = NDArray[np.float32]

_LEAST_SCORE: Final = 0.0005
"""Candidates that are less probable than this say nothing and are left out."""


_IMPOSSIBLE: Final = -100.0
"""Logit of what can't be, where another is 0."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a plate may say."""

    text: str
    """In Latin look-alikes; never empty."""
    score: float
    """Probability of the text, 0 to 1."""


class _Foreign(NamedTuple):
    """A text that the grammar doesn't have."""

    candidate: Candidate
    character_scores: list[float]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a plate says."""

    candidates: tuple[Candidate, ...]
    """Most probable first, `contract.CANDIDATES` at most; none where nothing is to be read."""
    character_scores: tuple[float, ...]
    """Probability of each character of the first candidate, 0 to 1."""
    format: formats.Format
    """Of the first candidate, as far as its text tells; unknown without one."""
    region: str
    """Region code in the first candidate; "" without one."""
    lines: int
    """Lines of text on the plate, 1 or 2."""

    @property
    def text(self) -> str:
        """Text of the first candidate, "" without one."""
        return self.candidates[0].text if self.candidates else ""

    @property
    def score(self) -> float:
        """Score of the first candidate, 0 without one."""
        return self.candidates[0].score if self.candidates else 0.0


def join_lines(logits: Floats) -> Floats:
    """Put what the reader says of the two lines of a plate one after the other.

    A blank lies between them: the last character of one line and the first of the other are two, however alike.

    Args:
        logits: (2 n, 23, 18), the upper and the lower line of each plate in turn.

    Returns:
        (n, 23, 37).
    """
    blank = np.full((len(logits) // 2, CLASSES, 1), _IMPOSSIBLE, np.float32)
    blank[:, BLANK] = 0
    return np.concatenate([logits[::2], blank, logits[1::2]], axis=2)


def read(
    logits: Floats,
    lines: int = 1,
    grounds: Sequence[Ground] | None = None,
    *,
    temperature: float = 1.0,
    grammar_odds: float = 30.0,
) -> list[Reading]:
    """Read plates by what they can hold.

    Args:
        logits: (n, 23, steps), n may be 0; those of two lines as `join_lines` returns them.
        lines: on how many lines the plates are written, 1 or 2.
        grounds: the colours of the n plates; None: they say nothing.
        temperature: the logits are divided by it; above 1 the reader is less sure (Guo et al., ICML 2017).
        grammar_odds: w above, 1 or more.
    """
    if not len(logits):
        return []
    logarithms = log_softmax(logits / np.float32(temperature))
    found = search(np.exp(logarithms), lines)
    colours = [None] * len(logits) if grounds is None else grounds
    likelihoods = colour.likelihoods(colours, lines)
    weighted = grammar_odds * (found.priors @ likelihoods[..., None])[..., 0] * found.probabilities
    admitted = found.probabilities.sum(axis=1) + found.missed
    normaliser = weighted.sum(axis=1) + grammar_odds * found.missed + 1 - np.minimum(admitted, 1)
    best = np.argsort(-weighted, axis=1)[:, :CANDIDATES]
    scores = np.take_along_axis(weighted, best, axis=1) / normaliser[:, None]
    characters = np.take_along_axis(found.characters, best[..., None], axis=1)
    sure = _place_scores(found, characters[:, 0])
    rows = zip(characters.tolist(), scores.tolist(), sure.tolist(), colours, strict=True)
    readings = [_admitted(*row, lines) for row in rows]
    for index, foreign in _unadmitted(logarithms, lines, normaliser).items():
        readings[index] = _with_foreign(readings[index], foreign)
    return readings


def _admitted(
    texts: list[list[int]], scores: list[float], sure: list[float], ground: Ground | None, lines: int
) -> Reading:
    """Make a reading of the texts (class indices, then -1) that the search found for a plate, best first."""
    candidates = tuple(
        Candidate(formats.as_written(_spell(text)), score)
        for text, score in zip(texts, scores, strict=True)
        if score >= _LEAST_SCORE
    )
    if not candidates:
        return Reading((), (), formats.Format.UNKNOWN, "", lines)
    best = candidates[0]
    character_scores = tuple(max(best.score, value) for value in sure[: len(best.text)])
    return Reading(candidates, character_scores, *formats.parse(best.text, lines, ground), lines)


def _place_scores(found: Texts, characters: NDArray[np.int8]) -> Doubles:
    """Return how likely each character (n, longest) is at its place, among all that the grammar has there."""
    chosen = np.take_along_axis(found.marginals, np.maximum(characters, 0)[..., None].astype(np.intp), axis=2)[..., 0]
    total = found.marginals.sum(axis=2)
    return np.divide(chosen, total, out=np.zeros_like(chosen), where=total > 0)


def _unadmitted(logarithms: Doubles, lines: int, normaliser: Doubles) -> dict[int, _Foreign]:
    """Return the texts of the most probable paths where they are none of a plate's, by the plates' indices."""
    paths = logarithms.argmax(axis=1)
    labels = collapse(paths)
    indices = [index for index, label in enumerate(labels) if len(label) and not grammar.admits(label.tolist(), lines)]
    if not indices:
        return {}
    probabilities = np.exp(log_probability(logarithms[indices], [labels[index] for index in indices]))
    return {
        index: _Foreign(
            Candidate(_spell(labels[index].tolist()), float(probability / normaliser[index])),
            _run_scores(np.exp(logarithms[index].max(axis=0)), paths[index]),
        )
        for index, probability in zip(indices, probabilities, strict=True)
    }


def _with_foreign(reading: Reading, foreign: _Foreign) -> Reading:
    """Put a text that the grammar doesn't have among a plate's candidates."""
    candidate, sure = foreign
    if candidate.score < _LEAST_SCORE:
        return reading
    candidates = tuple(sorted((*reading.candidates, candidate), key=lambda one: -one.score)[:CANDIDATES])
    if candidate is not candidates[0]:
        return replace(reading, candidates=candidates)
    character_scores = tuple(max(candidate.score, value) for value in sure)
    return Reading(candidates, character_scores, formats.Format.UNKNOWN, "", reading.lines)


def _run_scores(highest: Doubles, path: NDArray[np.intp]) -> list[float]:
    """Return the probability of each character of a path where it is highest."""
    starts = np.flatnonzero(np.diff(path, prepend=-1))
    peaks = np.maximum.reduceat(highest, starts)
    return [float(peak) for peak, start in zip(peaks, starts, strict=True) if path[start] != BLANK]


def decode(logits: Floats) -> tuple[list[str], Floats]:
    """Read plates by their most probable paths, whatever they spell.

    Args:
        logits: (n, 23, steps), n may be 0.

    Returns:
        The texts, and for each the probability that the reader gives to it: summed over all paths that spell it, not
        only the one it was read from (float32, shape (n,)).
    """
    labels = collapse(logits.argmax(axis=1))
    texts = [_spell(label.tolist()) for label in labels]
    return texts, np.exp(log_probability(log_softmax(logits), labels)).astype(np.float32)


def _spell(labels: list[int]) -> str:
    """Return the text of class indices; -1 is none."""
    return "".join(CHARACTERS[label] for label in labels if label >= 0)
