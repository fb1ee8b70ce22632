"""What docs/api.md shows is what happens."""

import asyncio
import json
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from gateway.triton.embedded import EmbeddedTriton

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "api.md").read_text()

SECONDS = 60


@dataclass(frozen=True)
class Example:
    """A program in the page, and the output that stands below it, if any does."""

    language: str
    code: str
    output_language: str
    output: str

    def __str__(self) -> str:
        return f"{self.language}: {self.code.splitlines()[0][:60]}"


def examples() -> list[Example]:
    blocks = re.finditer(r"```(\w+)\n(.*?)```\n(?:\n```(json|text)\n(.*?)```)?", PAGE, re.DOTALL)
    return [Example(*(part or "" for part in block.groups())) for block in blocks]


PROGRAMS = {"bash": ["bash", "-eo", "pipefail", "-c"], "python": [sys.executable, "-c"], "javascript": ["node", "-e"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's pictures, for what the examples write."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "docs").symlink_to(ROOT / "docs")
    return folder


async def run(example: Example, url: str, triton: EmbeddedTriton, folder: Path) -> str:
    code = example.code.replace("localhost:8080", url.removeprefix("http://"))
    code = code.replace("localhost:8001", triton.endpoint.grpc_url)
    process = await asyncio.create_subprocess_exec(
        *PROGRAMS[example.language],
        code,
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(SECONDS):
        output, errors = await process.communicate()
    assert (process.returncode, errors.decode()) == (0, "")
    return output.decode()


@pytest.mark.parametrize("example", [each for each in examples() if each.language in PROGRAMS], ids=str)
async def test_the_example_does_what_the_page_says(
    example: Example, url: str, triton: EmbeddedTriton, folder: Path
) -> None:
    if shutil.which(program := PROGRAMS[example.language][0]) is None:
        pytest.skip(f"{program} is not installed")
    output = await run(example, url, triton, folder)
    if example.output_language == "text":
        assert output == example.output
    elif example.output_language == "json":
        assert_alike(json.loads(example.output), json.loads(output))
    elif written := re.search(r"-o (\S+\.jpg)", example.code):
        with Image.open(folder / written[1]) as picture:
            assert picture.size == (1280, 720)
    elif "/detect" in example.code:
        assert len(json.loads(output)["plates"]) == 1
    else:
        assert "b840ok197" in output.lower()


def assert_alike(shown: Any, actual: Any) -> None:
    """Compare two answers whose numbers, candidates, times and ids may differ a little."""
    if isinstance(shown, dict):
        assert list(shown) == list(actual)
        for name in shown.keys() - {"id", "milliseconds", "transport", "candidates"}:
            assert_alike(shown[name], actual[name])
        if "candidates" in shown:
            assert shown["candidates"][0]["text"] == actual["candidates"][0]["text"]
        if "milliseconds" in shown:
            assert shown["milliseconds"].keys() == actual["milliseconds"].keys()
    elif isinstance(shown, list):
        assert len(shown) == len(actual)
        for one, other in zip(shown, actual, strict=True):
            assert_alike(one, other)
    elif isinstance(shown, float):
        # Processors round in different places: pixels by more than probabilities.
        assert shown == pytest.approx(actual, abs=0.001 if max(shown, actual) <= 1 else 0.3)
    else:
        assert shown == actual


def test_every_program_of_the_page_is_run() -> None:
    languages = [example.language for example in examples()]
    assert set(languages) == {*PROGRAMS, "json"} - {"json"}
    assert len(languages) >= 16
    # What isn't inside of a fence can't be run.
    assert PAGE.count("```") == 2 * sum(1 + bool(example.output) for example in examples())
