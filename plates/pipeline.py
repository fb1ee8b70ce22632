"""The algorithm of the service: find plates, cut them out, read them. Networks come in as functions on arrays."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from plates import colour, contract, decoding, geometry
from plates.formats import Format, Ground
from plates.geometry import Floats, Letterbox

Array = Any
"""A numpy array, or a PyTorch tensor on any device: what `Geometry` works on."""

DetectorNet = Callable[[Array], Array]
"""(1, h, w, 3) uint8 BGR, letterboxed -> (1, n, 6) float32: see `contract.YOLO_NET`."""

ReaderNet = Callable[[Array], Floats]
"""(n, 3, 24, 94) float32 crops, n <= 32 -> (n, 23, 18) float32 logits, in host memory."""


class Geometry(Protocol):
    """What is done with pixels and boxes: `plates.geometry`, or `plates.torch_geometry` where they lie on a GPU.

    Both modules describe these functions; their results are equal to within rounding.
    """

    def letterbox(self, image: Array, size: int) -> tuple[Array, Letterbox]: ...  # noqa: D102

    def candidates(  # noqa: D102
        self, rows: Array, letterbox: Letterbox, height: int, width: int, threshold: float, limit: int
    ) -> tuple[Array, Array]: ...

    def suppress(self, boxes: Array, scores: Array, iou_threshold: float, limit: int) -> Array: ...  # noqa: D102

    def crop(self, image: Array, boxes: Floats, lines: int = 1) -> Array: ...  # noqa: D102

    def deskew(self, image: Array, boxes: Floats) -> Array: ...  # noqa: D102

    def join(self, arrays: Sequence[Array]) -> Array: ...  # noqa: D102

    def on_host(self, array: Array) -> Floats: ...  # noqa: D102


SUPPRESSED_AT_MOST: Final = 1000
"""Candidates that go into non-maximum suppression, whose cost grows with their square."""

CLOSER: Final = 1.5
"""Times the detector's input that a closer look must be to be worth its time."""

SKEWED_RATIO: Final = 3.8
"""A box whose width is less than this many times its height may hold a plate on one line that lies aslant; level ones
are 4.6 times as wide as high."""

DESKEWED_SCORE: Final = 0.8
"""Least score of what is read of a plate that was made level. The likeliest of several guesses would more often be
wrong than it says, and make a Russian plate of a foreign one."""

ENVIRONMENT_PREFIX: Final = "PLATES_"
"""Of the variables that set options for every model of a server."""


@dataclass(frozen=True, slots=True)
class Options:
    """What can be set: per model in its config.pbtxt (`parameters`), for all in the server's environment."""

    input_size: int = 640
    """Longer side of the detector's input, pixels."""
    detection_threshold: float = 0.3
    """Least score of a plate."""
    iou_threshold: float = 0.45
    """Two plates that overlap more than this are one."""
    max_plates: int = 300
    """Plates given back per image."""
    second_look_size: int = 192
    """Longer side of the detector's input in a second look, pixels; 0: there is none."""
    second_look_threshold: float = 0.8
    """A plate found with this score makes other looks unnecessary."""
    second_look_width: float = 0.25
    """Least width of a plate found by the second look, as a share of the image's."""
    closer_look_size: int = 1280
    """Longer side of the detector's input in a closer look at a large image, pixels; 0: there is none."""
    text_threshold: float = 0.5
    """A text that is less probable than this is given back as "": it is wrong more often than right."""
    blank_threshold: float = 0.05
    """A plate whose text is less probable than this looks blank."""
    blank_detection_threshold: float = 0.85
    """Least score of a plate that looks blank or says what no Russian plate can: lamps, signs, fences and plates that
    were painted over do, and others seldom. One that a closer look was needed for must be read."""
    temperature: float = 1.0
    """The reader's logits are divided by it, so that its probabilities are those that come true."""
    grammar_odds: float = 30.0
    """Prior odds that a plate is Russian, whole and in view: see `decoding`. At 100, foreign ones pass for trailers."""
    two_line_ratio: float = 2.4
    """A box whose width is less than this many times its height is read as one line and as two; 0: never as two."""
    deskew_threshold: float = 0.95
    """A plate that may lie aslant is read again, made level, where its text is less probable than this; 0: never."""

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, str]) -> Self:
        """Read options from a model's parameters, whose values are strings. Others are Triton's and are left alone.

        Raises:
            ValueError: a value is not a number.
        """
        known = {option.name: int if option.type is int else float for option in fields(cls)}
        return cls(**{name: known[name](value) for name, value in parameters.items() if name in known})  # type: ignore[arg-type]


