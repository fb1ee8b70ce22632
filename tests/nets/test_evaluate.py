import io
import json
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, UploadFile
from fastapi.responses import JSONResponse
from rich.console import Console

from nets import evaluate, held_out, report, repository
from nets.data import index
from nets.evaluate import Outcome
from nets.held_out import Photo
from nets.metrics import Answer, Label, Report

LEFT = (10.0, 10.0, 110.0, 30.0)
RIGHT = (210.0, 10.0, 310.0, 30.0)


def plate(box: tuple[float, float, float, float], text: str) -> dict[str, Any]:
    return {
        "box": dict(zip(("x_min", "y_min", "x_max", "y_max"), box, strict=True)),
        "text": text,
        "score": 0.75,
        "detection_score": 0.5,
        "candidates": [{"text": text or "M001MM99", "score": 0.75}],
    }


PLATES = {
    b"both": [plate(LEFT, "A123BC77"), plate(RIGHT, "M007MM99")],
    b"one": [plate(RIGHT, "")],
    b"none": [],
    b"ghost": [plate(LEFT, "X999XX99")],
}
"""What the service below sees in a file with this content."""


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    app = FastAPI()

    @app.post("/recognize")
    async def recognize(image: UploadFile, candidates: int = 0) -> JSONResponse:
        content = await image.read()
        assert candidates
        if content not in PLATES:
            return JSONResponse({"detail": "broken"}, 422)
        return JSONResponse({"image": {"width": 400, "height": 300}, "plates": PLATES[content]})

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as connection:
        yield connection


def photo(folder: Path, content: str, *labels: Label, complete: bool = True) -> Photo:
    path = folder / f"{content}.jpg"
    path.write_text(content)
    return Photo(path, labels, complete)


async def test_answers_are_counted_photo_by_photo(client: httpx.AsyncClient, tmp_path: Path) -> None:
    both, read = Label(LEFT, "A123BC77"), Label(RIGHT, "M001MM99")
    photos = [
        photo(tmp_path, "both", both, read),
        photo(tmp_path, "one", both, complete=False),
        photo(tmp_path, "none"),
        photo(tmp_path, "ghost"),
    ]
    answered: list[int] = []
    outcome = await evaluate.evaluate(client, photos, lambda: answered.append(1))
    everything = outcome.report.everything
    assert len(answered) == 4
    assert (everything.plates, everything.found, everything.exact, everything.wrong) == (3, 2, 1, 1)
    assert (outcome.report.judged, outcome.report.right) == (3, 2)
    assert outcome.failures == []


async def test_a_text_that_is_held_back_is_known_with_its_score(client: httpx.AsyncClient, tmp_path: Path) -> None:
    (answer,) = await evaluate.recognize(client, photo(tmp_path, "one").path)
    assert answer == Answer(RIGHT, "", 0.5, 0.75, "M001MM99")


async def test_a_photo_without_an_answer_is_named_and_its_plates_are_missed(
    client: httpx.AsyncClient, tmp_path: Path
) -> None:
    outcome = await evaluate.evaluate(client, [photo(tmp_path, "rubbish", Label(LEFT, "A123BC77"))])
    assert len(outcome.failures) == 1
    assert "rubbish.jpg" in outcome.failures[0]
    assert "422" in outcome.failures[0]
    assert (outcome.report.everything.plates, outcome.report.everything.found) == (1, 0)


def read_report(exact: int, missed: int) -> Report:
    report = Report()
    for _ in range(exact):
        report.add([Label(LEFT, "A123BC77")], [Answer(LEFT, "A123BC77")], complete=True)
    for _ in range(missed):
        report.add([Label(LEFT, "A123BC77")], [], complete=True)
    return report


def test_figures_are_json_without_nan() -> None:
    text = json.dumps(evaluate.figures(Outcome(read_report(3, 1))), allow_nan=False)
    assert json.loads(text)["plates"]["headline"]["exact_of_all"] == 0.75
    assert json.loads(text)["plates"]["0-30 px"]["recall"] is None


def test_the_table_has_a_row_per_width_and_says_what_was_not_measured() -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(report.by_width(read_report(3, 1)).rich())
    rows = {line[:16].strip(): line[16:].split() for line in console.export_text().splitlines()}
    assert list(rows) == ["width", "0-30 px", "30-60 px", "60-80 px", "80-120 px", "120+ px", "all", "60+ px with text"]
    assert rows["60+ px with text"] == ["4", "75.0%", "1.000", "4", "75.0%", "100.0%", "0.0%", "0.0%"]
    assert rows["120+ px"] == ["0", "-", "-", "0", "-", "-", "-", "-"]


def test_falling_short_of_a_minimum_is_said() -> None:
    read = read_report(3, 1)
    assert evaluate.shortfalls(read, 0.75, 0.75, 0.0) == []
    assert len(evaluate.shortfalls(read, minimum_recall=0.76)) == 1
    assert len(evaluate.shortfalls(read, 0.8, 0.8)) == 2
    assert len(evaluate.shortfalls(Report(), 0.5, 0.5, 0.1)) == 3


def test_too_many_wrong_texts_are_said() -> None:
    wrong = read_report(3, 0)
    wrong.add([Label(LEFT, "M001MM99")], [Answer(LEFT, "A123BC77")], complete=True)
    assert evaluate.shortfalls(wrong, maximum_wrong=0.25) == []
    assert evaluate.shortfalls(wrong, maximum_wrong=0.24) == ["25.0% of the plates get a wrong text, more than 24.0%"]


def test_without_the_photos_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(index, "available", lambda root: False)
    assert evaluate.main([]) == 1
    assert "nothing to evaluate on" in capsys.readouterr().out


def test_the_command_writes_what_is_asked_for_and_fails_where_the_service_falls_short(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def evaluated(url: str, photos: list[Photo], console: Console) -> Outcome:
        assert url == "http://service"
        return Outcome(read_report(3, 1))

    card, sheet, figures = tmp_path / "card.md", tmp_path / "sheet.jpg", tmp_path / "figures.json"
    card.write_text("<!-- begin: service -->\n<!-- end: service -->\n")
    monkeypatch.setattr(report, "CARD", card)
    monkeypatch.setattr(held_out, "scenes", list)
    monkeypatch.setattr(repository, "learnt_from_all", lambda _: [])
    monkeypatch.setattr(evaluate, "service", lambda url, repository: nullcontext("http://service"))
    monkeypatch.setattr(evaluate, "_evaluate_at", evaluated)
    arguments = ["--docs", "--json", str(figures), "--sheet", str(sheet)]
    assert evaluate.main([*arguments, "--minimum-exact", "0.75"]) == 0
    assert "| 60+ px with text | 4 | 75.0% |" in card.read_text()
    assert json.loads(figures.read_text())["plates"]["headline"]["exact_of_all"] == 0.75
    assert sheet.is_file()
    assert evaluate.main([*arguments, "--minimum-exact", "0.8"]) == 1
    assert "75.0% of the plates are read exactly, less than 80.0%" in capsys.readouterr().out
