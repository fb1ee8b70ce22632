"""Whether scores mean what they say: of plates scored 0.9, about 90 % should be right."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from nets.metrics import Sample, ratio

BINS: Final = 10
"""Equal steps of the score."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A text's score and whether the text was right."""

    score: float
    right: bool


@dataclass(frozen=True, slots=True)
class Bin:
    """Texts whose scores lie in one step, low < score <= high."""

    low: float
    high: float
    count: int
    score: float
    """Mean score; NaN where the bin is empty."""
    accuracy: float
    """Share that was right; NaN where the bin is empty."""


def scored(samples: Iterable[Sample]) -> list[Scored]:
    """Return the scores of plates that were found and have a labelled text, held-back texts included."""
    return [
        Scored(sample.answer.score, sample.answer.candidate == sample.label.text)
        for sample in samples
        if sample.answer is not None and sample.label.text is not None
    ]


def reliability(texts: Sequence[Scored], bins: int = BINS) -> list[Bin]:
    """Group texts by their score, lowest first."""
    scores = np.array([text.score for text in texts], np.float64)
    right = np.array([text.right for text in texts], np.float64)
    # A score of 0 goes into the first bin.
    places = np.clip(np.ceil(scores * bins).astype(int) - 1, 0, bins - 1)
    result = []
    for place in range(bins):
        inside = places == place
        count = int(inside.sum())
        means = (ratio(float(values[inside].sum()), count) for values in (scores, right))
        result.append(Bin(place / bins, (place + 1) / bins, count, *means))
    return result


def expected_calibration_error(texts: Sequence[Scored], bins: int = BINS) -> float:
    """Return the mean distance of score and accuracy, bins weighted by their texts (Naeini et al., AAAI 2015).

    NaN where there are no texts.
    """
    gaps = [bin_.count * abs(bin_.score - bin_.accuracy) for bin_ in reliability(texts, bins) if bin_.count]
    return ratio(sum(gaps), len(texts))


def log_loss(texts: Sequence[Scored], floor: float = 1e-6) -> float:
    """Return the mean negative log-likelihood of right and wrong under the scores; NaN where there are no texts."""
    scores = np.clip([text.score for text in texts], floor, 1 - floor)
    right = np.array([text.right for text in texts], bool)
    return ratio(float(-np.log(np.where(right, scores, 1 - scores)).sum()), len(texts))
