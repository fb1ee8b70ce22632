"""`plate-gateway recognize` on films and cameras, on a gateway that sees the same plate in every frame."""

import asyncio
import csv
import json
import signal
from pathlib import Path

import cv2
import numpy as np
import pytest

from gateway.fake import FakeRecognizer
from gateway.video.outputs import CSV_COLUMNS
from tests.gateway.command import Command, handled, run, until, written
from tests.video.camera import Camera

FPS, FRAMES = 5, 10
GREY = np.full((48, 80, 3), 120, np.uint8)


@pytest.fixture
def film(tmp_path: Path) -> Path:
    path = tmp_path / "film.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), FPS, (80, 48))
    for _ in range(FRAMES):
        writer.write(GREY)
    writer.release()
    return path


async def test_a_film_is_a_table_of_passages(url: str, film: Path) -> None:
    result = await run(url, film)
    head, row = result.out.splitlines()
    assert head.split() == ["first", "last", "frames", "plate", "score", "format", "region", "video"]
    assert row.split() == ["0:00.0", "0:01.8", "10", "В840ОК197", "0.971", "civil", "197", "Moscow", str(film)]
    assert (result.status, result.said) == (0, "passages: 1.\n")


async def test_passages_become_files_with_their_pictures(url: str, film: Path, tmp_path: Path) -> None:
    output, crops = tmp_path / "out.csv", tmp_path / "crops"
    assert (await run(url, film, "-o", output, "--crops", crops, "--fps", "2.5")).status == 0
    with output.open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert tuple(row) == CSV_COLUMNS
    assert (row["text"], row["frames"], row["region"]) == ("B840OK197", "5", "197")
    assert row["crop"] == str(crops / "film-000000.000-B840OK197.jpg")
    picture = cv2.imread(row["crop"])
    assert picture is not None
    assert picture.shape[1] == pytest.approx(30 * 1.3, abs=2)
    again = await run(url, film, "-o", output)
    assert again.status == 2
    assert "--restart" in again.said


async def test_a_film_that_is_broken_does_not_keep_the_next_one_back(url: str, film: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no video")
    result = await run(url, broken, film, "-f", "jsonl")
    assert result.status == 1
    assert [line["source"] for line in result.lines] == [str(film)]
    assert result.said.splitlines()[-1] == "passages: 1, failed: 1."


async def test_a_camera_is_ended_by_an_interrupt_and_its_passages_are_told(
    url: str, tmp_path: Path, fake: FakeRecognizer
) -> None:
    output = tmp_path / "out.jsonl"
    output.write_text('{"source": "an earlier run"}\n')
    async with Camera([GREY]) as camera:
        command = await Command.start(camera.url, "-o", output, url=url)
        await until(lambda: fake.received > 5)
        command.process.send_signal(signal.SIGINT)
        result = await command.result()
    assert (result.status, result.said.splitlines()[-1]) == (0, "passages: 1.")
    _, line = written(output)
    assert line["text"] == "B840OK197"
    assert line["first_time"] < line["last_time"]
    assert "secret" not in result.said + json.dumps(line)


async def test_a_camera_that_shows_nothing_any_more_can_be_left(url: str, fake: FakeRecognizer) -> None:
    async with Camera([GREY]) as camera:
        command = await Command.start(camera.url, url=url)
        await until(lambda: fake.received > 5)
    # The camera is gone: the command tries to reach it.
    assert command.process.stderr is not None
    said = await asyncio.wait_for(command.process.stderr.readline(), 30)
    assert b"connecting again" in said
    command.process.send_signal(signal.SIGINT)
    assert (await command.result()).status == 0


async def test_a_film_that_is_interrupted_tells_what_was_seen(url: str, film: Path, fake: FakeRecognizer) -> None:
    fake.gate.clear()
    command = await Command.start(film, "-f", "jsonl", "--jobs", "2", "--min-frames", "1", url=url)
    await asyncio.wait_for(fake.entered.wait(), 30)
    command.process.send_signal(signal.SIGTERM)
    await until(lambda: handled(command.process.pid, signal.SIGTERM))
    fake.gate.set()
    result = await command.result()
    assert result.status == 128 + signal.SIGTERM
    assert result.lines[0]["frames"] < FRAMES
