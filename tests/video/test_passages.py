"""From frames to passages, with a gateway that sees what the test wants."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import cv2
import httpx
import numpy as np
import pytest

from gateway.client.errors import GatewayUnusable
from gateway.client.http import GatewayClient
from gateway.recognizer import Box
from gateway.video.frames import Frames, Source
from gateway.video.passages import Passage, Progress, follow

FPS = 5
STEP = 10
"""Grey levels from one frame to the next: the gateway tells frames apart by them."""

See = Callable[[int], list[dict[str, Any]]]
"""What is seen in a frame of that number."""


def plate(x: float, text: str = "B840OK197", score: float = 0.9) -> dict[str, Any]:
    box = {"x_min": x, "y_min": 40.0, "x_max": x + 60, "y_max": 54.0}
    candidates = [{"text": text, "score": score}] if text else []
    return {"box": box, "text": text, "score": score, "candidates": candidates, "lines": 1}


def film(path: Path, count: int) -> Path:
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), FPS, (320, 96))
    for index in range(count):
        writer.write(np.full((96, 320, 3), STEP * index, np.uint8))
    writer.release()
    return path


def gateway(see: See, refuse: int | None = None, away: int | None = None) -> httpx.MockTransport:
    def answer(request: httpx.Request) -> httpx.Response:
        image = cv2.imdecode(np.frombuffer(request.content, np.uint8), cv2.IMREAD_COLOR)
        assert image is not None
        number = round(float(image.mean()) / STEP)
        if number == refuse:
            return httpx.Response(413, json={"detail": "Too large."})
        if number == away:
            return httpx.Response(401, json={"detail": "A key is needed."})
        return httpx.Response(200, json={"plates": see(number)})

    return httpx.MockTransport(answer)


async def steps(video: Path, transport: httpx.MockTransport, **options: Any) -> list[Progress]:
    given: dict[str, Any] = {"window": 4, "stop": asyncio.Event(), "least_frames": 2, "pictures": False} | options
    async with (
        httpx.AsyncClient(transport=transport, base_url="http://gateway") as http,
        Frames(Source(str(video)), FPS) as frames,
    ):
        return [step async for step in follow(GatewayClient(http, 4), frames, **given)]


def passages(progress: list[Progress]) -> list[Passage]:
    return [passage for step in progress for passage in step.passages]


async def test_a_plate_that_comes_by_is_one_passage(tmp_path: Path) -> None:
    video = film(tmp_path / "film.avi", 20)
    progress = await steps(video, gateway(lambda number: [plate(20.0 * number)] if 3 <= number < 9 else []))
    (passage,) = passages(progress)
    assert (passage.text, passage.frames, passage.first_time) == ("B840OK197", 6, None)
    assert passage.first_seconds == pytest.approx(0.6, abs=0.01)
    assert passage.last_seconds == pytest.approx(1.6, abs=0.01)
    # It is told as soon as it can't come back, not at the end of the video.
    (told,) = (step for step in progress if step.passages)
    assert told.seconds == pytest.approx(3.2, abs=0.01)
    assert len(progress) == 20 + 1


async def test_what_is_in_sight_at_the_end_is_told_then(tmp_path: Path) -> None:
    progress = await steps(film(tmp_path / "film.avi", 5), gateway(lambda _: [plate(100)]))
    assert [len(step.passages) for step in progress] == [0, 0, 0, 0, 0, 1]
    assert sum(step.frames for step in progress) == 5


async def test_the_text_is_what_the_frames_agree_on(tmp_path: Path) -> None:
    texts = ["X840OK197", "B840OK797", "B84OOK197", "B840OK197", "8840OK197"]
    progress = await steps(film(tmp_path / "film.avi", 5), gateway(lambda number: [plate(100, texts[number], 0.6)]))
    (passage,) = passages(progress)
    assert passage.text == "B840OK197"
    assert 0 < passage.score < 0.6


async def test_a_plate_of_a_single_frame_is_taken_for_a_mistake(tmp_path: Path) -> None:
    video = film(tmp_path / "film.avi", 5)
    see = gateway(lambda number: [plate(100)] if number == 2 else [])
    assert passages(await steps(video, see)) == []
    assert len(passages(await steps(video, see, least_frames=1))) == 1


async def test_its_picture_is_the_best_view_of_it(tmp_path: Path) -> None:
    scores = [0.5, 0.6, 0.95, 0.7]
    see = gateway(lambda number: [plate(100, score=scores[number])])
    (passage,) = passages(await steps(film(tmp_path / "film.avi", 4), see, pictures=True))
    picture = cv2.imdecode(np.frombuffer(passage.picture, np.uint8), cv2.IMREAD_COLOR)
    assert picture is not None
    assert picture.mean() == pytest.approx(2 * STEP, abs=3)
    # The box with its margin of 9 pixels.
    assert picture.shape == (33, 79, 3)


async def test_a_refused_frame_is_passed_over_and_told(tmp_path: Path) -> None:
    progress = await steps(film(tmp_path / "film.avi", 6), gateway(lambda _: [plate(100)], refuse=2))
    assert [str(step.refused) for step in progress if step.refused] == ["Too large."]
    (passage,) = passages(progress)
    assert passage.frames == 5


async def test_a_gateway_that_answers_no_more_ends_it(tmp_path: Path) -> None:
    with pytest.raises(GatewayUnusable, match="key"):
        await steps(film(tmp_path / "film.avi", 6), gateway(lambda _: [], away=3))


async def test_a_stop_tells_what_was_in_sight(tmp_path: Path) -> None:
    stop = asyncio.Event()

    def see(number: int) -> list[dict[str, Any]]:
        if number == 3:
            stop.set()
        return [plate(100)]

    progress = await steps(film(tmp_path / "film.avi", 20), gateway(see), stop=stop)
    (passage,) = passages(progress)
    assert 3 < passage.frames < 12


def test_an_entry_says_what_and_when() -> None:
    time = datetime(2024, 5, 1, 12, 0, 3, 250_000, tzinfo=UTC)
    passage = Passage(1.25, 2.0, time, time, 4, "B840OK197", 0.98765, 1, Box(1, 2, 3, 4), b"")
    entry = passage.entry("rtsp://camera/gate")
    assert json.loads(json.dumps(entry)) == {
        "source": "rtsp://camera/gate",
        "first_seconds": 1.25,
        "last_seconds": 2.0,
        "first_time": "2024-05-01T12:00:03.250+00:00",
        "last_time": "2024-05-01T12:00:03.250+00:00",
        "frames": 4,
        "text": "B840OK197",
        "text_cyrillic": "В840ОК197",
        "score": 0.9877,
        "format": "civil",
        "region": {"code": "197", "name": "Moscow", "name_ru": "Москва"},
        "box": {"x_min": 1, "y_min": 2, "x_max": 3, "y_max": 4},
    }
