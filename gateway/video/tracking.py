"""Which plate of this frame is which plate of the last ones.

Sampled frames are far apart: at five a second a car of 30 km/h moves by three plate widths, and plates are so flat
that a nod of the car moves them off themselves. So boxes are grown before their overlap is measured (the buffered IoU
of Yang et al., "Hard to Track Objects with Irregular Motions and Similar Appearances? Make It Easier by Buffering the
Matching Space", WACV 2023), and the text, which other trackers don't have, counts as much as the place. A Kalman filter
had nothing to add: its noise would be guessed, and the text finds a car again wherever it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from gateway.recognizer import Box
from gateway.video.voting import TextVote
from plates.distance import edit_distance

GAP_SECONDS: Final = 1.5
"""How long a plate may be out of sight and still be the same passage."""

_GROWTH: Final = 1.0
"""Added to a box on each side before boxes are compared, in widths of the plate."""

_NOTHING_KNOWN: Final = 0.5
"""Likeness of texts of which one can't be read."""
_DIFFERENT: Final = 0.3
"""Texts less alike are of two plates, wherever they are: cars follow each other closely through a gate."""
_SAME: Final = 0.85
"""Texts more alike are of one plate, wherever it is."""


@dataclass(frozen=True, slots=True, eq=False)
class Sighting:
    """A plate in one frame."""

    seconds: float
    box: Box
    candidates: Sequence[tuple[str, float]]
    """What it may say and how probably, best first; empty where nothing can be read."""
    lines: int = 1

    @property
    def text(self) -> str:
        """The best candidate."""
        return self.candidates[0][0] if self.candidates else ""

    @property
    def certainty(self) -> float:
        """The best candidate's probability."""
        return self.candidates[0][1] if self.candidates else 0.0

    @property
    def value(self) -> float:
        """How much the picture of it is worth: of two that are read equally well, the larger one's is more."""
        return self.certainty * (self.box.x_max - self.box.x_min)


@dataclass(slots=True, eq=False)
class Track:
    """One plate over the frames: what a passage is made of. Its size doesn't grow."""

    first: Sighting
    last: Sighting = field(init=False)
    best: Sighting = field(init=False)
    """The one of most value."""
    vote: TextVote = field(default_factory=TextVote)
    frames: int = 0
    picture: bytes = b""
    """Of the best sighting, where whoever has the frames cut it out."""
    _velocity: tuple[float, float] = (0.0, 0.0)
    """Of the box's centre, pixels per second."""

    def __post_init__(self) -> None:
        self.last = self.best = self.first
        self._count(self.first)

    def add(self, sighting: Sighting) -> None:
        """Take in the plate's next sighting."""
        elapsed = sighting.seconds - self.last.seconds
        if elapsed > 0:
            old, new = _centre(self.last.box), _centre(sighting.box)
            self._velocity = ((new[0] - old[0]) / elapsed, (new[1] - old[1]) / elapsed)
        self.last = sighting
        if sighting.value > self.best.value:
            self.best = sighting
        self._count(sighting)

    def expected(self, seconds: float) -> Box:
        """Return where the plate would be by now if it went on as it went last."""
        elapsed = seconds - self.last.seconds
        x, y = self._velocity[0] * elapsed, self._velocity[1] * elapsed
        box = self.last.box
        return Box(box.x_min + x, box.y_min + y, box.x_max + x, box.y_max + y)

    def _count(self, sighting: Sighting) -> None:
        self.vote.add(sighting.candidates)
        self.frames += 1


class Tracker:
    """Follows plates over the frames of one video.

    Args:
        gap: seconds for which a plate may be out of sight.
    """

    def __init__(self, gap: float = GAP_SECONDS) -> None:
        self._gap = gap
        self._tracks: list[Track] = []

    @property
    def tracks(self) -> Sequence[Track]:
        """The plates that are in sight, or were a moment ago."""
        return self._tracks

    def update(self, seconds: float, sightings: Sequence[Sighting]) -> list[Track]:
        """Take in one frame's plates; return the tracks that ended before it.

        Args:
            seconds: the frame's time, later than the one before.
            sightings: all of that time.
        """
        ended = [track for track in self._tracks if seconds - track.last.seconds > self._gap]
        self._tracks = [track for track in self._tracks if track not in ended]
        pairs = [(affinity(track, sighting), track, sighting) for track in self._tracks for sighting in sightings]
        # The best pair first (greedy assignment): with a few plates in a frame it differs from the optimal one only
        # where plates that can't be told apart lie side by side.
        pairs.sort(key=lambda pair: -pair[0])
        new = list(sightings)
        free = list(self._tracks)
        for value, track, sighting in pairs:
            if value > 0 and track in free and sighting in new:
                track.add(sighting)
                free.remove(track)
                new.remove(sighting)
        self._tracks += map(Track, new)
        return ended

    def close(self) -> list[Track]:
        """Return the tracks that the end of the video ends."""
        ended, self._tracks = self._tracks, []
        return ended


def affinity(track: Track, sighting: Sighting) -> float:
    """Return how well a sighting goes on with a track, 0 to 2; 0 where it can't be the same plate."""
    place = buffered_iou(track.expected(sighting.seconds), sighting.box)
    verdict = track.vote.verdict()
    text = likeness(verdict.text, verdict.score, sighting.text, sighting.certainty)
    if text < _DIFFERENT or (place == 0 and text < _SAME):
        return 0.0
    return place + text


def buffered_iou(first: Box, second: Box) -> float:
    """Return the intersection over union of two boxes that are grown by their width on each side."""
    one, two = _grown(first), _grown(second)
    width = min(one.x_max, two.x_max) - max(one.x_min, two.x_min)
    height = min(one.y_max, two.y_max) - max(one.y_min, two.y_min)
    if width <= 0 or height <= 0:
        return 0.0
    intersection = width * height
    return intersection / (_area(one) + _area(two) - intersection)


def likeness(first: str, first_certainty: float, second: str, second_certainty: float) -> float:
    """Return how alike two texts are, 0 to 1; the less certain one of them is, the closer to 0.5: it says nothing."""
    if not first or not second:
        return _NOTHING_KNOWN
    similarity = 1 - edit_distance(first, second) / max(len(first), len(second))
    return _NOTHING_KNOWN + (similarity - _NOTHING_KNOWN) * min(first_certainty, second_certainty)


def _centre(box: Box) -> tuple[float, float]:
    return (box.x_min + box.x_max) / 2, (box.y_min + box.y_max) / 2


def _grown(box: Box) -> Box:
    growth = _GROWTH * (box.x_max - box.x_min)
    return Box(box.x_min - growth, box.y_min - growth, box.x_max + growth, box.y_max + growth)


def _area(box: Box) -> float:
    return (box.x_max - box.x_min) * (box.y_max - box.y_min)
