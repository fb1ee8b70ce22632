"""Counting: which plates were found, how well they were read. Pure numpy; boxes are x_min, y_min, x_max, y_max."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from plates.distance import edit_distance
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


@dataclass(frozen=True, slots=True)
class Label:
    """A labelled plate."""

    box: Box
    text: str | None
    """None where it is unreadable or unchecked: then only finding it counts."""
    type: str = "standard"
    """As the index of the photos names it."""
    source: str = ""
    """Where the photo came from."""

    @property
    def width(self) -> float:
        """Pixels of the photo."""
        return self.box[2] - self.box[0]


@dataclass(frozen=True, slots=True)
class Answer:
    """A plate that was found."""

    box: Box
    text: str = ""
    """Empty where it could not be read."""
    detection_score: float = 0.0
    """How sure the detector is, 0 to 1."""
    score: float = 0.0
    """Probability of `candidate`, 0 to 1."""
    candidate: str = ""
    """The most probable text, given out or held back."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A labelled plate and what became of it."""

    photo: str
    """Path of the photo."""
    label: Label
    answer: Answer | None
    """None where the plate was not found."""
    overlap: float
    """Intersection over union of the two boxes; 0 where the plate was not found."""

    @property
    def exact(self) -> bool:
        """Whether the text given out is the labelled one."""
        return self.answer is not None and self.answer.text == self.label.text

    @property
    def wrong(self) -> bool:
        """Whether another text than the labelled one was given out; an empty one isn't wrong, it is missing."""
        return self.answer is not None and self.label.text is not None and self.answer.text not in ("", self.label.text)


@dataclass(frozen=True, slots=True)
class Extra:
    """A found plate that is none of the labelled ones."""

    photo: str
    answer: Answer
    complete: bool
    """Whether every plate of the photo is labelled, so that this is a mistake for certain."""


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

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> "Tally":
        """Count labelled plates."""
        tally = cls()
        for sample in samples:
            tally.add(sample)
        return tally

    def add(self, sample: Sample) -> None:
        """Count one labelled plate."""
        label, answer = sample.label, sample.answer
        self.plates += 1
        self.texts += label.text is not None
        if answer is None:
            return
        self.found += 1
        self.overlap += sample.overlap
        if label.text is not None:
            self.texts_found += 1
            self.exact += sample.exact
            self.wrong += sample.wrong
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


BUCKETS: Final = ((0.0, 30.0), (30.0, 60.0), (60.0, 80.0), (80.0, 120.0), (120.0, float("inf")))
"""Widths in pixels of the photo, low <= width < high."""

FINDABLE_WIDTH: Final = 30.0
"""Plates at least this wide are the ones that the detector promises to find."""

HEADLINE_WIDTH: Final = 60.0
"""Plates with a text that are at least this wide are the ones that the service promises to read."""


@dataclass(slots=True)
class Report:
    """What became of the plates of a whole set of photos."""

    samples: list[Sample] = field(default_factory=list)
    extras: list[Extra] = field(default_factory=list)
    """Without those that nobody needs to find."""
    photos: int = 0
    judged: int = 0
    """Answers on photos on which every plate is labelled."""
    right: int = 0
    """Those of them that are a labelled plate."""

    def add(
        self,
        labels: Sequence[Label],
        answers: Sequence[Answer],
        complete: bool,
        ignored: Sequence[Box] = (),
        photo: str = "",
    ) -> None:
        """Count one photo.

        Args:
            labels: its plates.
            answers: what was found, best first.
            complete: whether every readable plate is labelled, so that any other answer is a mistake.
            ignored: plates that nobody needs to find, blurred ones mostly: finding them is no mistake either.
            photo: its path.
        """
        self.photos += 1
        pairs = match(_boxes(label.box for label in labels), _boxes(answer.box for answer in answers))
        answered = {label: (answers[answer], overlap) for label, answer, overlap in pairs}
        for index, label in enumerate(labels):
            self.samples.append(Sample(photo, label, *answered.get(index, (None, 0.0))))
        found = {answer for _, answer, _ in pairs}
        others = [answer for number, answer in enumerate(answers) if number not in found]
        excused = {other for _, other, _ in match(_boxes(ignored), _boxes(a.box for a in others), IGNORED_AT)}
        extras = [Extra(photo, answer, complete) for number, answer in enumerate(others) if number not in excused]
        self.extras += extras
        if complete:
            self.judged += len(pairs) + len(extras)
            self.right += len(pairs)

    def tally(self, chosen: Callable[[Label], bool] = lambda label: True) -> Tally:
        """Count the plates whose label is chosen."""
        return Tally.of(sample for sample in self.samples if chosen(sample.label))

    @property
    def everything(self) -> Tally:
        """All plates."""
        return self.tally()

    @property
    def buckets(self) -> tuple[Tally, ...]:
        """The plates of each of `BUCKETS`."""
        return tuple(
            Tally.of(sample for sample in self.samples if low <= sample.label.width < high) for low, high in BUCKETS
        )

    @property
    def findable(self) -> Tally:
        """Plates at least `FINDABLE_WIDTH` wide."""
        return self.tally(lambda label: label.width >= FINDABLE_WIDTH)

    @property
    def headline(self) -> Tally:
        """Plates with a text and at least `HEADLINE_WIDTH` wide."""
        return self.tally(lambda label: label.text is not None and label.width >= HEADLINE_WIDTH)

    @property
    def precision(self) -> float:
        """Share of the answers on completely labelled photos that are plates."""
        return ratio(self.right, self.judged)

    @property
    def precision_at_least(self) -> float:
        """Share of all answers that are a labelled plate, as if nothing else in any photo were one."""
        found = self.everything.found
        return ratio(found, found + len(self.extras))

    @property
    def average_precision(self) -> float:
        """Area under the precision-recall curve (AP50), where precision never falls with recall (PASCAL VOC 2010).

        An answer that is no labelled plate counts as a mistake on every photo, as in `precision_at_least`.
        """
        found = [sample.answer.detection_score for sample in self.samples if sample.answer is not None]
        scores = np.array(found + [extra.answer.detection_score for extra in self.extras])
        order = np.argsort(-scores, kind="stable")
        hits = np.cumsum(order < len(found))
        precision = hits / np.arange(1, len(order) + 1)
        envelope = np.maximum.accumulate(precision[::-1])[::-1]
        return ratio(float(envelope[order < len(found)].sum()), len(self.samples))


def ratio(part: float, whole: float) -> float:
    """Return part / whole; NaN, "not measured", where there is nothing to divide by."""
    return part / whole if whole else float("nan")


def _boxes(boxes: Iterable[Box]) -> Floats:
    return np.array(list(boxes), np.float32).reshape(-1, 4)
