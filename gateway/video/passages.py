"""From a video's frames to its passages: each plate that came by, once."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np

from gateway.client.errors import PhotoRefused
from gateway.client.http import GatewayClient
from gateway.client.ordered import in_order
from gateway.images import Image
from gateway.recognizer import Box
from gateway.rendering import encode_jpeg
from gateway.schemas import MAX_CANDIDATES, Region
from gateway.video.frames import Frame, Frames
from gateway.video.tracking import Sighting, Track, Tracker
from plates.alphabet import to_cyrillic
from plates.formats import parse

PARAMETERS: Final[dict[str, str | float]] = {"candidates": MAX_CANDIDATES}
"""Of each request: the vote wants all that a plate may say."""

_FRAME_QUALITY: Final = 92
_PICTURE_MARGIN: Final = 0.15
"""Around the plate in its picture, in widths of the plate."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One plate that came by."""

    first_seconds: float
    last_seconds: float
    """When it was first and last seen, from the beginning of the file or stream."""
    first_time: datetime | None
    last_time: datetime | None
    """The same as the time of day, for a stream."""
    frames: int
    """In how many of the sampled frames."""
    text: str
    """By vote over the frames, in Latin look-alikes; empty where none could be read."""
    score: float
    """How far the frames agree on it, 0 to 1: `gateway.video.voting`."""
    lines: int
    box: Box
    """Where it was in the frame in which it was seen best."""
    picture: bytes
    """The plate in that frame, a JPEG; empty where it wasn't asked for."""

    def entry(self, source: str) -> dict[str, Any]:
        """Return it as a JSON object without the picture."""
        kind, code = parse(self.text, self.lines)
        region = Region.of(code)
        return {
            "source": source,
            "first_seconds": round(self.first_seconds, 3),
            "last_seconds": round(self.last_seconds, 3),
            "first_time": self.first_time and self.first_time.isoformat(timespec="milliseconds"),
            "last_time": self.last_time and self.last_time.isoformat(timespec="milliseconds"),
            "frames": self.frames,
            "text": self.text,
            "text_cyrillic": to_cyrillic(self.text),
            "score": round(self.score, 4),
            "format": kind.value,
            "region": region and region.model_dump(),
            "box": asdict(self.box),
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a video is."""

    seconds: float
    passages: list[Passage]
    """Those that ended before this frame."""
    refused: PhotoRefused | None = None
    """Why this frame wasn't looked at."""
    frames: int = 1
    """How many frames it goes on by: none at the end, where the plates still in sight are told."""


async def follow(
    client: GatewayClient, frames: Frames, *, window: int, stop: asyncio.Event, least_frames: int, pictures: bool
) -> AsyncGenerator[Progress, None]:
    """Yield for each frame the passages that have ended, and once more those still in sight at the end of the video.

    Args:
        client: the gateway's.
        frames: of one video, entered.
        window: frames in memory at once.
        stop: once set, no further frame is taken.
        least_frames: a plate that is seen in fewer is taken for a mistake of the detector.
        pictures: whether to cut out each passage's plate.

    Raises:
        GatewayUnusable: the gateway answers no more.
    """

    async def look(frame: Frame) -> tuple[Frame, Mapping[str, Any] | PhotoRefused]:
        data = await asyncio.to_thread(encode_jpeg, frame.image, _FRAME_QUALITY)
        try:
            return frame, await client.recognize(data, PARAMETERS)
        except PhotoRefused as error:
            return frame, error

    def passages(tracks: list[Track]) -> list[Passage]:
        return [_passage(track, frames.started) for track in tracks if track.frames >= least_frames]

    tracker = Tracker()
    seconds = 0.0
    async with aclosing(in_order(frames, look, window, stop)) as answers:
        async for frame, answer in answers:
            seconds = frame.seconds
            if isinstance(answer, PhotoRefused):
                yield Progress(seconds, [], answer)
                continue
            ended = tracker.update(seconds, [sighting(seconds, plate) for plate in answer["plates"]])
            if pictures:
                for track in tracker.tracks:
                    if track.best.seconds == seconds:
                        track.picture = encode_jpeg(np.ascontiguousarray(_cut(frame.image, track.best.box)))
            yield Progress(seconds, passages(ended))
    yield Progress(seconds, passages(tracker.close()), frames=0)


def sighting(seconds: float, plate: Mapping[str, Any]) -> Sighting:
    """Make a sighting of a plate of the public JSON (`gateway.schemas.RecognizedPlate`)."""
    candidates = [(candidate["text"], candidate["score"]) for candidate in plate["candidates"]]
    return Sighting(seconds, Box(**plate["box"]), candidates, plate["lines"])


def _passage(track: Track, started: datetime | None) -> Passage:
    verdict = track.vote.verdict()
    first, last = track.first.seconds, track.last.seconds
    return Passage(
        first_seconds=first,
        last_seconds=last,
        first_time=started and started + timedelta(seconds=first),
        last_time=started and started + timedelta(seconds=last),
        frames=track.frames,
        text=verdict.text,
        score=verdict.score,
        lines=track.best.lines,
        box=track.best.box,
        picture=track.picture,
    )


def _cut(image: Image, box: Box) -> Image:
    height, width = image.shape[:2]
    margin = _PICTURE_MARGIN * (box.x_max - box.x_min)
    left, right = max(int(box.x_min - margin), 0), min(int(box.x_max + margin) + 1, width)
    top, bottom = max(int(box.y_min - margin), 0), min(int(box.y_max + margin) + 1, height)
    return image[top:bottom, left:right]
