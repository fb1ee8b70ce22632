"""The reader alone: what it makes of plates whose boxes are given to it, apart from what the detector finds."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from nets.held_out import Photo
from nets.metrics import Answer, Box, Label, Sample, match
from plates import decoding
from plates.formats import Ground
from plates.geometry import Floats, Image
from plates.pipeline import DetectorNet, Options, ReaderNet, detect, read

Candidates = Sequence[tuple[str, float]]
"""What a plate may say and how probable that is, best first; none where nothing is to be read."""

Decoder = Callable[[Floats, int, Sequence[Ground]], list[Candidates]]
"""Logits of plates (n, 23, steps), all on so many lines, and their colours -> what each plate may say."""

Placing = Callable[[Image, Photo], list[tuple[Label, Box]]]
"""Says which plates of a photo are read, and in which boxes."""


@dataclass(frozen=True, slots=True)
class Plate:
    """A labelled plate and what the reader sees in it."""

    photo: Photo
    label: Label
    box: Box
    """Where it was read."""
    lines: int
    """On how many lines it was read."""
    ground: Ground
    logits: Floats
    """(23, 18) of one on one line, (23, 37) of one on two: see `decoding.join_lines`."""


def of(plates: Iterable[Plate], photos: Iterable[Photo]) -> list[Plate]:
    """Return the plates of some photos."""
    chosen = set(photos)
    return [plate for plate in plates if plate.photo in chosen]


def candidates(plates: Sequence[Plate], decoder: Decoder) -> list[Candidates]:
    """Say what each plate may say."""
    found: dict[int, Candidates] = {}
    for count in {plate.lines for plate in plates}:
        places = [place for place, plate in enumerate(plates) if plate.lines == count]
        logits = np.stack([plates[place].logits for place in places])
        found |= zip(places, decoder(logits, count, [plates[place].ground for place in places]), strict=True)
    return [found[place] for place in range(len(plates))]


def samples(plates: Sequence[Plate], decoder: Decoder) -> list[Sample]:
    """Say what plates say; whatever is read is given out."""
    said = []
    for plate, found in zip(plates, candidates(plates, decoder), strict=True):
        text, score = next(iter(found), ("", 0.0))
        said.append(Sample(str(plate.photo.path), plate.label, Answer(plate.box, text, 1.0, score, text), 1.0))
    return said


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


def see(photos: Iterable[Photo], reader: ReaderNet, options: Options, placing: Placing = labelled_boxes) -> list[Plate]:
    """Show plates to the reader, each on as many lines as the service finds on it."""
    plates = []
    for photo in photos:
        image = load(photo)
        placed = placing(image, photo)
        rows = np.array([box for _, box in placed], np.float32).reshape(-1, 4)
        plates += [
            Plate(photo, label, box, seen.reading.lines, seen.ground, seen.logits)
            for (label, box), seen in zip(placed, read(image, rows, reader, options), strict=True)
        ]
    return plates


def greedy(logits: Floats, _: int, __: Sequence[Ground]) -> list[Candidates]:
    """Take the most probable path, whatever plates may say; a `Decoder`."""
    texts, scores = decoding.decode(logits)
    return [[reading] for reading in zip(texts, scores.tolist(), strict=True)]


def served(options: Options) -> Decoder:
    """Read as the service does with some options."""

    def decode(logits: Floats, lines: int, grounds: Sequence[Ground]) -> list[Candidates]:
        readings = decoding.read(
            logits, lines, grounds, temperature=options.temperature, grammar_odds=options.grammar_odds
        )
        return [[(candidate.text, candidate.score) for candidate in reading.candidates] for reading in readings]

    return decode


def as_boxes(rows: Floats) -> list[Box]:
    """Return rows (n, 4) as boxes."""
    return [(x_min, y_min, x_max, y_max) for x_min, y_min, x_max, y_max in rows.tolist()]
