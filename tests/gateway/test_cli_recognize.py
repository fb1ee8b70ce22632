"""`plate-gateway recognize`, as its user meets it, on a gateway whose recognizer is a stand-in."""

import asyncio
import contextlib
import csv
import hashlib
import os
import re
import signal
import socket
from collections.abc import Sequence
from pathlib import Path

import cv2
import pytest

from gateway.client.outputs import CSV_COLUMNS
from gateway.errors import Unauthorized
from gateway.fake import FakeRecognizer
from gateway.settings import Settings
from tests.gateway.command import Command, handled, run, until, written
from tests.gateway.support import serving

PHOTOS = 12
KEY = "a key"


@pytest.fixture
def folder(tmp_path: Path, jpeg: bytes) -> Path:
    """A folder with photos, in two levels."""
    for number in range(PHOTOS):
        path = tmp_path / "photos" / str(number % 2) / f"{number:02}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg)
    return tmp_path / "photos"


def photos(folder: Path) -> list[str]:
    """The photos of a folder, in the order in which they are found."""
    return sorted(map(str, folder.rglob("*.jpg")))


async def test_a_folder_becomes_a_table(url: str, folder: Path) -> None:
    result = await run(url, folder)
    assert result.status == 0
    head, *rows = result.out.splitlines()
    assert head.split() == ["plate", "score", "format", "region", "photo"]
    assert len(rows) == PHOTOS
    assert rows[0].split() == ["В840ОК197", "0.971", "civil", "197", "Moscow", str(folder / "0" / "00.jpg")]
    assert result.said == f"photos: {PHOTOS}, plates: {PHOTOS}.\n"


async def test_json_lines_are_the_gateways_answers(url: str, folder: Path) -> None:
    result = await run(url, folder, "--format", "jsonl", "--candidates", "2")
    assert [line["path"] for line in result.lines] == photos(folder)
    plate = result.lines[0]["plates"][0]
    assert (plate["text"], len(plate["candidates"])) == ("B840OK197", 2)
    assert result.lines[0]["image"] == {"width": 80, "height": 48}


async def test_csv_has_a_row_for_each_plate_and_each_failure(url: str, folder: Path, tmp_path: Path) -> None:
    (folder / "broken.jpg").write_bytes(b"no image")
    output = tmp_path / "out.csv"
    result = await run(url, folder, "--output", output)
    assert result.status == 1
    with output.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == CSV_COLUMNS
    assert len(rows) == PHOTOS + 1
    assert rows[0]["text_cyrillic"] == "В840ОК197"
    assert float(rows[0]["x_max"]) == 40.6
    (broken,) = (row for row in rows if row["error"])
    assert broken["path"].endswith("broken.jpg")
    assert broken["text"] == ""


