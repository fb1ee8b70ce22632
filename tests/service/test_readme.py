"""What the README shows is what happens."""

import contextlib
import io
import json
import re
from pathlib import Path

import httpx
import pytest

from gateway.settings import Settings
from gateway.triton.embedded import EmbeddedTriton

ROOT = Path(__file__).parents[2]
SCORE = 0.001
"""By how much processors may differ: they round in different places."""
README = (ROOT / "README.md").read_text()


async def test_the_answer_shown_is_the_answer(service: httpx.AsyncClient) -> None:
    match = re.search(r"\$ curl -F image=@(\S+) localhost:8080/recognize\n((?:    .*\n)+)", README)
    assert match is not None
    shown = json.loads(match[2])
    response = await service.post("/recognize", files={"image": (ROOT / match[1]).read_bytes()})
    answer = response.json()
    assert shown["image"] == answer["image"]
    ((shown_plate,), (plate,)) = shown["plates"], answer["plates"]
    assert shown_plate["box"] == pytest.approx(plate["box"], abs=0.3)
    for name in ("score", "detection_score", "character_scores"):
        assert shown_plate[name] == pytest.approx(plate[name], abs=SCORE), name
    for name in ("text", "text_cyrillic", "format", "region", "lines"):
        assert shown_plate[name] == plate[name]
    assert [candidate["text"] for candidate in shown_plate["candidates"]] == [
        candidate["text"] for candidate in plate["candidates"]
    ]
    assert list(shown_plate) == list(plate)
    assert list(shown) == list(answer)
    assert shown["milliseconds"].keys() == answer["milliseconds"].keys()


def test_the_example_for_clients_of_triton_runs(triton: EmbeddedTriton) -> None:
    match = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert match is not None
    code = match[1].replace("localhost:8001", triton.endpoint.grpc_url)
    code = code.replace("docs/example.jpg", str(ROOT / "docs" / "example.jpg"))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})  # noqa: S102 - the project's own README
    assert "B840OK197" in printed.getvalue()


def test_the_table_of_settings_is_complete() -> None:
    rows = re.findall(r"^\| (`GATEWAY_[^|]*) \|", README, re.MULTILINE)
    told: set[str] = set()
    for names in rows:
        first, *others = re.findall(r"`(\w+)`", names)
        prefix = first.removesuffix("_HTTP_PORT")
        told |= {first, *(name if name.startswith("GATEWAY") else prefix + name for name in others)}
    assert told == {f"GATEWAY_{name.upper()}" for name in Settings.model_fields}
