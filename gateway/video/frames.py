"""Frames of a video file or a camera's stream, decoded by OpenCV's FFmpeg in a thread of their own.

A file waits for whoever takes its frames; a camera doesn't, so that of its frames the oldest are dropped.
"""

import asyncio
import logging
import math
import os
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import cv2
import numpy as np

from gateway.images import Image

logger = logging.getLogger(__name__)

SUFFIXES: Final = frozenset(
    {".3gp", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".ts", ".webm", ".wmv"}
)
"""What a file has to end in to be taken for a video."""

_WEB: Final = frozenset({"http", "https"})
_LIVE: Final = frozenset({"rtsp", "rtsps", "rtmp", "srt", "udp", "tcp"})

_QUEUE: Final = 4
_OPEN_MILLISECONDS: Final = 10_000
_READ_MILLISECONDS: Final = 10_000
"""A stream that is silent for so long is lost."""
_ROUNDING_SECONDS: Final = 1e-3
"""Containers round the times of their frames."""
_BACK_OFF_SECONDS: Final = (0.5, 15.0)


_FFMPEG: Final = {
    # Its messages are for those who work on FFmpeg, and hold the passwords of cameras.
    "OPENCV_FFMPEG_LOGLEVEL": "-8",
    # Over UDP frames arrive with holes in them.
    "OPENCV_FFMPEG_CAPTURE_OPTIONS": "rtsp_transport;tcp",
}
"""What OpenCV's FFmpeg is told by the environment, where the user doesn't tell it something else."""


def configure_ffmpeg() -> None:
    """Set this process's environment for OpenCV's FFmpeg, which reads it when the first video is opened."""
    for name, value in _FFMPEG.items():
        os.environ.setdefault(name, value)


class VideoError(Exception):
    """The video can't be read; the message says why, and names it without its password."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One frame."""

    seconds: float
    """Since the beginning of the file, or since the stream was opened."""
    image: Image
    """(h, w, 3), BGR."""


@dataclass(frozen=True, slots=True)
class Source:
    """A video file, or a stream that goes on while it is looked at."""

    url: str

    @property
    def is_video(self) -> bool:
        """Whether it is a video at all, by its scheme or its suffix."""
        return self.is_live or self._suffix in SUFFIXES

    @property
    def is_live(self) -> bool:
        """Whether it comes from a camera: whatever isn't taken in time is gone."""
        scheme = urlsplit(self.url).scheme if "://" in self.url else ""
        return scheme in _LIVE or (scheme in _WEB and self._suffix not in SUFFIXES)

    @property
    def name(self) -> str:
        """The path or URL, without the user and the password of a camera."""
        if "://" not in self.url:
            return self.url
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    @property
    def stem(self) -> str:
        """A word for the names of files: the video's, or the camera's host."""
        if self.is_live:
            return (urlsplit(self.url).hostname or "stream").replace(":", "_")
        return PurePosixPath(urlsplit(self.url).path if "://" in self.url else self.url).stem

    @property
    def _suffix(self) -> str:
        path = urlsplit(self.url).path if "://" in self.url else self.url
        return PurePosixPath(path).suffix.lower()