async def test_csv_that_is_half_done_is_gone_on_with(url: str, folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    assert (await run(url, folder / "0", "-o", output)).status == 0
    result = await run(url, folder, "-o", output)
    half = PHOTOS // 2
    assert (result.status, result.said) == (0, f"photos: {half}, plates: {half}, done before: {half}.\n")
    with output.open(encoding="utf-8", newline="") as file:
        assert [row["path"] for row in csv.DictReader(file)] == photos(folder)


async def test_a_folder_without_photos_is_told(url: str, tmp_path: Path) -> None:
    (tmp_path / "film.gif").touch()
    result = await run(url, tmp_path)
    assert result.status == 0
    assert f"No photos in {tmp_path}: folders are searched for .bmp" in result.said


async def test_a_photo_comes_from_the_standard_input(url: str, jpeg: bytes) -> None:
    result = await run(url, "-", "-f", "jsonl", stdin=jpeg)
    assert result.status == 0
    (line,) = result.lines
    assert (line["path"], line["plates"][0]["text"]) == ("-", "B840OK197")


async def test_broken_photos_are_told_and_the_good_ones_done(url: str, folder: Path, tmp_path: Path) -> None:
    (folder / "text.png").write_text("no image")
    (folder / "empty.jpg").touch()
    output = tmp_path / "out.jsonl"
    result = await run(url, folder, folder / "missing.jpg", "-o", output)
    assert result.status == 1
    assert result.said.splitlines()[-1] == f"photos: {PHOTOS + 3}, plates: {PHOTOS}, failed: 3."
    errors = {Path(line["path"]).name: line["error"]["status"] for line in written(output) if "error" in line}
    assert errors == {"text.png": 415, "empty.jpg": 400, "missing.jpg": 0}
    assert all(name in result.said for name in errors)


async def test_the_same_command_again_does_what_is_missing(
    url: str, folder: Path, tmp_path: Path, fake: FakeRecognizer, jpeg: bytes
) -> None:
    output = tmp_path / "out.jsonl"
    bad = folder / "bad.jpg"
    bad.write_bytes(b"no image")
    assert (await run(url, folder, "-o", output)).status == 1
    assert fake.received == PHOTOS
    bad.write_bytes(jpeg)
    (folder / "new.jpg").write_bytes(jpeg)
    result = await run(url, folder, "-o", output)
    assert result.status == 0
    assert result.said == f"photos: 2, plates: 2, done before: {PHOTOS}.\n"
    assert fake.received == PHOTOS + 2
    assert {line["path"] for line in written(output) if "plates" in line} == set(photos(folder))
    assert (await run(url, folder, "-o", output, "--restart")).status == 0
    assert len(written(output)) == PHOTOS + 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupt_leaves_whole_lines_and_the_next_run_goes_on(
    url: str, folder: Path, tmp_path: Path, fake: FakeRecognizer, number: signal.Signals
) -> None:
    output = tmp_path / "out.jsonl"
    fake.gate.clear()
    command = await Command.start(folder, "-o", output, "--jobs", "2", url=url)
    await asyncio.wait_for(fake.entered.wait(), 30)
    command.process.send_signal(number)
    # What is under way has to be answered after the signal: the gate opens when the command knows of it.
    await until(lambda: handled(command.process.pid, number))
    fake.gate.set()
    result = await command.result()
    assert result.status == 128 + number
    assert "The same command goes on from here." in result.said
    done = [line["path"] for line in written(output)]
    assert 0 < len(done) < PHOTOS
    result = await run(url, folder, "-o", output)
    assert result.status == 0
    assert f"done before: {len(done)}" in result.said
    assert sorted(line["path"] for line in written(output)) == photos(folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupt_before_the_gateway_is_ready_ends_the_command_at_once(
    url: str, folder: Path, fake: FakeRecognizer, number: signal.Signals
) -> None:
    fake.ready = False
    command = await Command.start(folder, url=url)
    assert command.process.stderr is not None
    said = await command.process.stderr.readuntil(b"isn't ready")
    command.process.send_signal(number)
    result = await command.result()
    assert result.status == 128 + number
    assert "Traceback" not in said.decode() + result.said
    assert fake.received == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_second_interrupt_does_not_wait_for_answers(
    url: str, folder: Path, tmp_path: Path, fake: FakeRecognizer, number: signal.Signals
) -> None:
    fake.gate.clear()
    command = await Command.start(folder, "-o", tmp_path / "out.jsonl", url=url)
    await asyncio.wait_for(fake.entered.wait(), 30)
    for _ in range(2):
        command.process.send_signal(number)
        await until(lambda: command.process.returncode is not None or handled(command.process.pid, number))
    result = await command.result()
    assert result.status == 128 + number
    assert "Traceback" not in result.said
    assert written(tmp_path / "out.jsonl") == []


async def test_annotated_copies_lie_in_the_same_tree(url: str, folder: Path, tmp_path: Path, jpeg: bytes) -> None:
    copies = tmp_path / "copies"
    (folder / "one.png").write_bytes(cv2.imencode(".png", cv2.imread(str(folder / "0" / "00.jpg")))[1].tobytes())
    assert (await run(url, folder, "--annotate", copies)).status == 0
    expected = [path.replace(str(folder), str(copies)) for path in photos(folder)]
    assert photos(copies) == [*expected, str(copies / "one.png.jpg")]
    original, copy = (cv2.imread(str(path / "0" / "00.jpg")) for path in (folder, copies))
    assert original is not None
    assert copy is not None
    assert copy.shape == original.shape
    assert (cv2.absdiff(original, copy) > 60).any()


async def test_a_key_is_sent(folder: Path, fake: FakeRecognizer) -> None:
    settings = Settings(api_keys=(f"camera:{hashlib.sha256(KEY.encode()).hexdigest()}",))
    async with serving(settings, fake) as address:
        refused = await run(address, folder)
        assert refused.status == 1
        assert "PLATE_GATEWAY_API_KEY, or from --api-key" in refused.said
        assert (await run(address, folder, "--api-key", KEY)).status == 0


async def test_a_rate_limit_slows_it_and_fails_nothing(folder: Path, fake: FakeRecognizer) -> None:
    async with serving(Settings(rate_limit="6/second"), fake) as address:
        result = await run(address, folder)
        assert (result.status, fake.received) == (0, PHOTOS)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["photo.jpg", "video.mp4"], "two commands"),
        (["photo.jpg", "--jobs", "0"], "jobs"),
        (["photo.jpg", "--format", "xml"], "format"),
        ([], "sources"),
    ],
)
async def test_misuse_is_told_with_status_2(arguments: Sequence[str], word: str) -> None:
    result = await run("http://127.0.0.1:9", *arguments)
    assert result.status == 2
    assert word in result.said.lower()


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl"])
async def test_an_output_that_exists_is_not_overwritten(url: str, tmp_path: Path, name: str) -> None:
    output = tmp_path / name
    output.write_text("somebody else's\n")
    result = await run(url, tmp_path, "-o", output)
    assert result.status == 2
    assert len(result.said.splitlines()) == 1
    assert output.read_text() == "somebody else's\n"