def overrides(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the options that environment variables set, by name: PLATES_INPUT_SIZE sets input_size.

    Raises:
        ValueError: there is no such option.
    """
    found = {
        name.removeprefix(ENVIRONMENT_PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(ENVIRONMENT_PREFIX)
    }
    known = [option.name for option in fields(Options)]
    for name in found.keys() - known:
        raise ValueError(f"{ENVIRONMENT_PREFIX}{name.upper()} sets no option; there are {', '.join(known)}")
    return found


@dataclass(frozen=True, slots=True)
class Detections:
    """Plates found in an image, best first."""

    boxes: Floats
    """(n, 4) x_min, y_min, x_max, y_max in pixels of the image."""
    scores: Floats
    """(n,), 0 to 1."""
    closer: NDArray[np.bool_]
    """(n,): whether a closer look was needed to find them."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A plate, in the way in which it was read best."""

    reading: decoding.Reading
    ground: Ground
    logits: Floats
    """(23, 18) of one on one line, (23, 37) of one on two: see `decoding.join_lines`."""


@dataclass(frozen=True, slots=True)
class _View:
    """A way to show plates to the reader."""

    crops: Array
    """(n * lines, 3, 24, 94)."""
    lines: int
    plates: Sequence[int]
    """Indices of the n plates."""


@dataclass(frozen=True, slots=True)
class Readings:
    """Plates found and read, best detection first."""

    detections: Detections
    texts: list[str]
    """Latin; "" where the plate can't be read."""
    readings: list[decoding.Reading]
    """What was read, rejected or not."""
    milliseconds: Floats
    """Time that each of `contract.STAGES` took."""

    @property
    def scores(self) -> Floats:
        """(n,) probability of each text that was read, rejected or not."""
        return np.array([reading.score for reading in self.readings], np.float32)


def detect(image: Array, detector: DetectorNet, options: Options, ops: Geometry = geometry) -> Detections:
    """Find the plates of an image (h, w, 3), BGR, of any size.

    Where nothing was found for certain, the image is looked at once more, reduced: a plate that fills the picture is
    larger than any that the network knows. Where that shows nothing either, a large image is looked at more closely: a
    plate far away in it is too small.
    """
    boxes, scores = _look(image, detector, options.input_size, options, ops)

    def certain() -> bool:
        return bool((scores >= options.second_look_threshold).any())

    if options.second_look_size and not certain():
        more, more_scores = _look(image, detector, options.second_look_size, options, ops)
        large = more[:, 2] - more[:, 0] >= options.second_look_width * image.shape[1]
        boxes, scores = ops.join([boxes, more[large]]), ops.join([scores, more_scores[large]])
    before = len(boxes)
    size = min(options.closer_look_size, max(image.shape[:2]))
    if size >= CLOSER * options.input_size and not certain():
        more, more_scores = _look(image, detector, size, options, ops)
        boxes, scores = ops.join([boxes, more]), ops.join([scores, more_scores])
    kept = ops.suppress(boxes, scores, options.iou_threshold, options.max_plates)
    return Detections(ops.on_host(boxes[kept]), ops.on_host(scores[kept]), ops.on_host(kept) >= before)


def _look(image: Array, detector: DetectorNet, size: int, options: Options, ops: Geometry) -> tuple[Array, Array]:
    """Run the detector at a size; returns boxes (n, 4) in pixels of the image and scores (n,), not yet suppressed."""
    height, width = image.shape[:2]
    boxed, transform = ops.letterbox(image, size)
    rows = detector(boxed[None])[0]
    return ops.candidates(rows, transform, height, width, options.detection_threshold, SUPPRESSED_AT_MOST)


def read(image: Array, boxes: Floats, reader: ReaderNet, options: Options, ops: Geometry = geometry) -> list[Seen]:
    """Read the plates in boxes (n, 4) of an image (h, w, 3), BGR; see `read_crops`."""
    if not len(boxes):
        return []
    square = narrower(boxes, options.two_line_ratio)
    seen = read_crops(ops.crop(image, boxes), ops.crop(image, boxes[square], lines=2), square, reader, options, ops)
    return read_deskewed(
        seen, narrower(boxes, SKEWED_RATIO), lambda plates: ops.deskew(image, boxes[plates]), reader, options, ops
    )


def read_crops(
    crops: Array,
    halves: Array,
    square: NDArray[np.intp],
    reader: ReaderNet,
    options: Options,
    ops: Geometry = geometry,
) -> list[Seen]:
    """Read plates that were cut out, in more than one way where it isn't clear which is right: the likeliest is taken.

    One that may have two lines is read line by line as well. One that looks black is read as a negative as well: the
    reader has seen few black plates and many white ones.

    Args:
        crops: (n, 3, 24, 94), whole plates.
        halves: (2 m, 3, 24, 94), the lines of those that may have two.
        square: (m,), which of the plates these are.
        reader: the network.
        options: what is set.
        ops: what is done with arrays.
    """
    grounds = [colour.ground(crop) for crop in ops.on_host(crops)]
    views = [_View(crops, 1, range(len(crops))), _View(halves, 2, square.tolist())]
    for view in tuple(views):
        black = [place for place, plate in enumerate(view.plates) if grounds[plate] == Ground.BLACK]
        rows = [view.lines * place + line for place in black for line in range(view.lines)]
        if rows:
            views.append(_View(-view.crops[rows], view.lines, [view.plates[place] for place in black]))
    logits = _logits(ops.join([view.crops for view in views]), reader)
    best: dict[int, Seen] = {}
    for view, part in zip(views, np.split(logits, np.cumsum([len(view.crops) for view in views[:-1]])), strict=True):
        joined = part if view.lines == 1 else decoding.join_lines(part)
        readings = decoding.read(
            joined,
            view.lines,
            [grounds[plate] for plate in view.plates],
            temperature=options.temperature,
            grammar_odds=options.grammar_odds,
        )
        for plate, reading, row in zip(view.plates, readings, joined, strict=True):
            other = Seen(reading, grounds[plate], row)
            best[plate] = _likelier(best[plate], other) if plate in best else other
    return [best[plate] for plate in range(len(crops))]


def read_deskewed(
    seen: Sequence[Seen],
    skewed: NDArray[np.intp],
    deskew: Callable[[list[int]], Array],
    reader: ReaderNet,
    options: Options,
    ops: Geometry = geometry,
) -> list[Seen]:
    """Read those plates again, made level, that may lie aslant and weren't read surely.

    What is read surely then is taken (`DESKEWED_SCORE`).

    Args:
        seen: how n plates were read.
        skewed: (m,), which of them may lie aslant.
        deskew: cuts k plates out, by their indices, both ways: (2 k, 3, 24, 94), see `geometry.deskew`.
        reader: the network.
        options: what is set.
        ops: what is done with arrays.
    """
    best = list(seen)
    unsure = [plate for plate in skewed.tolist() if best[plate].reading.score < options.deskew_threshold]
    if unsure:
        crops = deskew(unsure)
        again = read_crops(crops, crops[:0], np.empty(0, np.intp), reader, options, ops)
        for number, other in enumerate(again):
            plate = unsure[number // 2]
            if other.reading.score >= DESKEWED_SCORE:
                best[plate] = _likelier(best[plate], other)
    return best


def _likelier(one: Seen, other: Seen) -> Seen:
    """Return the second only where it is a plate's text and the likelier one.

    What no plate holds is what one line looks like when it is cut in halves, or a level plate when it is made aslant.
    """
    better = other.reading.format != Format.UNKNOWN and other.reading.score > one.reading.score
    return other if better else one


def narrower(boxes: Floats, ratio: float) -> NDArray[np.intp]:
    """Return the indices of boxes whose width is less than `ratio` times their height."""
    sizes = boxes[:, 2:] - boxes[:, :2]
    return np.flatnonzero(sizes[:, 0] < ratio * sizes[:, 1])


def _logits(crops: Array, reader: ReaderNet) -> Floats:
    """Run the reader on crops (n, 3, 24, 94) in chunks that it takes."""
    size = contract.READER_BATCH
    return np.concatenate([reader(crops[start : start + size]) for start in range(0, len(crops), size)])


def _speaks_for_itself(reading: decoding.Reading, options: Options) -> bool:
    """Say whether a text shows that it stands on a plate. One that no plate holds doesn't: signs can be read too."""
    return reading.format != Format.UNKNOWN and reading.score >= options.blank_threshold


def recognize(
    image: Array, detector: DetectorNet, reader: ReaderNet, options: Options, ops: Geometry = geometry
) -> Readings:
    """Find and read the plates of an image (h, w, 3), BGR; the reader isn't asked when there are none."""
    begin = time.perf_counter()
    found = detect(image, detector, options, ops)
    detected = time.perf_counter()
    readings = [seen.reading for seen in read(image, found.boxes, reader, options, ops)]
    kept = [
        index
        for index, (reading, score, closer) in enumerate(zip(readings, found.scores, found.closer, strict=True))
        if _speaks_for_itself(reading, options) or (score >= options.blank_detection_threshold and not closer)
    ]
    readings = [readings[index] for index in kept]
    texts = [reading.text if reading.score >= options.text_threshold else "" for reading in readings]
    milliseconds = 1000 * np.diff([begin, detected, time.perf_counter()]).astype(np.float32)
    given = Detections(found.boxes[kept], found.scores[kept], found.closer[kept])
    return Readings(given, texts, readings, milliseconds)
