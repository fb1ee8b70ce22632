"""Frames of files and of a camera."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from gateway.video.frames import Frame, Frames, Source, VideoError
from plates.geometry import Image
from tests.video.camera import Camera

FPS, FRAMES = 25, 50


def picture(value: int) -> Image:
    return np.full((48, 64, 3), value, np.uint8)


@pytest.fixture(scope="session")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds that become brighter, five grey levels a frame."""
    path = tmp_path_factory.mktemp("film") / "film.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), FPS, (64, 48))
    for index in range(FRAMES):
        writer.write(picture(5 * index))
    writer.release()
    return path


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - a thread is waited for
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("url", "video", "live"),
    [
        ("film.mp4", True, False),
        ("/a/FILM.MKV", True, False),
        ("photo.jpg", False, False),
        ("folder", False, False),
        ("rtsp://camera/stream", True, True),
        ("http://camera/mjpg?fps=5", True, True),
        ("https://archive.example/film.mp4", True, False),
    ],
)
def test_what_a_source_is_shows_in_its_name(url: str, video: bool, live: bool) -> None:
    source = Source(url)
    assert (source.is_video, source.is_live) == (video, live)


def test_a_cameras_password_is_not_told() -> None:
    source = Source("rtsp://user:sec@ret@camera.example:554/gate?channel=1")
    assert source.name == "rtsp://camera.example:554/gate?channel=1"
    assert source.stem == "camera.example"


async def test_frames_are_sampled_by_the_videos_time(film: Path) -> None:
    async with Frames(Source(str(film)), 5) as frames:
        assert frames.duration == pytest.approx(FRAMES / FPS)
        taken = [(frame.seconds, float(frame.image.mean())) async for frame in frames]
    assert [seconds for seconds, _ in taken] == pytest.approx([index / 5 for index in range(10)], abs=1e-3)
    assert [grey for _, grey in taken] == pytest.approx([25 * index for index in range(10)], abs=3)


async def test_more_frames_than_there_are_are_not_made_up(film: Path) -> None:
    async with Frames(Source(str(film)), 1000) as frames:
        assert len([frame async for frame in frames]) == FRAMES


async def test_a_file_waits_for_who_takes_its_frames(film: Path) -> None:
    async with Frames(Source(str(film)), FPS) as frames:
        await until(frames._queue.full)
        await asyncio.sleep(0.05)
        assert len([frame async for frame in frames]) == FRAMES
        assert frames.dropped == 0


async def test_a_file_may_be_left_in_the_middle(film: Path) -> None:
    async with Frames(Source(str(film)), FPS) as frames:
        await anext(frames)
    assert not frames._thread.is_alive()


async def test_a_stop_ends_the_iteration(film: Path) -> None:
    async with Frames(Source(str(film)), FPS) as frames:
        await anext(frames)
        frames.stop()
        assert len([frame async for frame in frames]) < FRAMES - 1


@pytest.mark.parametrize("content", [None, b"", b"no video at all"])
async def test_what_is_no_video_is_told(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "film.mp4"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(VideoError, match=r"film\.mp4 can't be opened"):
        async with Frames(Source(str(path)), 5):
            pass


async def test_a_camera_is_seen_as_it_is() -> None:
    async with Camera([picture(200)]) as camera, Frames(Source(camera.url), 1000) as frames:
        frame = await asyncio.wait_for(anext(frames), 30)
        assert frame.image.shape == (48, 64, 3)
        assert frame.image.mean() == pytest.approx(200, abs=3)
        assert frames.started is not None


async def test_of_a_camera_the_newest_frames_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = [picture(value) for value in range(0, 250, 10)]
    decoded: list[Frame] = []
    hand_over = Frames._hand_over

    def watched(frames: Frames, frame: Frame) -> None:
        decoded.append(frame)
        hand_over(frames, frame)

    monkeypatch.setattr(Frames, "_hand_over", watched)
    async with Camera(pictures, fps=100) as camera, Frames(Source(camera.url), 1000) as frames:
        await until(lambda: frames.dropped >= 5)
        assert frames._queue.full()
        oldest = await anext(frames)
        assert not any(frame is oldest for frame in decoded[:5])


async def test_a_camera_that_is_lost_is_connected_again(caplog: pytest.LogCaptureFixture) -> None:
    async with Camera([picture(100)]) as camera, Frames(Source(camera.url), 1000) as frames:
        before = await asyncio.wait_for(anext(frames), 30)
        camera.hang_up()
        await until(lambda: camera.connections == 2)
        async with asyncio.timeout(30):
            after = await anext(frames)
            while after.seconds < before.seconds + 0.3:
                after = await anext(frames)
    assert "is lost: connecting again" in caplog.text
    assert "secret" not in caplog.text


async def test_a_camera_that_is_not_there_is_told_without_its_password() -> None:
    async with Camera([picture(0)]) as camera:
        url = camera.url
    with pytest.raises(VideoError, match="127") as caught:
        async with Frames(Source(url), 5):
            pass
    assert "secret" not in str(caught.value)
