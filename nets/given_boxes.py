"""The reader alone: what it makes of plates whose boxes are given to it, apart from what the detector finds."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from nets.held_out import Photo
from nets.metrics import Answer, Box, Label, Sample, match
from plates import decoding, geometry
from plates.geometry import Floats, Image
from plates.pipeline import DetectorNet, Options, ReaderNet, detect, read

Candidates = Sequence[tuple[str, float]]
"""What a plate may say and how probable that is, best first; none where nothing is to be read."""

Decoder = Callable[[Floats, int], list[Candidates]]
"""Logits of plates (n, 23, steps), all on so many lines -> what each plate may say."""

Placing = Callable[[Image, Photo], list[tuple[Label, Box]]]
"""Says which plates of a photo are read, and in which boxes."""


@dataclass(frozen=True, slots=True)
class Plates:
    """Labelled plates and what the reader sees in them."""

    photos: list[Photo]
    """Where each plate is."""
    labels: list[Label]
    boxes: list[Box]
    """Where each was read."""
    lines: list[int]
    """On how many lines each was read."""
    logits: list[Floats]
    """(23, 18) of one on one line, (23, 37) of one on two: see `decoding.join_lines`."""

    def __add__(self, other: "Plates") -> "Plates":
        return Plates(
            self.photos + other.photos,
            self.labels + other.labels,
            self.boxes + other.boxes,
            self.lines + other.lines,
            self.logits + other.logits,
        )

    def of(self, photos: Iterable[Photo]) -> "Plates":
        """Return those of some photos."""
        chosen = set(photos)
        places = [place for place, photo in enumerate(self.photos) if photo in chosen]
        return Plates(
            [self.photos[place] for place in places],
            [self.labels[place] for place in places],
            [self.boxes[place] for place in places],
            [self.lines[place] for place in places],
            [self.logits[place] for place in places],
        )

    def candidates(self, decoder: Decoder) -> list[Candidates]:
        """Say what each may say."""
        found: dict[int, Candidates] = {}
        for count in set(self.lines):
            places = [place for place, lines in enumerate(self.lines) if lines == count]
            found |= zip(places, decoder(np.stack([self.logits[place] for place in places]), count), strict=True)
        return [found[place] for place in range(len(self.lines))]

    def samples(self, decoder: Decoder) -> list[Sample]:
        """Say what they say; whatever is read is given out."""
        samples = []
        read = self.candidates(decoder)
        for photo, label, box, candidates in zip(self.photos, self.labels, self.boxes, read, strict=True):
            text, score = next(iter(candidates), ("", 0.0))
            samples.append(Sample(str(photo.path), label, Answer(box, text, 1.0, score, text), 1.0))
        return samples


def load(photo: Photo) -> Image:
    """Decode a photo as its labels see it: BGR, EXIF orientation not applied.

    Raises:
        ValueError: the file is not an image.
    """
    image = cv2.imread(str(photo.path), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    if image is None:
        raise ValueError(f"{photo.path} is not an image")
    return np.asarray(image, np.uint8)


def labelled_boxes(_: Image, photo: Photo) -> list[tuple[Label, Box]]:
    """Read every plate with a text in its labelled box; a `Placing`."""
    return [(label, label.box) for label in photo.labels if label.text is not None]


def detected_boxes(detector: DetectorNet, options: Options) -> Placing:
    """Read every plate with a text that the detector finds in the box that it gives."""

    def place(image: Image, photo: Photo) -> list[tuple[Label, Box]]:
        found = detect(image, detector, options).boxes
        boxes = as_boxes(found)
        labelled = np.array([label.box for label in photo.labels], np.float32).reshape(-1, 4)
        pairs = [(photo.labels[label], boxes[box]) for label, box, _ in match(labelled, found)]
        return [(label, box) for label, box in pairs if label.text is not None]

    return place


def see(photos: Iterable[Photo], reader: ReaderNet, options: Options, placing: Placing = labelled_boxes) -> Plates:
    """Show plates to the reader, each on as many lines as the service finds on it."""
    plates = Plates([], [], [], [], [])
    for photo in photos:
        image = load(photo)
        placed = placing(image, photo)
        labels, boxes = [label for label, _ in placed], [box for _, box in placed]
        rows = np.array(boxes, np.float32).reshape(-1, 4)
        lines = [reading.lines for reading in read(image, rows, reader, options)]
        crops = [geometry.crop(image, row[None], count) for row, count in zip(rows, lines, strict=True)]
        logits = [(reader(crop) if len(crop) == 1 else decoding.join_lines(reader(crop)))[0] for crop in crops]
        plates += Plates([photo] * len(placed), labels, boxes, lines, logits)
    return plates


def greedy(logits: Floats, _: int) -> list[Candidates]:
    """Take the most probable path, whatever plates may say; a `Decoder`."""
    texts, scores = decoding.decode(logits)
    return [[reading] for reading in zip(texts, scores.tolist(), strict=True)]


def served(options: Options) -> Decoder:
    """Read as the service does with some options."""

    def decode(logits: Floats, lines: int) -> list[Candidates]:
        readings = decoding.read(logits, lines, temperature=options.temperature, grammar_odds=options.grammar_odds)
        return [[(candidate.text, candidate.score) for candidate in reading.candidates] for reading in readings]

    return decode


def as_boxes(rows: Floats) -> list[Box]:
    """Return rows (n, 4) as boxes."""
    return [(x_min, y_min, x_max, y_max) for x_min, y_min, x_max, y_max in rows.tolist()]
