import io
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, UploadFile
from fastapi.responses import JSONResponse
from rich.console import Console

from nets import evaluate
from nets.data import index
from nets.evaluate import EvaluationError, Outcome, Photo
from nets.metrics import Answer, Label, Report

LEFT = (10.0, 10.0, 110.0, 30.0)
RIGHT = (210.0, 10.0, 310.0, 30.0)


def plate(box: tuple[float, float, float, float], text: str) -> dict[str, Any]:
    return {"box": dict(zip(("x_min", "y_min", "x_max", "y_max"), box, strict=True)), "text": text}


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
    async def recognize(image: UploadFile) -> JSONResponse:
        content = await image.read()
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
    assert json.loads(text)["plates"]["0-60 px"]["recall"] is None


def test_the_table_has_a_row_per_width_and_says_what_was_not_measured() -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(evaluate.table(read_report(3, 1)))
    rows = {line[:16].strip(): line[16:].split() for line in console.export_text().splitlines()}
    assert list(rows) == ["width", "0-60 px", "60-80 px", "80-120 px", "120+ px", "all", "80+ px with text"]
    assert rows["80+ px with text"] == ["4", "75.0%", "1.000", "4", "75.0%", "100.0%", "0.0%", "0.0%"]
    assert rows["120+ px"] == ["0", "-", "-", "0", "-", "-", "-", "-"]


def test_falling_short_of_a_minimum_is_said() -> None:
    report = read_report(3, 1)
    assert evaluate.shortfalls(report, 0.75, 0.75) == []
    assert len(evaluate.shortfalls(report, 0.76, 0.0)) == 1
    assert len(evaluate.shortfalls(report, 0.8, 0.8)) == 2
    assert len(evaluate.shortfalls(Report(), 0.5, 0.5)) == 2


def test_without_the_photos_one_sentence_says_so(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match=re.escape(f"not at {tmp_path}.")):
        evaluate.held_out_photos(tmp_path)


def test_an_address_where_nothing_answers_is_an_error_and_nothing_is_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    port = evaluate._free_port()
    with (
        pytest.raises(EvaluationError, match=f"Nothing answers at http://127.0.0.1:{port}"),
        evaluate.service(f"http://127.0.0.1:{port}"),
    ):
        pass


def test_a_service_that_dies_at_start_is_reported_with_its_last_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "DEFAULT_URL", f"http://127.0.0.1:{evaluate._free_port()}")
    monkeypatch.setattr(evaluate, "SERVE", (sys.executable, "-c", "raise SystemExit('no tritonserver here')"))
    with pytest.raises(EvaluationError, match="no tritonserver here"), evaluate.service(None):
        pass


@pytest.mark.skipif(not index.available(), reason="the labelled photos are not there")
def test_only_scenes_of_the_held_out_fold_and_photos_without_plates_are_sent() -> None:
    photos = evaluate.held_out_photos()
    trained_on = {image.path for image in index.load() if image.fold != index.HELD_OUT_FOLD}
    assert {photo.path for photo in photos}.isdisjoint(trained_on)
    assert all(photo.path.is_file() for photo in photos)
    assert any(not photo.labels for photo in photos)
    assert any(photo.labels for photo in photos)