async def test_a_gateway_that_is_not_there_is_one_sentence(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    result = await run(address, folder)
    assert (result.status, result.out) == (1, "")
    assert result.said == (
        f"No gateway answers at {address}: start one with `plate-gateway serve`, or leave --url out.\n"
    )


async def test_a_gateway_that_still_starts_is_waited_for(url: str, folder: Path, fake: FakeRecognizer) -> None:
    fake.ready = False
    command = await Command.start(folder, url=url)
    assert command.process.stderr is not None
    said = await asyncio.wait_for(command.process.stderr.readline(), 30)
    assert b"isn't ready" in said
    fake.ready = True
    assert (await command.result()).status == 0


async def test_a_reader_that_has_seen_enough_ends_it_quietly(url: str, folder: Path) -> None:
    command = await Command.start(folder, "-f", "jsonl", url=url)
    transport = command.process._transport.get_pipe_transport(1)  # type: ignore[attr-defined]
    transport.close()
    result = await command.result()
    assert result.status == 128 + signal.SIGPIPE
    assert "Traceback" not in result.said
    assert "Exception" not in result.said


async def test_a_name_that_is_no_text_is_no_obstacle(url: str, tmp_path: Path, jpeg: bytes) -> None:
    name = os.fsdecode(b"\xd0\x90\xff\x1b[31m.jpg")
    (tmp_path / name).write_bytes(jpeg)
    table = await run(url, tmp_path)
    assert (table.status, "Traceback" in table.said, "\x1b" in table.out) == (0, False, False)
    lines = await run(url, tmp_path, "-f", "jsonl")
    assert (lines.status, lines.lines[0]["path"]) == (0, str(tmp_path / name))


async def test_a_terminal_shows_a_bar_and_a_pipe_gets_the_answers_alone(url: str, folder: Path) -> None:
    terminal, other_end = os.openpty()
    command = await Command.start(folder, "-f", "jsonl", url=url, stderr=other_end)
    os.close(other_end)
    showing = asyncio.create_task(asyncio.to_thread(read_terminal, terminal))
    result, shown = await command.result(), await showing
    assert result.status == 0
    assert len(result.lines) == PHOTOS
    assert re.search(r"\d+/(\d+|\?).* photos", shown)
    assert f"photos: {PHOTOS}, plates: {PHOTOS}." in shown


def read_terminal(terminal: int) -> str:
    """Everything that is written to a terminal until nobody has it open; then it is closed."""
    shown = b""
    # Linux says with an error (EIO) that the other end is closed.
    with contextlib.suppress(OSError):
        while data := os.read(terminal, 2**16):
            shown += data
    os.close(terminal)
    return shown.decode()


async def test_a_gateway_that_goes_away_for_good_is_told_with_what_is_done(
    url: str, folder: Path, tmp_path: Path, fake: FakeRecognizer
) -> None:
    fake.error = Unauthorized("The key was withdrawn.")
    result = await run(url, folder, "-o", tmp_path / "out.jsonl")
    assert result.status == 1
    assert result.said.splitlines() == [
        "Ended early: photos: 0, plates: 0. The same command goes on from here.",
        "The key was withdrawn. This command takes it from PLATE_GATEWAY_API_KEY, or from --api-key.",
    ]
