"""Log lines."""

import json
import logging
import os
import re
from collections.abc import Iterator

import httpx
import pytest

from gateway import telemetry
from gateway.settings import Settings


@pytest.fixture
def logs(capsys: pytest.CaptureFixture[str]) -> Iterator[pytest.CaptureFixture[str]]:
    """The standard error stream; logging is as before afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in telemetry._LEAST_LEVELS}
    yield capsys
    root.handlers[:], root.level = handlers, level
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)


async def test_json_lines_have_the_requests_fields(client: httpx.AsyncClient, logs: pytest.CaptureFixture[str]) -> None:
    telemetry.configure(Settings(log_format="json"))
    await client.get("/nothing%0Ahere", headers={"X-Request-ID": "seven"})
    [line] = logs.readouterr().err.splitlines()
    entry = json.loads(line)
    assert entry.pop("time").endswith("+00:00")
    assert entry.pop("ms") >= 0
    assert entry.pop("process") == os.getpid()
    assert entry.pop("message").startswith("GET /nothing%0Ahere 404")
    assert entry == {
        "level": "info",
        "logger": "gateway.access",
        "request_id": "seven",
        "method": "GET",
        "path": "/nothing%0Ahere",
        "status": 404,
        "bytes_received": 0,
    }


async def test_text_lines_are_single_lines(client: httpx.AsyncClient, logs: pytest.CaptureFixture[str]) -> None:
    telemetry.configure(Settings(log_format="text"))
    await client.get("/nothing%0Ahere")
    [line] = logs.readouterr().err.splitlines()
    # The time is UTC and says so.
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ INFO    gateway.access  GET /nothing%0Ahere 404", line)


async def test_probes_are_not_logged(client: httpx.AsyncClient, logs: pytest.CaptureFixture[str]) -> None:
    telemetry.configure(Settings(log_format="text"))
    await client.get("/health/live")
    assert logs.readouterr().err == ""


def test_auto_is_json_where_nobody_reads(logs: pytest.CaptureFixture[str]) -> None:
    telemetry.configure(Settings())
    logging.getLogger("uvicorn.error").warning("careful")
    assert json.loads(logs.readouterr().err)["logger"] == "uvicorn.error"


def test_exceptions_are_part_of_the_json_line(logs: pytest.CaptureFixture[str]) -> None:
    telemetry.configure(Settings(log_format="json"))
    try:
        raise ValueError("why")
    except ValueError:
        logging.getLogger("gateway").exception("failed")
    [line] = logs.readouterr().err.splitlines()
    assert "ValueError: why" in json.loads(line)["exception"]


def test_the_level_is_the_settings(logs: pytest.CaptureFixture[str]) -> None:
    telemetry.configure(Settings(log_level="error"))
    logging.getLogger("gateway").warning("careful")
    assert logs.readouterr().err == ""