class Frames:
    """The frames of a source, so many a second; an async context manager and an async iterator.

    A stream that is lost is opened again, as often as it takes.

    Args:
        source: the file or stream.
        fps: frames per second of the video's time, at most.

    Attributes:
        duration: seconds that a file lasts, 0 where it doesn't say so.
        started: when a stream was opened (UTC); None for a file.
        dropped: frames of a stream that nobody took in time.

    Raises:
        VideoError: on entering; it can't be opened.
    """

    def __init__(self, source: Source, fps: float) -> None:
        self._source = source
        self._interval = 1 / fps
        self._queue: asyncio.Queue[Frame | None] = asyncio.Queue(_QUEUE)
        self._ended = threading.Event()
        self.duration = 0.0
        self.started: datetime | None = None
        self.dropped = 0

    async def __aenter__(self) -> Self:
        capture = await asyncio.to_thread(self._open)
        if capture is None:
            raise VideoError(
                f"{self._source.name} can't be opened: it is no video, is broken, or its camera doesn't answer."
            )
        if self._source.is_live:
            self.started = datetime.now(UTC)
        else:
            self.duration = _duration(capture)
        self._begin = time.monotonic()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, args=(capture,), name="video", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        # Room for the frame that the thread may be waiting with.
        while not self._queue.empty():
            self._queue.get_nowait()
        await asyncio.to_thread(self._thread.join)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Frame:
        frame = await self._queue.get()
        if frame is None:
            raise StopAsyncIteration
        return frame

    def stop(self) -> None:
        """Let no further frame come; those that wait are still given."""
        self._ended.set()
        self._close_queue()

    def _run(self, capture: cv2.VideoCapture) -> None:
        try:
            self._pump(capture)
            while self._source.is_live and not self._ended.is_set():
                self._pump(self._reopen())
        except _EndedError:
            pass
        finally:
            self._loop.call_soon_threadsafe(self._close_queue)

    def _pump(self, capture: cv2.VideoCapture) -> None:
        """Hand frames over until the video ends or the stream is lost."""
        due = 0.0
        clock = _Clock(capture)
        try:
            while not self._ended.is_set() and capture.grab():
                seconds = time.monotonic() - self._begin if self._source.is_live else clock.seconds()
                if seconds < due - _ROUNDING_SECONDS:
                    continue
                due = (math.floor((seconds + _ROUNDING_SECONDS) / self._interval) + 1) * self._interval
                decoded, image = capture.retrieve()
                if decoded:
                    self._hand_over(Frame(seconds, np.asarray(image, np.uint8)))
        finally:
            capture.release()

    def _hand_over(self, frame: Frame) -> None:
        if self._source.is_live:
            self._loop.call_soon_threadsafe(self._offer, frame)
        else:
            asyncio.run_coroutine_threadsafe(self._put(frame), self._loop).result()

    def _offer(self, frame: Frame) -> None:
        if self._ended.is_set():
            return
        if self._queue.full():
            self._queue.get_nowait()
            self.dropped += 1
        self._queue.put_nowait(frame)

    async def _put(self, frame: Frame) -> None:
        if not self._ended.is_set():
            await self._queue.put(frame)

    def _close_queue(self) -> None:
        """Make the iteration end behind the frames that wait."""
        if self._queue.full():
            self._queue.get_nowait()
        self._queue.put_nowait(None)

    def _open(self) -> cv2.VideoCapture | None:
        limits = [
            cv2.CAP_PROP_OPEN_TIMEOUT_MSEC,
            _OPEN_MILLISECONDS,
            cv2.CAP_PROP_READ_TIMEOUT_MSEC,
            _READ_MILLISECONDS,
        ]
        capture = cv2.VideoCapture(self._source.url, cv2.CAP_FFMPEG, limits)
        return capture if capture.isOpened() else None

    def _reopen(self) -> cv2.VideoCapture:
        logger.warning("%s is lost: connecting again", self._source.name)
        delay, longest = _BACK_OFF_SECONDS
        while not self._ended.wait(delay):
            if (capture := self._open()) is not None:
                logger.warning("%s is back", self._source.name)
                return capture
            delay = min(2 * delay, longest)
        raise _EndedError


class _EndedError(Exception):
    """Nobody wants frames any more."""


class _Clock:
    """The time of the frame that was grabbed last: the container's, or counted where that one stands still."""

    def __init__(self, capture: cv2.VideoCapture) -> None:
        self._capture = capture
        self._interval = 1 / (capture.get(cv2.CAP_PROP_FPS) or 25)
        self._last = -self._interval

    def seconds(self) -> float:
        told = self._capture.get(cv2.CAP_PROP_POS_MSEC) / 1000
        self._last = told if told > self._last else self._last + self._interval
        return self._last


def _duration(capture: cv2.VideoCapture) -> float:
    frames, fps = capture.get(cv2.CAP_PROP_FRAME_COUNT), capture.get(cv2.CAP_PROP_FPS)
    return max(frames / fps, 0.0) if fps > 0 else 0.0
