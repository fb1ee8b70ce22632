import io
import json
import subprocess
import sys
import venv
from dataclasses import asdict
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.peers import __main__ as peers
from benchmarks.peers import environments
from benchmarks.peers.environments import Peer, UnavailableError
from benchmarks.peers.ocr_text import as_plate, clean
from benchmarks.peers.protocol import Answer, Plates, Run
from nets.held_out import Photo
from nets.metrics import Label

LEFT = (10.0, 10.0, 110.0, 30.0)
RIGHT = (210.0, 10.0, 310.0, 30.0)


@pytest.mark.parametrize(
    ("text", "plate"),
    [
        ("A123BC77", "A123BC77"),
        ("а 123 вс | 777 RUS", "A123BC777"),
        ("A123BC77RUS", "A123BC77"),
        ("AO23BC77", "A023BC77"),
        ("8123BC77", "B123BC77"),
        ("A123B077", "A123BO77"),
        ("xx A123BC77", "A123BC77"),
        ("A123BC7", None),
        ("TAXI 495", None),
        ("", None),
    ],
)
def test_a_plate_is_taken_out_of_what_an_engine_read(text: str, plate: str | None) -> None:
    assert as_plate(text) == plate


def test_cleaning_leaves_latin_capitals_and_digits() -> None:
    assert clean("«м 001-мм» 99 rus") == "M001MM99"


def photo(*labels: Label) -> Photo:
    return Photo(Path("photo.jpg"), labels, complete=False)


def run(*plates: Plates) -> Run:
    return Run([Answer(row, 0.2, 0.1) for row in plates], 50 * 2**20)


def test_plates_are_counted_as_found_by_their_box_and_as_read_by_the_photos_texts() -> None:
    photos = [
        photo(Label(LEFT, "A123BC77"), Label(RIGHT, "M001MM99")),
        photo(Label(LEFT, "A123BC77")),
        photo(Label(LEFT, None)),
    ]
    # The text of the right plate comes with a box that is too small to have found it.
    answers = run([(LEFT, "A128BC77"), ((210.0, 10.0, 240.0, 30.0), "M001MM99")], [], [(LEFT, "X999XX99")])
    counted = peers.score(photos, answers)
    assert (counted.plates, counted.found, counted.exact, counted.wrong) == (3, 1, 1, 1)
    assert (counted.characters, counted.edits) == (24, 1 + 8)


def test_a_row_compares_processor_time_with_ours() -> None:
    slow = Run([Answer([], 0.9, 0.3)], 2**20)
    counted = peers.score([photo(Label(LEFT, "A123BC77"))], slow)
    assert peers.row("peer", counted, slow, run([]))[5:] == ("900", "300", "3.0", "1")


def test_a_peer_that_fails_is_named_and_the_others_are_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def read(self: Peer, photos: Path, output: Path) -> None:
        assert json.loads(photos.read_text()) == ["photo.jpg"]
        if self.name == "broken":
            raise UnavailableError("no such package")
        output.write_text(json.dumps(asdict(run([(LEFT, "A123BC77")]))))

    monkeypatch.setattr(peers, "FOLDER", tmp_path)
    monkeypatch.setattr(Peer, "read", read)
    chosen = [Peer("ours", "a"), Peer("broken", "b"), Peer("other", "c")]
    console = Console(file=io.StringIO())
    grid, absent = peers.measure(chosen, [photo(Label(LEFT, "A123BC77"))], console)
    assert [row[:3] for row in grid.rows] == [("ours", "100.0%", "100.0%"), ("other", "100.0%", "100.0%")]
    assert absent == ["broken is not in the table: no such package"]


def test_a_program_that_is_not_there_makes_a_peer_unavailable(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="not on this machine: no-such-program"):
        Peer("peer", "module", programs=("no-such-program",)).python(tmp_path)


def test_a_script_that_fails_is_told_with_its_last_line(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"No module named benchmarks\.peers\.nobody"):
        Peer("peer", "benchmarks.peers.nobody").read(tmp_path / "photos", tmp_path / "output")


def test_an_environment_is_made_once_and_again_when_the_requirements_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[tuple[str, ...]] = []
    monkeypatch.setattr(venv, "create", lambda place, **_: place.mkdir(exist_ok=True))
    monkeypatch.setattr(environments, "_run", lambda command: made.append(command[-1:]))
    for version in ("1", "1", "2"):
        Peer("peer", "benchmarks.peers.reader", (f"reader=={version}",)).python(tmp_path)
    assert made == [("reader==1",), ("reader==2",)]


def test_a_script_answers_for_every_photo_with_what_it_cost(tmp_path: Path) -> None:
    photos, output = tmp_path / "photos.json", tmp_path / "output.json"
    photos.write_text(json.dumps(["first.jpg", "second.jpg"]))
    script = (
        "from benchmarks.peers.protocol import serve\n"
        "serve(lambda photo: [((0.0, 0.0, 9.0, 3.0), photo.stem)] if sum(range(10**5)) else [])"
    )
    command = [sys.executable, "-c", script, str(photos), str(output)]
    subprocess.run(command, check=True, cwd=environments.ROOT)
    answered = Run.load(output)
    assert [answer.plates for answer in answered.answers] == [
        [((0.0, 0.0, 9.0, 3.0), "first")],
        [((0.0, 0.0, 9.0, 3.0), "second")],
    ]
    assert all(answer.seconds > 0 and answer.cpu_seconds >= 0 for answer in answered.answers)
    assert answered.peak_bytes > 2**20
