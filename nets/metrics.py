"""Counting: which plates were found, how well they were read. Pure numpy; boxes are x_min, y_min, x_max, y_max."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from plates.geometry import Floats, iou

FOUND_AT: Final = 0.5
"""Least intersection over union of a found box with the labelled one."""


IGNORED_AT: Final = 0.3
"""The same with a plate that doesn't count: its box was never measured well."""

Box = tuple[float, float, float, float]


def match(labelled: Floats, found: Floats, threshold: float = FOUND_AT) -> list[tuple[int, int, float]]:
    """Pair labelled boxes (n, 4) with found ones (m, 4), each at most once.

    Found boxes come best score first, and each takes the labelled box that it covers best among those still free, as
    in the counting of COCO.

    Returns:
        (index of the labelled box, index of the found box, intersection over union) of each pair.
    """
    free = np.ones(len(labelled), bool)
    pairs = []
    for index, box in enumerate(found):
        overlap = np.where(free, iou(box, labelled), -1.0)
        if overlap.size and overlap.max() >= threshold:
            best = int(overlap.argmax())
            free[best] = False
            pairs.append((best, index, float(overlap[best])))
    return pairs


def edit_distance(a: str, b: str) -> int:
    """Return how many characters must be inserted, deleted or replaced to make `b` of `a` (Levenshtein)."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, start=1):
        diagonal, row[0] = row[0], i
        for j, right in enumerate(b, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (left != right))
    return row[-1]


@dataclass(frozen=True, slots=True)
class Label:
    """A labelled plate."""

    box: Box
    text: str | None
    """None where it is unreadable or unchecked: then only finding it counts."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A plate that was found."""

    box: Box
    text: str = ""
    """Empty where it could not be read."""


@dataclass(slots=True)
class Tally:
    """Counts over labelled plates of some kind, e.g. of some width."""

    plates: int = 0
    found: int = 0
    overlap: float = 0.0
    """Sum of the found plates' intersection over union."""
    texts: int = 0
    """Labelled plates with a text."""
    texts_found: int = 0
    exact: int = 0
    wrong: int = 0
    """Found and given another text than the label's; an empty text isn't wrong, it is missing."""
    characters: int = 0
    """Of the labelled texts of found plates."""
    edits: int = 0
    """From those to the texts that were read."""

    def add(self, label: Label, answer: Answer | None, overlap: float = 0.0) -> None:
        """Count one labelled plate; `answer` is None where it was not found."""
        self.plates += 1
        self.texts += label.text is not None
        if answer is None:
            return
        self.found += 1
        self.overlap += overlap
        if label.text is not None:
            self.texts_found += 1
            self.exact += answer.text == label.text
            self.wrong += answer.text not in ("", label.text)
            self.characters += len(label.text)
            self.edits += edit_distance(label.text, answer.text)

    @property
    def recall(self) -> float:
        """Share of the plates that were found."""
        return ratio(self.found, self.plates)

    @property
    def mean_iou(self) -> float:
        """Mean intersection over union of the found plates."""
        return ratio(self.overlap, self.found)

    @property
    def exact_of_all(self) -> float:
        """Share of the plates with a text that were found and read without a mistake."""
        return ratio(self.exact, self.texts)

    @property
    def exact_of_found(self) -> float:
        """The same, of the found ones."""
        return ratio(self.exact, self.texts_found)

    @property
    def wrong_of_all(self) -> float:
        """Share of the plates with a text that were given a wrong one."""
        return ratio(self.wrong, self.texts)

    @property
    def character_error_rate(self) -> float:
        """Edits per labelled character, over found plates."""
        return ratio(self.edits, self.characters)


BUCKETS: Final = ((0.0, 60.0), (60.0, 80.0), (80.0, 120.0), (120.0, float("inf")))
"""Widths in pixels of the photo, low <= width < high."""

HEADLINE_WIDTH: Final = 80.0
"""Plates with a text that are at least this wide are the ones that the service promises to read."""


@dataclass(slots=True)
class Report:
    """The counts of a whole set of photos."""

    everything: Tally = field(default_factory=Tally)
    buckets: tuple[Tally, ...] = field(default_factory=lambda: tuple(Tally() for _ in BUCKETS))
    headline: Tally = field(default_factory=Tally)
    """Plates with a text and at least `HEADLINE_WIDTH` wide."""
    photos: int = 0
    judged: int = 0
    """Answers on photos on which every plate is labelled."""
    right: int = 0
    """Those of them that are a labelled plate."""

    def add(
        self, labels: Sequence[Label], answers: Sequence[Answer], complete: bool, ignored: Sequence[Box] = ()
    ) -> None:
        """Count one photo.

        Args:
            labels: its plates.
            answers: what was found, best first.
            complete: whether every readable plate is labelled, so that any other answer is a mistake.
            ignored: plates that nobody needs to find, blurred ones mostly: finding them is no mistake either.
        """
        self.photos += 1
        pairs = match(_boxes(label.box for label in labels), _boxes(answer.box for answer in answers))
        answered = {label: (answers[answer], overlap) for label, answer, overlap in pairs}
        for index, label in enumerate(labels):
            answer, overlap = answered.get(index, (None, 0.0))
            width = label.box[2] - label.box[0]
            tallies = [self.everything]
            tallies += [tally for tally, (low, high) in zip(self.buckets, BUCKETS, strict=True) if low <= width < high]
            if label.text is not None and width >= HEADLINE_WIDTH:
                tallies.append(self.headline)
            for tally in tallies:
                tally.add(label, answer, overlap)
        if complete:
            found = {answer for _, answer, _ in pairs}
            others = [answer.box for number, answer in enumerate(answers) if number not in found]
            self.judged += len(answers) - len(match(_boxes(ignored), _boxes(others), IGNORED_AT))
            self.right += len(pairs)

    @property
    def precision(self) -> float:
        """Share of the answers on completely labelled photos that are plates."""
        return ratio(self.right, self.judged)


def ratio(part: float, whole: float) -> float:
    """Return part / whole; NaN, "not measured", where there is nothing to divide by."""
    return part / whole if whole else float("nan")


def _boxes(boxes: Iterable[Box]) -> Floats:
    return np.array(list(boxes), np.float32).reshape(-1, 4)
