from pathlib import Path

import cv2
import numpy as np
import pytest

from nets import evaluate_nets, goals, held_out, repository
from nets.evaluate_nets import Outcome
from nets.held_out import NothingToEvaluateError, Photo
from nets.metrics import Label
from plates import contract
from plates.alphabet import BLANK, encode
from plates.geometry import Floats, Image
from plates.pipeline import DetectorNet, Options, ReaderNet

BOX = (40.0, 40.0, 140.0, 60.0)


def detector(sure: float, unsure: float = 0.01) -> DetectorNet:
    """A network that finds the plate of a 320 x 160 picture, shown to it twice as large, and something beside it."""

    def find(images: Image) -> Floats:
        return np.array([[(180, 100, 200, 40, sure, 1), (500, 60, 200, 40, unsure, 1)]], np.float32)

    return find


def reader(text: str) -> ReaderNet:
    """A network that always reads the same, surely."""
    path = [index for character in encode(text) for index in (character, BLANK)]
    path += [BLANK] * (contract.TIME_STEPS - len(path))
    logits = np.zeros(contract.LPRNET.outputs[0].shape, np.float32)
    logits[path, np.arange(contract.TIME_STEPS)] = 12
    return lambda crops: np.stack([logits] * len(crops))


@pytest.fixture
def scene(tmp_path: Path) -> Photo:
    path = tmp_path / "photo.png"
    cv2.imwrite(str(path), np.full((160, 320, 3), 90, np.uint8))
    return Photo(path, (Label(BOX, "A123BC77"),), complete=True)


def outcome(scene: Photo, text: str, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    monkeypatch.setattr(repository, "detector", lambda *_: detector(0.9))
    monkeypatch.setattr(
        repository, "reader", lambda folder, *_: reader("M001MM99" if folder == Path("other") else text)
    )
    monkeypatch.setattr(repository, "options", lambda *_: Options())
    return evaluate_nets.evaluate([scene], [scene], Path("ours"), {"other": Path("other")})


def test_a_plate_is_found_and_read_as_the_service_does_it(scene: Photo, monkeypatch: pytest.MonkeyPatch) -> None:
    report = outcome(scene, "A123BC77", monkeypatch).end_to_end
    assert (report.everything.found, report.everything.exact, report.judged, report.right) == (1, 1, 1, 1)
    (sample,) = report.samples
    assert sample.answer is not None
    assert (sample.answer.text, sample.answer.candidate) == ("A123BC77", "A123BC77")
    assert sample.answer.detection_score == pytest.approx(0.9)
    assert sample.photo == str(scene.path)


def test_the_detector_alone_is_counted_from_low_scores_on(scene: Photo) -> None:
    report = evaluate_nets.detections([scene], detector(0.005, 0.9), Options())
    assert (report.everything.found, len(report.extras)) == (1, 1)
    assert report.average_precision == pytest.approx(1 / 2)


def test_goals_are_measured_end_to_end_and_in_the_labelled_boxes(scene: Photo, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = evaluate_nets.figures(outcome(scene, "A123BC78", monkeypatch))
    assert figures[goals.RECALL] == 1
    assert figures[goals.EXACT_SCENES] == figures[goals.EXACT_CROPS] == figures[goals.EXACT_END_TO_END] == 0
    assert figures[goals.WRONG] == 1
    assert goals.CALIBRATION in figures


def test_readers_are_compared_on_the_same_boxes(scene: Photo, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = outcome(scene, "A123BC77", monkeypatch)
    rows = {row[0]: row[1:3] for row in evaluate_nets.readers_grid(seen.readers, Options()).rows}
    assert rows["ours, greedy"] == rows["ours, grammar"] == ("1 of 1", "100.0%")
    assert rows["other, greedy"] == rows["other, grammar"] == ("0 of 1", "0.0%")


def test_tables_and_figures_land_in_the_documents_and_name_no_folder(
    scene: Photo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    card = tmp_path / "docs" / "model-card.md"
    card.parent.mkdir()
    card.write_text("# Card\n<!-- begin: nets -->\n<!-- end: nets -->\n")
    evaluate_nets.write_documents(outcome(scene, "A123BC78", monkeypatch), card)
    text = card.read_text()
    assert "| exact end to end, plates >= 60 px wide | 0.000 |" in text
    assert "7 read as 8 (2)" in text
    assert str(tmp_path) not in text
    assert {path.name for path in card.parent.glob("*.svg")} == {"reliability.svg", "confusion.svg"}


def test_the_command_prints_what_must_be_and_fails_where_it_is_not(
    scene: Photo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = outcome(scene, "A123BC78", monkeypatch)
    monkeypatch.setattr(held_out, "scenes", lambda: [scene])
    monkeypatch.setattr(held_out, "crops", lambda: [scene])
    monkeypatch.setattr(evaluate_nets, "evaluate", lambda *_: seen)
    sheet = tmp_path / "sheet.jpg"
    assert evaluate_nets.main(["--sheet", str(sheet)]) == 0
    assert sheet.is_file()
    assert "FAIL" in capsys.readouterr().out
    assert evaluate_nets.main(["--sheet", str(sheet), "--strict"]) == 1


def test_without_the_photos_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nothing() -> list[Photo]:
        raise NothingToEvaluateError("not there")

    monkeypatch.setattr(held_out, "scenes", nothing)
    assert evaluate_nets.main([]) == 1
    assert "not there" in capsys.readouterr().out
